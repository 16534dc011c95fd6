// How an input is cut into documents, whatever its form and wherever a read ends.
#include "tool/document_reader.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <vector>

#include "tool/value_scanner.h"

namespace attnplan::tool {
namespace {

struct Piece {
  std::string text;
  int64_t line;
  int64_t column;
  bool operator==(const Piece&) const = default;
};

void PrintTo(const Piece& piece, std::ostream* out) {
  *out << piece.line << ":" << piece.column << " " << piece.text;
}

// Feeds `input` in writes of `bytes`, so that reads end anywhere.
std::vector<Piece> read_documents(const std::string& input, DocumentReader::Form form,
                                  size_t bytes = 65536) {
  int ends[2];
  if (pipe(ends) != 0) ADD_FAILURE() << "pipe";
  std::thread writer([&] {
    for (size_t done = 0; done < input.size(); done += bytes) {
      const std::string piece = input.substr(done, bytes);
      EXPECT_EQ(write(ends[1], piece.data(), piece.size()), static_cast<ssize_t>(piece.size()));
    }
    close(ends[1]);
  });
  DocumentReader reader(ends[0], form, [] {});
  Document document;
  std::vector<Piece> pieces;
  while (reader.next(&document)) {
    pieces.push_back({std::string(document.text), document.line, document.column});
  }
  writer.join();
  close(ends[0]);
  EXPECT_EQ(reader.error(), 0);
  return pieces;
}

using Pieces = std::vector<Piece>;
constexpr auto kLines = DocumentReader::Form::kLines;
constexpr auto kStream = DocumentReader::Form::kStream;

TEST(DocumentReader, OneDocumentALine) {
  EXPECT_EQ(read_documents("{\"a\":1}\n\n  \r\n[2]\r\n{\"b\":\n", kLines),
            (Pieces{{"{\"a\":1}", 1, 1}, {"[2]\r", 4, 1}, {"{\"b\":", 5, 1}}));
  EXPECT_EQ(read_documents("{}", kLines), (Pieces{{"{}", 1, 1}}));
  EXPECT_EQ(read_documents("", kLines), Pieces{});
  EXPECT_EQ(read_documents("\n\n", kLines), Pieces{});
}

TEST(DocumentReader, AStreamHoldsValuesOverManyLines) {
  EXPECT_EQ(
      read_documents("{\n \"a\": [1,\n 2]\n}\n{\"b\": \"}\\\"{\"} {}\n\n  {\"c\": 1}", kStream),
      (Pieces{{"{\n \"a\": [1,\n 2]\n}", 1, 1},
              {"{\"b\": \"}\\\"{\"}", 5, 1},
              {"{}", 5, 15},
              {"{\"c\": 1}", 7, 3}}));
  EXPECT_EQ(read_documents(" \n ", kStream), Pieces{});
  EXPECT_EQ(read_documents("[{}]\n17 true", kStream),
            (Pieces{{"[{}]", 1, 1}, {"17", 2, 1}, {"true", 2, 4}}));
}

TEST(DocumentReader, AStreamGoesOnBehindABrokenDocument) {
  // Cut short before, and behind, a comma.
  EXPECT_EQ(read_documents("{\"a\": [1\n{\"b\": 1}\n", kStream),
            (Pieces{{"{\"a\": [1", 1, 1}, {"{\"b\": 1}", 2, 1}}));
  EXPECT_EQ(read_documents("{\"a\": [1,\n{\"b\": 1}\n{\"c\": 1}\n", kStream),
            (Pieces{{"{\"a\": [1,", 1, 1}, {"{\"b\": 1}", 2, 1}, {"{\"c\": 1}", 3, 1}}));
  EXPECT_EQ(read_documents("{\"a\": \"x\n{\"b\": 1}\n", kStream),
            (Pieces{{"{\"a\": \"x", 1, 1}, {"{\"b\": 1}", 2, 1}}));
  // One mistake in a document of many lines is one bad document.
  EXPECT_EQ(
      read_documents("{\n  \"a\": oops!,\n  \"b\": {\n    \"c\": 1\n  }\n}\n{\"d\": 1}\n", kStream),
      (Pieces{{"{\n  \"a\": oops!", 1, 1}, {"{\"d\": 1}", 7, 1}}));
  EXPECT_EQ(read_documents("}\n{\"b\": 1}\n", kStream),
            (Pieces{{"}", 1, 1}, {"{\"b\": 1}", 2, 1}}));
  EXPECT_EQ(read_documents("{\"a\": 1", kStream), (Pieces{{"{\"a\": 1", 1, 1}}));
}

// At the start of a file, and inside where files were put together.
TEST(DocumentReader, ByteOrderMarksAreNoText) {
  const std::string mark = "\xEF\xBB\xBF";
  for (const DocumentReader::Form form : {kLines, kStream}) {
    EXPECT_EQ(read_documents(mark + "{\"a\":1}\n" + mark + "{\"b\":1}", form),
              (Pieces{{"{\"a\":1}", 1, 4}, {"{\"b\":1}", 2, 4}}));
    EXPECT_EQ(read_documents(mark + "\n" + mark + "\n\n{}", form), (Pieces{{"{}", 4, 1}}));
    EXPECT_EQ(read_documents(mark, form), Pieces{});
  }
  EXPECT_EQ(read_documents("\xEF\xBB", kLines), (Pieces{{"\xEF\xBB", 1, 1}}));
  EXPECT_EQ(read_documents("\xEF\xBB", kStream), (Pieces{{"\xEF", 1, 1}}));
  EXPECT_EQ(read_documents(mark + "{}\n" + mark + " {}" + mark + "[]", kStream),
            (Pieces{{"{}", 1, 4}, {"{}", 2, 5}, {"[]", 2, 10}}));
}

TEST(DocumentReader, ReadsMayEndAnywhere) {
  const std::string inputs[] = {
      "\xEF\xBB\xBF{\"a\":1}\n\xEF\xBB\xBF\n \xEF\xBB\xBF{\"b\":1}\n\xEF\xBB",
      "{\n \"a\": [1,\n 2]\n}\n{\"b\": \"}\\\"{\"} {}\n\n  {\"c\": 1}",
      "{\"a\": [1,\n{\"b\": 1}\n{\"c\": 1}\n",
      "{\n  \"a\": oops!,\n  \"b\": {\n    \"c\": 1\n  }\n}\n{\"d\": 1}\n",
      "{\"a\":1}\n\n  \r\n[2]\r\n{\"b\":\n",
  };
  for (const std::string& input : inputs) {
    for (const DocumentReader::Form form : {kLines, kStream}) {
      for (const size_t bytes : {1, 2, 3, 7}) {
        EXPECT_EQ(read_documents(input, form, bytes), read_documents(input, form)) << input;
      }
    }
  }
}

TEST(DocumentReader, AnUnreadableDescriptorIsAnError) {
  DocumentReader reader(-1, kLines, [] {});
  Document document;
  EXPECT_FALSE(reader.next(&document));
  EXPECT_EQ(reader.error(), EBADF);
}

// What is longer than any document is handed out cut, and what follows it is found.
TEST(DocumentReader, TooLongATextEndsSomewhere) {
  const std::string longest = "{\"note\": \"" + std::string(65 << 20, 'n') + "\"}\n{\"b\": 1}\n";
  for (const DocumentReader::Form form : {kLines, kStream}) {
    const auto pieces = read_documents(longest, form, 1 << 20);
    ASSERT_EQ(pieces.size(), 2u);
    EXPECT_GT(pieces[0].text.size(), size_t{64} << 20);
    EXPECT_EQ(pieces[1], (Piece{"{\"b\": 1}", 2, 1}));
  }
}

// Every prefix of a well-formed text is open, and the whole is complete.
TEST(ValueScanner, PrefixesAreOpen) {
  const std::string text = R"({"a": [1, -2.5e3, {"b": "x\\\"}]"}, [], {}], "c": true, "d": null})";
  for (size_t size = 0; size < text.size(); ++size) {
    ValueScanner scanner;
    EXPECT_EQ(scanner.scan(text.substr(0, size)), ValueScanner::State::kOpen) << size;
  }
  ValueScanner scanner;
  EXPECT_EQ(scanner.scan(text + "  {"), ValueScanner::State::kComplete);
  EXPECT_EQ(scanner.end(), text.size());
}

TEST(ValueScanner, BrokenWhereNothingCanFollow) {
  const std::string texts[] = {
      "}",        "]",         ",",  ":",          "{1",   "{]",           "[}",
      "{\"a\" 1", "{\"a\": }", "{,", "[,",         "[1 2", "{\"a\": 1 \"", "{\"a\": 1, 2",
      "{\"a\"}",  "#",         "[:", "{\"a\": 1,}"};
  for (const std::string& text : texts) {
    ValueScanner scanner;
    EXPECT_EQ(scanner.scan(text), ValueScanner::State::kBroken) << text;
    EXPECT_EQ(scanner.end(), text.size()) << text;
  }
  ValueScanner scanner;
  EXPECT_EQ(scanner.scan("[\"a\n\"]"), ValueScanner::State::kBroken);
  EXPECT_EQ(scanner.end(), 3u);
}

}  // namespace
}  // namespace attnplan::tool
