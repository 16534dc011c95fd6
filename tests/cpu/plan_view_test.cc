#include "cpu/plan_view.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "plan_builder.h"

namespace attnplan::cpu {
namespace {

const Batch kBatch{{2, 3}, {10, 20}};

PlanBuilder valid() {
  PlanBuilder plan = one_segment(kBatch, ATTNPLAN_ROUTE_EXTEND);
  plan.order({1, 0}).ints(ATTNPLAN_SECTION_SEQ_LENS, {20, 10}).warn_clamped(1, 30, 20);
  return plan;
}

TEST(PlanView, ReadsWhatAPlanHolds) {
  PlanBuilder plan = valid();
  std::string problem;
  const auto view = read_plan(plan.blob().data(), plan.blob().size(), problem);
  ASSERT_TRUE(view.has_value()) << problem;
  EXPECT_EQ(view->header->num_rows, 5);
  ASSERT_EQ(view->segments.size(), 1u);
  EXPECT_EQ(view->segments[0].route, ATTNPLAN_ROUTE_EXTEND);
  EXPECT_EQ(std::vector<int32_t>(view->order.begin(), view->order.end()),
            (std::vector<int32_t>{1, 0}));
  ASSERT_EQ(view->warnings.size(), 1u);
  EXPECT_EQ(view->warnings[0].limit, 20);
  EXPECT_EQ(view->seq_lens.size(), 2u);
  EXPECT_TRUE(view->query_start_loc.empty());
}

using Spoil = std::function<void(attnplan_plan_header&, attnplan_section*)>;

std::string problem_of(const Spoil& spoil, size_t dropped_bytes = 0) {
  PlanBuilder plan = valid();
  const std::span<const std::byte> blob = plan.blob();
  auto* bytes = const_cast<std::byte*>(blob.data());
  attnplan_plan_header header;
  std::memcpy(&header, bytes, sizeof(header));
  auto* sections = reinterpret_cast<attnplan_section*>(bytes + sizeof(header));
  spoil(header, sections);
  std::memcpy(bytes, &header, sizeof(header));
  std::string problem;
  const auto view = read_plan(bytes, blob.size() - dropped_bytes, problem);
  EXPECT_EQ(view.has_value(), problem.empty());
  return problem;
}

TEST(PlanView, RefusesWhatIsNoPlan) {
  std::string problem;
  EXPECT_FALSE(read_plan(nullptr, 0, problem).has_value());
  EXPECT_EQ(problem, "not a plan");
  EXPECT_EQ(problem_of([](auto& header, auto*) { header.magic ^= 1; }), "not a plan");
  EXPECT_EQ(problem_of([](auto& header, auto*) { header.major += 1; }),
            "a plan of another format version");
  EXPECT_EQ(problem_of([](auto&, auto*) {}, 64), "a plan that is cut short");
  EXPECT_EQ(problem_of([](auto&, auto*) {}), "");
}

TEST(PlanView, RefusesSectionsOutsideTheBlob) {
  const char* const refused = "a section out of bounds";
  EXPECT_EQ(problem_of([](auto&, auto* s) { s[0].count = 1 << 30; }), refused);
  EXPECT_EQ(problem_of([](auto&, auto* s) { s[0].count = INT64_MAX; }), refused);
  EXPECT_EQ(problem_of([](auto&, auto* s) { s[0].offset = -64; }), refused);
  EXPECT_EQ(problem_of([](auto&, auto* s) { s[2].offset = INT64_MAX; }), refused);
  EXPECT_EQ(problem_of([](auto&, auto* s) { s[2].offset += 1; }), refused);
  EXPECT_EQ(problem_of([](auto&, auto* s) { s[2].type = ATTNPLAN_TYPE_INT64; }), refused);
  EXPECT_EQ(problem_of([](auto& header, auto*) { header.num_sections = 1 << 20; }),
            "a section table out of bounds");
  EXPECT_EQ(problem_of([](auto& header, auto*) { header.num_sections = -1; }),
            "a section table out of bounds");
}

TEST(PlanView, RefusesContradictions) {
  EXPECT_EQ(problem_of([](auto& header, auto*) { header.num_segments = 2; }),
            "header and segments disagree");
  EXPECT_EQ(problem_of([](auto& header, auto*) { header.num_rows = -1; }), "negative counts");
  EXPECT_EQ(problem_of([](auto& header, auto*) { header.num_reqs = 3; }),
            "an order that is no permutation");
}

TEST(PlanView, SkipsUnknownSectionsAndThoseLeftToTheDevice) {
  EXPECT_EQ(problem_of([](auto&, auto* s) {
              s[3].id = 999;
              s[3].count = 1 << 30;
            }),
            "");
  PlanBuilder plan = valid();
  const std::span<const std::byte> blob = plan.blob();
  auto* bytes = const_cast<std::byte*>(blob.data());
  auto* sections = reinterpret_cast<attnplan_section*>(bytes + sizeof(attnplan_plan_header));
  sections[3].validity = ATTNPLAN_VALIDITY_DEVICE;
  std::string problem;
  const auto view = read_plan(bytes, blob.size(), problem);
  ASSERT_TRUE(view.has_value());
  EXPECT_TRUE(view->seq_lens.empty());
}

}  // namespace
}  // namespace attnplan::cpu
