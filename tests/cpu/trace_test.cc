// The first steps of the traces, planned through the C ABI and executed: whatever the profile, the
// order and the ragged policy, a plan must give the oracle's answers.
#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "attnplan.h"
#include "cpu/run.h"
#include "json/batch_document.h"
#include "json/session.h"

namespace attnplan::cpu {
namespace {

struct Deleter {
  void operator()(attnplan_planner* planner) const { attnplan_planner_destroy(planner); }
  void operator()(attnplan_scratch* scratch) const { attnplan_scratch_destroy(scratch); }
};

struct alignas(ATTNPLAN_PLAN_ALIGNMENT) Line {
  std::byte bytes[ATTNPLAN_PLAN_ALIGNMENT];
};

// The plan of a batch, empty with a failed expectation where there is none.
class Planned {
 public:
  Planned(const attnplan_config& config, const attnplan_step& step, const attnplan_group* group) {
    attnplan_error error = ATTNPLAN_ERROR_INIT;
    attnplan_planner* planner = nullptr;
    attnplan_scratch* scratch = nullptr;
    EXPECT_EQ(attnplan_planner_create(&config, &planner, &error), ATTNPLAN_OK) << error.message;
    EXPECT_EQ(attnplan_scratch_create(nullptr, &scratch, &error), ATTNPLAN_OK);
    planner_.reset(planner);
    scratch_.reset(scratch);
    if (planner == nullptr || scratch == nullptr) return;
    EXPECT_EQ(attnplan_plan_size(planner, scratch, &step, group, &bytes_, &error), ATTNPLAN_OK)
        << error.message;
    lines_.resize(bytes_ / sizeof(Line) + 1);
    EXPECT_EQ(attnplan_plan_build(planner, scratch, &step, group, lines_.data(),
                                  lines_.size() * sizeof(Line), &bytes_, &error),
              ATTNPLAN_OK)
        << error.message;
  }

  const void* data() const { return lines_.data(); }
  size_t bytes() const { return bytes_; }
  const attnplan_plan_header& header() const { return *attnplan_plan_get_header(data(), bytes()); }

