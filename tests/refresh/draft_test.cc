// Draft steps 2 to k on the simulated device: advance, refresh, and never the host.
#include <gtest/gtest.h>

#include "draft_steps.h"
#include "hip/plan_refresh.h"
#include "kernel_args.h"
#include "simt/launch.h"

namespace attnplan::refresh {
namespace {

void run(const DraftSteps& steps) {
  Buffer plan = steps.plan(DraftSteps::kSteps);
  ASSERT_GT(plan.size(), 0u);
  Tensors tensors = steps.tensors();
  const KernelArgs args(tensors, steps.rules(), false);
  const hip::AdvanceArgs advance = {tensors.query_start_loc.data(), tensors.seq_lens.data(),
                                    steps.requests(), DraftSteps::kMost};
  for (int32_t step = 1; step <= DraftSteps::kSteps; ++step) {
    SCOPED_TRACE("draft step " + std::to_string(step));
    simt::launch(simt::options_for<hip::Gfx942>(1), 2, 64,
                 [&] { hip::draft_advance<hip::Gfx942>(advance); });
    ASSERT_EQ(tensors.seq_lens, steps.lengths(step));
    EXPECT_EQ(launch_refresh({}, args.args, &plan), 0u);
    EXPECT_EQ(judge_draft_step(steps, plan, step), "");
  }
}

TEST(DraftSteps, RunFromOnePlanOfTheLast) {
  constexpr int32_t kMost = DraftSteps::kMost;
  run(DraftSteps(Ints{17, kMost - 3, 0, kMost - 1, kMost, 31}));
  for (uint64_t seed = 1; seed <= 8; ++seed) run(DraftSteps(seed));
}

TEST(DraftSteps, AdvanceStopsOneBeyondTheModel) {
  const Ints starts = {0, 1, 2, 2, 3, 4};
  const auto advanced = [](const int32_t* query_start_loc, int32_t max_model_len) {
    Ints seq_lens = {5, 100, 7, 101, INT32_MAX};
    const hip::AdvanceArgs args = {query_start_loc, seq_lens.data(), 5, max_model_len};
    simt::launch(simt::options_for<hip::Sm90>(1), 2, 32,
                 [&] { hip::draft_advance<hip::Sm90>(args); });
    return seq_lens;
  };
  EXPECT_EQ(advanced(starts.data(), 100), (Ints{6, 101, 7, 101, INT32_MAX}));
  EXPECT_EQ(advanced(nullptr, 0), (Ints{6, 101, 8, 102, INT32_MAX}));
}

}  // namespace
}  // namespace attnplan::refresh
