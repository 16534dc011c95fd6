// The matcher itself: what must match, and what must not.
#include "json/match.h"

#include <gtest/gtest.h>

namespace attnplan::json {
namespace {

TEST(Match, KeysThatAreNotExpectedDoNotMatter) {
  EXPECT_EQ(mismatch(R"({"a": 1})", R"({"a": 1, "b": 2})"), "");
  EXPECT_EQ(mismatch(R"({"a": {"x": 1}})", R"({"a": {"x": 1, "y": 2}})"), "");
  EXPECT_EQ(mismatch("{}", R"({"a": 1})"), "");
}

TEST(Match, ExpectedKeysMustBeThereWithAnEqualValue) {
  EXPECT_EQ(mismatch(R"({"a": 1})", R"({"b": 1})"), "a: missing");
  EXPECT_EQ(mismatch(R"({"a": 1})", R"({"a": 2})"), "a: expected 1, got 2");
  EXPECT_EQ(mismatch(R"({"a": null})", R"({})"), "a: missing");
  EXPECT_EQ(mismatch(R"({"a": null})", R"({"a": 0})"), "a: expected null, got 0");
  EXPECT_EQ(mismatch(R"({"a": {"x": {"y": 1}}})", R"({"a": {"x": {"y": 2}}})"),
            "a.x.y: expected 1, got 2");
  EXPECT_EQ(mismatch(R"({"a": {"x": 1}})", R"({"a": 1})"), "a: expected an object, got 1");
}

TEST(Match, TrueIsNotOne) {
  EXPECT_EQ(mismatch(R"({"a": true})", R"({"a": 1})"), "a: expected true, got 1");
  EXPECT_EQ(mismatch(R"({"a": 0})", R"({"a": false})"), "a: expected 0, got false");
}

TEST(Match, SegmentsWarningsAndChunksMatchItemByItem) {
  for (const std::string key : {"segments", "warnings", "chunks"}) {
    const std::string expect = "{\"" + key + "\": [{\"x\": 1}, {\"x\": 2}]}";
    EXPECT_EQ(mismatch(expect, "{\"" + key + "\": [{\"x\": 1, \"y\": 0}, {\"x\": 2}]}"), "");
    EXPECT_NE(mismatch(expect, "{\"" + key + "\": [{\"x\": 1}]}"), "");
    EXPECT_NE(mismatch(expect, "{\"" + key + "\": [{\"x\": 1}, {\"x\": 2}, {\"x\": 3}]}"), "");
    EXPECT_NE(mismatch(expect, "{\"" + key + "\": [{\"x\": 2}, {\"x\": 1}]}"), "");
    EXPECT_NE(mismatch(expect, "{\"" + key + "\": {}}"), "");
  }
  EXPECT_EQ(mismatch(R"({"segments": [{"x": 1}]})", R"({"segments": [{"x": 2}]})"),
            "segments[0].x: expected 1, got 2");
}

TEST(Match, OtherListsMatchWhole) {
  EXPECT_EQ(mismatch(R"({"routes": ["decode"]})", R"({"routes": ["decode"]})"), "");
  EXPECT_NE(mismatch(R"({"routes": ["decode"]})", R"({"routes": ["decode", "pad"]})"), "");
  EXPECT_NE(mismatch(R"({"list": [{"x": 1}]})", R"({"list": [{"x": 1, "y": 2}]})"), "");
  EXPECT_NE(mismatch(R"({"sections": {"lens": [[1, 2]]}})", R"({"sections": {"lens": [[1]]}})"),
            "");
}

TEST(Match, WhatIsNoDocumentNeverMatches) {
  EXPECT_NE(mismatch("[]", "{}"), "");
  EXPECT_NE(mismatch("{", "{}"), "");
  EXPECT_NE(mismatch("{}", "{"), "");
}

}  // namespace
}  // namespace attnplan::json