 private:
  std::unique_ptr<attnplan_planner, Deleter> planner_;
  std::unique_ptr<attnplan_scratch, Deleter> scratch_;
  std::vector<Line> lines_;
  size_t bytes_ = 0;
};

std::vector<json::BatchDocument> read_steps(const std::string& file, int count) {
  std::ifstream lines(std::string(ATTNPLAN_TEST_DATA) + "/" + file);
  std::vector<json::BatchDocument> steps;
  for (std::string line; static_cast<int>(steps.size()) < count && std::getline(lines, line);) {
    const auto error = json::parse_batch(line, {file, 1, 1}, "aiter_mha", steps.emplace_back());
    EXPECT_FALSE(error.has_value()) << error->message;
  }
  EXPECT_EQ(static_cast<int>(steps.size()), count);
  return steps;
}

// A quick run, quicker still: hundreds of steps go through here. Ends of requests only.
RunOptions tiny() {
  RunOptions options = RunOptions::quick();
  options.max_seq_len = 100;
  options.max_rows = 1;
  options.max_kv_heads = 1;
  options.max_head_size = 2;
  return options;
}

constexpr uint64_t kAllSections =
    1u << ATTNPLAN_SECTION_QUERY_START_LOC | 1u << ATTNPLAN_SECTION_SEQ_LENS |
    1u << ATTNPLAN_SECTION_ROW_REQUEST | 1u << ATTNPLAN_SECTION_ROW_POSITION;

struct Choice {
  const char* profile;
  attnplan_ragged_policy ragged;
  int32_t order;
};

constexpr attnplan_ragged_policy kPolicies[] = {
    ATTNPLAN_RAGGED_DEMOTE, ATTNPLAN_RAGGED_UNIFORM_PREFIX, ATTNPLAN_RAGGED_SPLIT_RUNS};

// Every profile in both orders.
std::vector<Choice> choices(attnplan_ragged_policy ragged) {
  std::vector<Choice> all;
  for (const char* profile : {"aiter_mha", "aiter_fa", "minimax_m3_sparse", "unified"}) {
    for (const int32_t order : {ATTNPLAN_ORDER_AS_GIVEN, ATTNPLAN_ORDER_SORT}) {
      all.push_back({profile, ragged, order});
    }
  }
  return all;
}

std::vector<Choice> all_choices() {
  std::vector<Choice> all;
  for (const attnplan_ragged_policy ragged : kPolicies) {
    const std::vector<Choice> more = choices(ragged);
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

class Trace : public testing::TestWithParam<const char*> {};

TEST_P(Trace, EveryPlanOfTheFirstStepsGivesTheRightAnswers) {
  constexpr int kSteps = 20;
  int64_t decode_rows = 0;
  int64_t sorted_plans = 0;
  int index = 0;
  for (const json::BatchDocument& step : read_steps(GetParam(), kSteps)) {
    // Verify and draft steps alternate, so every policy meets both.
    for (const Choice& choice : choices(kPolicies[index++ / 2 % 3])) {
      SCOPED_TRACE(step.name() + " on " + choice.profile + " order " +
                   std::to_string(choice.order) + " ragged " + std::to_string(choice.ragged));
      attnplan_config config = step.config();
      config.profile = choice.profile;
      config.ragged = choice.ragged;
      config.order = choice.order;
      const Planned plan(config, step.step(), nullptr);
      ASSERT_FALSE(HasFailure());
      const RunReport report = run(config, step.step(), nullptr, plan.data(), plan.bytes(), tiny());
      ASSERT_TRUE(report.ok) << report.problem << " error " << report.max_error << " row "
                             << report.worst_row << " request " << report.worst_request;
      decode_rows += plan.header().num_decode_tokens;
      sorted_plans += (plan.header().flags & ATTNPLAN_PLAN_SORTED) != 0;
    }
  }
  EXPECT_GT(decode_rows, 0);  // else no row was ever divided by a width
  EXPECT_EQ(sorted_plans, kSteps * 4);
}

TEST_P(Trace, SectionsOfThePlansGiveTheRightAnswers) {
  for (const json::BatchDocument& step : read_steps(GetParam(), 4)) {
    for (const uint64_t left_out : {0u, 1u << ATTNPLAN_SECTION_ROW_REQUEST}) {
      for (const int32_t order : {ATTNPLAN_ORDER_AS_GIVEN, ATTNPLAN_ORDER_SORT}) {
        attnplan_config config = step.config();
        config.order = order;
        config.sections = kAllSections & ~left_out;  // row maps, or only offsets
        config.ragged = ATTNPLAN_RAGGED_UNIFORM_PREFIX;
        RunOptions options = tiny();
        options.max_seq_len = 0;  // the plan's lengths are executed, so contexts stay whole
        const Planned plan(config, step.step(), nullptr);
        ASSERT_FALSE(HasFailure());
        const RunReport report =
            run(config, step.step(), nullptr, plan.data(), plan.bytes(), options);
        ASSERT_TRUE(report.ok) << step.name() << ": " << report.max_error;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, Trace,
                         testing::Values("traces/conversation_eagle3.jsonl",
                                         "traces/code_plain.jsonl"));

// The case files too: whatever of them is planned must come out right.
TEST(RealPlan, OfEveryCaseThatIsPlanned) {
  json::Session session;
  int executed = 0;
  for (const char* file : {"routing", "sections", "graph", "kv_cache", "errors"}) {
    const std::string name = std::string("cases/") + file + ".jsonl";
    std::ifstream lines(std::string(ATTNPLAN_TEST_DATA) + "/" + name);
    for (std::string line; std::getline(lines, line);) {
      json::BatchDocument batch;
      if (json::parse_batch(line, {name, 1, 1}, "", batch).has_value()) continue;
      const json::Outcome outcome = session.plan(batch);
      if (!outcome.planned()) continue;
      RunOptions options = RunOptions::quick();
      options.max_rows = 100;
      const RunReport report = run(batch.config(), batch.step(), &batch.group(),
                                   outcome.plan.data(), outcome.plan.size(), options);
      EXPECT_TRUE(report.ok) << batch.name() << ": " << report.problem << " error "
                             << report.max_error << " row " << report.worst_row;
      ++executed;
    }
  }
  EXPECT_GE(executed, 55);  // most of the others are refused, which is their point
}

// The batches of the forced plans, planned for real.
TEST(RealPlan, OfTheBatchesThatAnAssumedWidthGetsWrong) {
  struct Case {
    std::vector<int32_t> query_lens;
    std::vector<int32_t> seq_lens;
    int32_t threshold;
  };
  Case verify{std::vector<int32_t>(31, 4), std::vector<int32_t>(31, 1004), 4};
  verify.query_lens.back() = 1;
  verify.seq_lens.back() = 1001;
  Case draft{std::vector<int32_t>(28, 4), std::vector<int32_t>(28, 204), 4};
  draft.query_lens.back() = 2;
  draft.seq_lens.back() = 202;
  for (const Case& c : {Case{{4, 4, 6, 2}, {100, 100, 102, 98}, 6}, draft, verify}) {
    for (const Choice& choice : all_choices()) {
      attnplan_config config = ATTNPLAN_CONFIG_INIT;
      config.profile = choice.profile;
      config.ragged = choice.ragged;
      config.order = choice.order;
      config.decode_threshold = c.threshold;
      attnplan_step step = ATTNPLAN_STEP_INIT;
      step.query_lens = c.query_lens.data();
      step.seq_lens = c.seq_lens.data();
      step.num_reqs = static_cast<int32_t>(c.query_lens.size());
      const Planned plan(config, step, nullptr);
      ASSERT_FALSE(HasFailure());
      const RunReport report =
          run(config, step, nullptr, plan.data(), plan.bytes(), RunOptions::quick());
      EXPECT_TRUE(report.ok) << choice.profile << " " << report.max_error;
    }
  }
}

TEST(RealPlan, OfADraftStepThatEndsAtItsBlockTable) {
  attnplan_kv_cache cache = ATTNPLAN_KV_CACHE_INIT;
  cache.num_blocks = 100;
  cache.block_size = 16;
  const std::vector<int32_t> query_lens{4, 4, 2};
  const std::vector<int32_t> seq_lens{20, 34, 40};  // three rows behind two columns of 16
  const std::vector<int32_t> ids{1, 2, 33, 4, 5, 66};
  attnplan_group group = ATTNPLAN_GROUP_INIT;
  group.block_ids = ids.data();
  group.columns = 2;
  attnplan_step step = ATTNPLAN_STEP_INIT;
  step.query_lens = query_lens.data();
  step.seq_lens = seq_lens.data();
  step.num_reqs = 3;
  step.phase = ATTNPLAN_PHASE_DRAFT;
  for (const uint64_t sections : {uint64_t{0}, kAllSections}) {
    for (const Choice& choice : all_choices()) {
      attnplan_config config = ATTNPLAN_CONFIG_INIT;
      config.profile = choice.profile;
      if (config.profile == std::string("minimax_m3_sparse")) continue;  // wants blocks of 128
      config.ragged = choice.ragged;
      config.order = choice.order;
      config.decode_threshold = 4;
      config.kv_cache = &cache;
      config.sections = sections;
      config.num_q_heads = 4;
      config.head_size = 16;
      const Planned plan(config, step, &group);
      ASSERT_FALSE(HasFailure());
      const RunReport report = run(config, step, &group, plan.data(), plan.bytes(), {});
      EXPECT_TRUE(report.ok) << choice.profile << " error " << report.max_error << " row "
                             << report.worst_row;
    }
  }
}

}  // namespace
}  // namespace attnplan::cpu
