// A launch that cannot be right is refused before anything is enqueued, and the message names the
// argument.
#include "hip/launch_check.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>

#include "layer_case.h"

namespace attnplan::hip_test {
namespace {

struct Refusal {
  const char* message;  // part of it
  Status status;
  std::function<void(LaunchCase*)> spoil;
};

Status check(const attnplan_hip_launch_args* args, Error* error) {
  hip::CheckedLaunch checked = {};
  const Status status = hip::read_launch(args, &checked, error);
  if (status != Status::kOk) return status;
  if (checked.layer.sparse()) {
    hip::SparseLaunch launch = {};
    return hip::check_sparse(checked, &launch, error);
  }
  hip::DenseLaunch launch = {};
  return hip::check_dense(checked, &launch, error);
}

template <class T>
T* odd(T* pointer, uintptr_t by) {
  return reinterpret_cast<T*>(reinterpret_cast<uintptr_t>(pointer) + by);
}
void* odd(const void* pointer, uintptr_t by) {
  return reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(pointer) + by);
}

const Refusal kRefusals[] = {
    {"attnplan_hip_attention is NULL", Status::kInvalidArgument,
     [](LaunchCase* c) { c->args.attention = nullptr; }},
    {"attnplan_hip_kv is NULL", Status::kInvalidArgument,
     [](LaunchCase* c) { c->args.kv = nullptr; }},
    {"attnplan_hip_plan is NULL", Status::kInvalidArgument,
     [](LaunchCase* c) { c->args.plan = nullptr; }},
    {"kv_cache is NULL", Status::kInvalidArgument,
     [](LaunchCase* c) { c->layer.attention.kv_cache = nullptr; }},
    {"flags", Status::kUnimplemented, [](LaunchCase* c) { c->args.flags = 2; }},
    {"num_kv_heads 3 does not divide num_q_heads 16", Status::kInvalidArgument,
     [](LaunchCase* c) { c->layer.attention.num_kv_heads = 3; }},
    {"17 query heads per KV head, at most 16", Status::kUnimplemented,
     [](LaunchCase* c) { c->layer.attention.num_q_heads = 17; }},
    {"head_size 64 with v_head_size 128", Status::kUnimplemented,
     [](LaunchCase* c) {
       c->layer.attention.head_size = 64;
       c->layer.attention.v_head_size = 128;
     }},
    {"q_dtype is neither bf16 nor fp16", Status::kUnimplemented,
     [](LaunchCase* c) { c->layer.attention.q_dtype = ATTNPLAN_DTYPE_E4M3FN; }},
    {"the cache is bf16, so q_dtype has to be, and is fp16", Status::kUnimplemented,
     [](LaunchCase* c) { c->layer.attention.q_dtype = ATTNPLAN_DTYPE_FP16; }},
    {"the segment's cache label is bf16, the cache is viewed as e4m3fnuz", Status::kPlanError,
     [](LaunchCase* c) { c->layer.cache.cache_dtype = ATTNPLAN_CACHE_FP8; }},
    {"softmax_scale is -1", Status::kInvalidArgument,
     [](LaunchCase* c) { c->layer.attention.softmax_scale = -1; }},
    {"layout is mla", Status::kUnimplemented,
     [](LaunchCase* c) { c->layer.cache.layout = ATTNPLAN_LAYOUT_MLA; }},
    {"plan: made for block_size 16, kv_cache.block_size is 64", Status::kPlanError,
     [](LaunchCase* c) {
       c->layer.cache.block_size = 64;
       c->layer.cache.page_size = 32;
     }},
    {"plan: made for num_blocks 64, kv_cache.num_blocks is 63", Status::kPlanError,
     [](LaunchCase* c) { c->layer.cache.num_blocks = 63; }},
    {"plan: made for layout 0, kv_cache.layout is 1", Status::kPlanError,
     [](LaunchCase* c) { c->layer.cache.layout = 1; }},
    {"plan: made for a cache with flags 0, kv_cache.flags is 1", Status::kPlanError,
     [](LaunchCase* c) { c->layer.cache.flags = ATTNPLAN_KV_PACKED; }},
    {"plan: made for num_q_heads 16, attention.num_q_heads is 8", Status::kPlanError,
     [](LaunchCase* c) { c->layer.attention.num_q_heads = 8; }},
    {"plan: made for num_kv_heads 1, attention.num_kv_heads is 2", Status::kPlanError,
     [](LaunchCase* c) { c->layer.attention.num_kv_heads = 2; }},
    {"plan: made for head_size 128, attention.head_size is 192", Status::kPlanError,
     [](LaunchCase* c) {
       c->layer.attention.head_size = 192;
       c->layer.attention.v_head_size = 128;
     }},
    {"plan: made for mask 0, attention.mask is 1", Status::kPlanError,
     [](LaunchCase* c) { c->layer.attention.mask = ATTNPLAN_MASK_FULL; }},
    {"plan: made for sliding_window 0, attention.sliding_window is 64", Status::kPlanError,
     [](LaunchCase* c) { c->layer.attention.sliding_window = 64; }},
    {"cache of bf16 with scales of single tokens and heads", Status::kUnimplemented,
     [](LaunchCase* c) { c->layer.cache.scale = ATTNPLAN_SCALE_TOKEN_HEAD; }},
    {"kv.k_scales is given", Status::kInvalidArgument,
     [](LaunchCase* c) { c->kv.k_scales.data = odd(c->args.lse, 0); }},
    {"block_stride 32772", Status::kInvalidArgument,
     [](LaunchCase* c) { c->layer.cache.block_stride = 32772; }},
    {"segment is 9, the plan has 2", Status::kInvalidArgument,
     [](LaunchCase* c) { c->args.segment = 9; }},
    {"segment is -1", Status::kInvalidArgument, [](LaunchCase* c) { c->args.segment = -1; }},
    {"the host's copy is NULL", Status::kInvalidArgument,
     [](LaunchCase* c) { c->plan.host = nullptr; }},
    {"it is cut short", Status::kInvalidArgument, [](LaunchCase* c) { c->plan.bytes = 300; }},
    {"these bytes are no plan", Status::kInvalidArgument, [](LaunchCase* c) { c->plan.bytes = 8; }},
    {"the device's copy is NULL", Status::kInvalidArgument,
     [](LaunchCase* c) { c->plan.device = nullptr; }},
    {"the device's copy is not 64-byte aligned", Status::kInvalidArgument,
     [](LaunchCase* c) { c->plan.device = odd(c->plan.device, 32); }},
    {"q is NULL", Status::kInvalidArgument, [](LaunchCase* c) { c->args.q = nullptr; }},
    {"q is not 16-byte aligned", Status::kInvalidArgument,
     [](LaunchCase* c) { c->args.q = odd(c->args.q, 8); }},
    {"out is NULL", Status::kInvalidArgument, [](LaunchCase* c) { c->args.out = nullptr; }},
    {"lse is not 4-byte aligned", Status::kInvalidArgument,
     [](LaunchCase* c) { c->args.lse = odd(c->args.lse, 2); }},
    {"kv.k is NULL", Status::kInvalidArgument, [](LaunchCase* c) { c->kv.k = nullptr; }},
    {"kv.v is not 16-byte aligned", Status::kInvalidArgument,
     [](LaunchCase* c) { c->kv.v = odd(c->kv.k, 8); }},
    {"q_head_stride is 120, rows would overlap", Status::kInvalidArgument,
     [](LaunchCase* c) { c->args.q_head_stride = 120; }},
    {"out_row_stride is 2052, it has to be a multiple of 8", Status::kInvalidArgument,
     [](LaunchCase* c) { c->args.out_row_stride = 2052; }},
    {"q_row_stride is 1920, rows would overlap", Status::kInvalidArgument,
     [](LaunchCase* c) { c->args.q_row_stride = 15 * 128; }},
    {"out_row_stride is 1920, rows would overlap", Status::kInvalidArgument,
     [](LaunchCase* c) { c->args.out_row_stride = 15 * 128; }},
    {"softmax_scale is nan", Status::kInvalidArgument,
     [](LaunchCase* c) { c->layer.attention.softmax_scale = -NAN; }},
    {"lse_row_stride is 15, rows would overlap", Status::kInvalidArgument,
     [](LaunchCase* c) { c->args.lse_row_stride = 15; }},
    {"workspace_bytes is 64, the plan needs", Status::kBufferTooSmall,
     [](LaunchCase* c) { c->args.workspace_bytes = 64; }},
    {"workspace is NULL", Status::kInvalidArgument,
     [](LaunchCase* c) { c->args.workspace = nullptr; }},
    {"report is NULL", Status::kInvalidArgument,
     [](LaunchCase* c) { c->args.flags = ATTNPLAN_HIP_VERIFY; }},
    {"selected is given, but attention.top_k is 0", Status::kInvalidArgument,
     [](LaunchCase* c) { c->args.selected = reinterpret_cast<const int32_t*>(c->args.lse); }},
    {"top_k is 33", Status::kInvalidArgument, [](LaunchCase* c) { c->layer.attention.top_k = 33; }},
};

TEST(HipLaunch, RefusalsNameTheArgument) {
  const LayerCase layer;
  const LayerPlan plan(layer, nullptr);
  ASSERT_EQ(plan.status(), ATTNPLAN_OK) << plan.error().message;
  for (const Refusal& refusal : kRefusals) {
    LaunchCase launch(layer, plan);
    Error error;
    ASSERT_EQ(check(&launch.args, &error), Status::kOk) << error.message;
    refusal.spoil(&launch);
    EXPECT_EQ(check(&launch.args, &error), refusal.status) << refusal.message;
    EXPECT_NE(std::strstr(error.message, refusal.message), nullptr)
        << error.message << "\nwants: " << refusal.message;
    EXPECT_EQ(error.status, refusal.status);
  }
  Error error;
  EXPECT_EQ(check(nullptr, &error), Status::kInvalidArgument);
}

// A plan without what the kernels read.
TEST(HipLaunch, EverySectionIsNeeded) {
  const LayerCase layer;
  const LayerPlan plan(layer, nullptr);
  ASSERT_EQ(plan.status(), ATTNPLAN_OK);
  const auto* header = &plan.header();
  auto* table =
      reinterpret_cast<attnplan_section*>(static_cast<char*>(plan.data()) + header->header_bytes);
  int needed = 0;
  for (int32_t i = 0; i < header->num_sections; ++i) {
    const int32_t id = table[i].id;
    const bool read = id == ATTNPLAN_SECTION_SEGMENTS || id == ATTNPLAN_SECTION_QUERY_START_LOC ||
                      id == ATTNPLAN_SECTION_SEQ_LENS || id == ATTNPLAN_SECTION_CONTEXT_LENS ||
                      id == ATTNPLAN_SECTION_PAGE_INDPTR || id == ATTNPLAN_SECTION_PAGE_INDICES ||
                      (id >= ATTNPLAN_SECTION_WORK && id <= ATTNPLAN_SECTION_MERGE_SLOTS);
    table[i].id = 1000;  // readers skip what they do not know
    LaunchCase launch(layer, plan);
    Error error;
    EXPECT_EQ(check(&launch.args, &error) == Status::kOk, !read) << id << error.message;
    needed += read;
    table[i].id = id;
    table[i].offset += int64_t{1} << 40;
    EXPECT_EQ(check(&launch.args, &error), Status::kInvalidArgument) << id;
    table[i].offset -= int64_t{1} << 40;
  }
  EXPECT_EQ(needed, 12);
}

TEST(HipLaunch, AnotherTileIsNoPlanOfTheseKernels) {
  const LayerCase layer;
  const LayerPlan plan(layer, "unified");
  ASSERT_EQ(plan.status(), ATTNPLAN_OK) << plan.error().message;
  LaunchCase launch(layer, plan);
  Error error;
  EXPECT_EQ(check(&launch.args, &error), Status::kOk) << error.message;
  attnplan_section_view work = ATTNPLAN_SECTION_VIEW_INIT;
  ASSERT_EQ(
      attnplan_plan_get_section(plan.data(), plan.bytes(), ATTNPLAN_SECTION_WORK, &work, nullptr),
      ATTNPLAN_OK);
  auto* record = const_cast<attnplan_work*>(static_cast<const attnplan_work*>(work.data));
  record->query_tile = 32;
  EXPECT_EQ(check(&launch.args, &error), Status::kPlanError);
  EXPECT_NE(std::strstr(error.message, "query_tile of 32"), nullptr) << error.message;
  record->query_tile = 64;
  record->kv_tile = 96;
  EXPECT_EQ(check(&launch.args, &error), Status::kPlanError);
  EXPECT_NE(std::strstr(error.message, "kv_tile of 96"), nullptr) << error.message;
}

// What a launch reads on the device depends on the layout of the plan, never on what is in it.
TEST(HipLaunch, ArgumentsAreThoseOfEveryPlanOfAFixedLayout) {
  LayerCase layer;
  layer.fixed_layout = true;
  LayerCase other = layer;
  other.query_lens = {1, 5, 3, 1, 40};
  other.seq_lens = {96, 17, 3, 9, 90};
  const LayerPlan plan(layer, nullptr), next(other, nullptr);
  ASSERT_EQ(plan.status(), ATTNPLAN_OK) << plan.error().message;
  ASSERT_EQ(next.status(), ATTNPLAN_OK) << next.error().message;
  Error error;
  hip::CheckedLaunch first = {}, second = {};
  hip::DenseLaunch a = {}, b = {};
  LaunchCase one(layer, plan), two(other, next);
  ASSERT_EQ(hip::read_launch(&one.args, &first, &error), Status::kOk) << error.message;
  ASSERT_EQ(hip::read_launch(&two.args, &second, &error), Status::kOk) << error.message;
  ASSERT_EQ(hip::check_dense(first, &a, &error), Status::kOk) << error.message;
  ASSERT_EQ(hip::check_dense(second, &b, &error), Status::kOk) << error.message;
  EXPECT_TRUE(a.merges);
  EXPECT_EQ(a.workers, b.workers);
  EXPECT_EQ(a.merge_units, b.merge_units);
  EXPECT_EQ(std::memcmp(&a.args, &b.args, sizeof a.args), 0);
  EXPECT_EQ(std::memcmp(&a.merge, &b.merge, sizeof a.merge), 0);
}

}  // namespace
}  // namespace attnplan::hip_test
