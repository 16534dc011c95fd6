// A refresh or an advance that cannot be right is refused, and the message names the argument.
#include "hip/refresh_check.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>

#include "layer_case.h"

namespace attnplan::hip_test {
namespace {

template <class T>
T* address(uintptr_t at) {
  return reinterpret_cast<T*>(at);
}

struct Refusal {
  const char* message;  // part of it
  std::function<void(attnplan_hip_refresh_args*)> spoil;
};

const Refusal kRefusals[] = {
    {"block_ids is not 4-byte aligned", [](auto* a) { a->block_ids = address<int32_t>(0x101); }},
    {"block_indptr is not 4-byte", [](auto* a) { a->block_indptr = address<int32_t>(0x102); }},
    {"table_rows is not 8-byte aligned",
     [](auto* a) {
       a->table_rows = address<void>(0x104);
       a->flags = ATTNPLAN_HIP_REFRESH_ROWS_INT64;
     }},
    {"slot_mapping is not 8-byte aligned",
     [](auto* a) {
       a->slot_mapping = address<void>(0x104);
       a->flags = ATTNPLAN_HIP_REFRESH_SLOTS_INT64;
     }},
    {"report is not 4-byte", [](auto* a) { a->report = address<attnplan_hip_report>(0x101); }},
    {"num_reqs is 99, the plan is of another", [](auto* a) { a->num_reqs = 99; }},
    {"num_reqs is -1, it cannot be negative", [](auto* a) { a->num_reqs = -1; }},
    {"it has bits of no section", [](auto* a) { a->sections = uint64_t{1} << 60; }},
    {"section local, which the plan lacks",
     [](auto* a) { a->sections = uint64_t{1} << ATTNPLAN_SECTION_LOCAL; }},
    {"section page_indices, which needs block_ids",
     [](auto* a) {
       a->block_ids = nullptr;
       a->sections = uint64_t{1} << ATTNPLAN_SECTION_PAGE_INDICES;
     }},
};

TEST(HipRefresh, RefusalsNameTheArgument) {
  const LayerCase layer;
  const LayerPlan plan(layer, nullptr);
  ASSERT_EQ(plan.status(), ATTNPLAN_OK) << plan.error().message;
  const LaunchCase launch(layer, plan);
  for (const Refusal& refusal : kRefusals) {
    attnplan_hip_refresh_args args = ATTNPLAN_HIP_REFRESH_ARGS_INIT;
    args.attention = &launch.layer.attention;
    args.plan = &launch.plan;
    args.query_start_loc = args.seq_lens = args.block_ids = address<int32_t>(0x1000);
    args.columns = 6;
    args.num_reqs = 3;
    hip::RefreshLaunch out;
    Error error;
    ASSERT_EQ(hip::check_refresh(&args, &out, &error), Status::kOk) << error.message;
    refusal.spoil(&args);
    EXPECT_EQ(hip::check_refresh(&args, &out, &error), Status::kInvalidArgument);
    EXPECT_NE(std::strstr(error.message, refusal.message), nullptr)
        << error.message << "\nwants: " << refusal.message;
  }
}

TEST(HipRefresh, AdvanceTakesAlignedTensorsOnly) {
  hip::AdvanceArgs args;
  Error error;
  auto* lens = address<int32_t>(0x1000);
  EXPECT_EQ(hip::check_advance(nullptr, lens, 1, 0, &args, &error), Status::kOk);
  EXPECT_EQ(hip::check_advance(address<int32_t>(0x1001), lens, 1, 0, &args, &error),
            Status::kInvalidArgument);
  EXPECT_STREQ(error.message, "query_start_loc is not 4-byte aligned");
}

}  // namespace
}  // namespace attnplan::hip_test
