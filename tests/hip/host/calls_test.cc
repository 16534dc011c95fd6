// The calls around attention through the C API on simulated devices: rows written to the cache are
// where the reference layout has them, refreshed plans are those of the true lengths, and blocks
// that are all selected are attended as without a selection.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "cpu/kv_layout.h"
#include "hip/emulation.h"
#include "layer_case.h"

namespace attnplan::hip_test {
namespace {

// Device memory is host memory here.
template <class T>
class Memory {
 public:
  explicit Memory(size_t count, T value = T{}) : count_(count) {
    data_.reset(static_cast<T*>(std::aligned_alloc(64, (count * sizeof(T) + 63) / 64 * 64)));
    std::fill_n(data_.get(), count, value);
  }
  T* get() const { return data_.get(); }
  T& operator[](int64_t i) const { return data_.get()[i]; }
  size_t size() const { return count_; }

 private:
  struct Free {
    void operator()(T* memory) const { std::free(memory); }
  };
  std::unique_ptr<T, Free> data_;
  size_t count_;
};

uint16_t bf16(float value) {
  return static_cast<uint16_t>(__builtin_bit_cast(uint32_t, value) >> 16);
}
float number(uint16_t bits) { return __builtin_bit_cast(float, uint32_t{bits} << 16); }

std::vector<float> draw(size_t count, uint64_t seed) {
  std::mt19937_64 engine(seed);
  std::vector<float> values(count);
  for (float& value : values) {
    value = number(bf16(static_cast<float>(static_cast<int>(engine() % 2001) - 1000) / 500));
  }
  return values;
}
Memory<uint16_t> rows_of(const std::vector<float>& values) {
  Memory<uint16_t> rows(values.size());
  for (size_t i = 0; i < values.size(); ++i) rows[static_cast<int64_t>(i)] = bf16(values[i]);
  return rows;
}

std::string arch_name(hip::TableArch arch) {
  constexpr const char* kNames[] = {"gfx90a", "gfx942", "gfx950", "sm_90"};
  return kNames[static_cast<int>(arch)];
}

LayerCase layer_case(hip::TableArch arch) {
  hip::emulation().arch = arch;
  LayerCase layer;
  layer.arch = arch_name(arch);
  layer.attention.num_kv_heads = 2;
  layer.attention.num_q_heads = 8;
  layer.attention.head_size = layer.attention.v_head_size = 128;
  return layer;
}

cpu::AttentionShape shape_of(const LayerCase& layer) {
  cpu::AttentionShape shape;
  shape.num_q_heads = layer.attention.num_q_heads;
  shape.num_kv_heads = layer.attention.num_kv_heads;
  shape.head_size = layer.attention.head_size;
  shape.v_head_size = layer.attention.v_head_size;
  return shape;
}

struct Written {
  Memory<uint8_t> cache;
  cpu::KvLayout layout;
};

// Writes K and V rows to `slots` through the library.
Written write_rows(LayerCase* layer, const std::vector<float>& k, const std::vector<float>& v,
                   const std::vector<int64_t>& slots, float* scales) {
  layer->attention.kv_cache = &layer->cache;
  layer->attention.arch = layer->arch.c_str();
  Written out{Memory<uint8_t>(size_t{1} << 21, 0xa5),
              cpu::make_layout(layer->cache, shape_of(*layer), layer->cache.num_blocks)};
  Memory<int64_t> where(slots.size());
  std::copy(slots.begin(), slots.end(), where.get());
  const Memory<uint16_t> k_rows = rows_of(k), v_rows = rows_of(v);
  attnplan_hip_kv kv = ATTNPLAN_HIP_KV_INIT;
  kv.k = out.cache.get();
  if (scales != nullptr) {
    kv.k_scales.data = scales;
    kv.v_scales.data = scales + 4096;
  }
  attnplan_hip_kv_write_args args = ATTNPLAN_HIP_KV_WRITE_ARGS_INIT;
  args.attention = &layer->attention;
  args.kv = &kv;
  args.k = k_rows.get();
  args.v = v_rows.get();
  args.slots = where.get();
  args.num_rows = static_cast<int32_t>(slots.size());
  attnplan_error error = ATTNPLAN_ERROR_INIT;
  EXPECT_EQ(attnplan_hip_kv_write(&args, nullptr, &error), ATTNPLAN_OK) << error.message;
  return out;
}

TEST(HipCalls, RowsAreWrittenWhereTheReferenceHasThem) {
  for (attnplan_layout l = 0; l < ATTNPLAN_LAYOUT_MLA; ++l) {
    for (const uint32_t flags :
         {0u, ATTNPLAN_KV_SHUFFLE, ATTNPLAN_KV_PACKED, ATTNPLAN_KV_PACKED | ATTNPLAN_KV_SHUFFLE}) {
      if (l == ATTNPLAN_LAYOUT_LHBNC && (flags & ATTNPLAN_KV_PACKED) != 0) continue;
      LayerCase layer = layer_case(hip::TableArch::kGfx942);
      layer.attention.head_size = 192;
      layer.cache.layout = l;
      layer.cache.flags = flags;
      layer.cache.num_blocks = 5;
      layer.cache.block_size = 32;
      const auto k = draw(3 * 2 * 192, 1), v = draw(3 * 2 * 128, 2);
      const int64_t pages = (flags & ATTNPLAN_KV_PACKED) != 0 ? 4 : 2;
      // Slots count tokens by page ids: block 4, second page; no slot; block 0.
      const std::vector<int64_t> slots = {(4 * pages + 1) * 16 + 7, -1, 3};
      const Written got = write_rows(&layer, k, v, slots, nullptr);
      const auto* values = reinterpret_cast<const uint16_t*>(got.cache.get());
      size_t written = 0;
      for (const int64_t row : {0, 2}) {
        const int64_t slot = slots[static_cast<size_t>(row)];
        for (int64_t head = 0; head < 2; ++head) {
          const auto compare = [&](const cpu::TensorLayout& t, const std::vector<float>& from,
                                   int64_t size) {
            const int64_t base = got.layout.row_address(t, slot / 16, head, slot % 16);
            for (int64_t e = 0; e < size; ++e, ++written) {
              ASSERT_EQ(number(values[base + t.element_offset(e)]),
                        from[static_cast<size_t>((row * 2 + head) * size + e)])
                  << "layout " << l << " flags " << flags << " row " << row << " element " << e;
            }
          };
          compare(got.layout.k, k, 192);
          compare(got.layout.v, v, 128);
        }
      }
      const auto* words = reinterpret_cast<const uint16_t*>(got.cache.get());
      const auto touched = static_cast<size_t>(std::count_if(
          words, words + got.cache.size() / 2, [](uint16_t w) { return w != 0xa5a5; }));
      EXPECT_EQ(touched, written);
    }
  }
}

TEST(HipCalls, Fp8RowsComeWithTheScalesOfTheirTokens) {
  LayerCase layer = layer_case(hip::TableArch::kGfx950);
  layer.cache.num_blocks = 4;
  layer.cache.cache_dtype = ATTNPLAN_CACHE_FP8;
  layer.cache.scale = ATTNPLAN_SCALE_TOKEN_HEAD;
  Memory<float> scales(8192, -1);
  const auto k = draw(2 * 128, 3), v = draw(2 * 128, 4);
  write_rows(&layer, k, v, {2 * 16 + 5}, scales.get());
  for (int64_t head = 0; head < 2; ++head) {
    for (const int64_t tensor : {0, 1}) {
      const auto* row = (tensor == 0 ? k : v).data() + head * 128;
      float largest = 0;
      for (int e = 0; e < 128; ++e) largest = std::max(largest, std::fabs(row[e]));
      // Dense: [page 2][head][token 5].
      EXPECT_FLOAT_EQ(scales[tensor * 4096 + (2 * 2 + head) * 16 + 5], largest / 448);
    }
  }
  EXPECT_EQ(std::count(scales.get(), scales.get() + 8192, -1.0f), 8192 - 4);
}

TEST(HipCalls, ARefreshedPlanIsThatOfTheTrueLengths) {
  LayerCase bounds = layer_case(hip::TableArch::kSm90);
  bounds.cache.num_blocks = 64;
  bounds.fixed_layout = true;
  LayerCase truth = bounds;
  bounds.seq_lens = {70, 33, 90};
  const LayerPlan planned(bounds, nullptr), wanted(truth, nullptr);
  ASSERT_EQ(planned.status(), ATTNPLAN_OK) << planned.error().message;
  ASSERT_EQ(wanted.status(), ATTNPLAN_OK);

  bounds.attention.kv_cache = &bounds.cache;
  bounds.attention.arch = bounds.arch.c_str();
  Memory<uint8_t> device(planned.bytes());
  std::memcpy(device.get(), planned.data(), planned.bytes());
  attnplan_hip_plan plan = ATTNPLAN_HIP_PLAN_INIT;
  plan.host = planned.data();
  plan.device = device.get();
  plan.bytes = planned.bytes();
  Memory<int32_t> starts(4), lens(3), ids(18, 1);
  const int32_t rows[] = {0, 1, 2, 32};
  std::copy(rows, rows + 4, starts.get());
  std::copy(truth.seq_lens.begin(), truth.seq_lens.end(), lens.get());
  Memory<attnplan_hip_report> report(1);
  attnplan_hip_refresh_args args = ATTNPLAN_HIP_REFRESH_ARGS_INIT;
  args.attention = &bounds.attention;
  args.plan = &plan;
  args.query_start_loc = starts.get();
  args.seq_lens = lens.get();
  args.block_ids = ids.get();
  args.columns = 6;
  args.max_model_len = 96;
  args.report = report.get();
  attnplan_error error = ATTNPLAN_ERROR_INIT;
  ASSERT_EQ(attnplan_hip_refresh(&args, nullptr, &error), ATTNPLAN_OK) << error.message;
  EXPECT_EQ(report[0].refresh, 0u);
  for (const int32_t id : {ATTNPLAN_SECTION_QUERY_START_LOC, ATTNPLAN_SECTION_SEQ_LENS,
                           ATTNPLAN_SECTION_CONTEXT_LENS, ATTNPLAN_SECTION_PAGE_INDPTR,
                           ATTNPLAN_SECTION_PAGE_INDICES, ATTNPLAN_SECTION_ROW_POSITION}) {
    attnplan_section_view got = ATTNPLAN_SECTION_VIEW_INIT, want = ATTNPLAN_SECTION_VIEW_INIT;
    ASSERT_EQ(attnplan_plan_get_section(device.get(), device.size(), id, &got, nullptr),
              ATTNPLAN_OK);
    ASSERT_EQ(attnplan_plan_get_section(wanted.data(), wanted.bytes(), id, &want, nullptr),
              ATTNPLAN_OK);
    ASSERT_EQ(got.count, want.count) << id;
    EXPECT_EQ(std::memcmp(got.data, want.data, static_cast<size_t>(want.count) * 4), 0) << id;
  }
}

TEST(HipCalls, DraftStepsAddATokenToLiveRequests) {
  layer_case(hip::TableArch::kGfx90a);
  Memory<int32_t> starts(4), lens(3, 9);
  const int32_t rows[] = {0, 1, 1, 2};
  std::copy(rows, rows + 4, starts.get());
  attnplan_error error = ATTNPLAN_ERROR_INIT;
  ASSERT_EQ(attnplan_hip_advance(starts.get(), lens.get(), 3, 0, nullptr, &error), ATTNPLAN_OK);
  EXPECT_EQ(std::vector<int32_t>(lens.get(), lens.get() + 3), (std::vector<int32_t>{10, 9, 10}));
  EXPECT_EQ(attnplan_hip_advance(starts.get(), nullptr, 3, 0, nullptr, &error),
            ATTNPLAN_INVALID_ARGUMENT);
  EXPECT_STREQ(error.message, "seq_lens is NULL");
}

// MiniMax-M3: three requests over a cache of blocks of 128 tokens.
class Sparse {
 public:
  explicit Sparse(hip::TableArch arch)
      : layer_(layer_case(arch)), cache_(size_t{1} << 21), index_memory_(size_t{1} << 20) {
    layer_.attention.num_kv_heads = 1;
    layer_.attention.num_q_heads = 4;
    layer_.cache.num_blocks = 12;
    layer_.cache.block_size = 128;
    layer_.cache.page_size = 16;
    layer_.query_lens = {1, 3};
    layer_.seq_lens = {140, 333};
    layer_.decode_threshold = 4;
    auto* values = reinterpret_cast<uint16_t*>(cache_.get());
    const auto numbers = draw(cache_.size() / 2, 5);
    for (size_t i = 0; i < numbers.size(); ++i) values[i] = bf16(numbers[i]);
    auto* index = reinterpret_cast<uint16_t*>(index_memory_.get());
    const auto keys = draw(index_memory_.size() / 2, 6);
    for (size_t i = 0; i < keys.size(); ++i) index[i] = bf16(keys[i]);
  }

  // Output and log-sum-exp of all rows. `bad_page`: in the device's list of pages, found or not by
  // a launch that verifies.
  std::vector<float> attend(int32_t top_k, bool bad_page = false) {
    layer_.attention.top_k = top_k;
    const LayerPlan planned(layer_, nullptr);
    EXPECT_EQ(planned.status(), ATTNPLAN_OK) << planned.error().message;
    LaunchCase launch(layer_, planned);
    const auto q = rows_of(draw(4 * 4 * 128, 7)), index_q = rows_of(draw(4 * 128, 8));
    Memory<uint16_t> out(4 * 4 * 128, 0xffff);
    Memory<float> lse(16, NAN);
    selected_.assign(static_cast<size_t>(4 * std::max(top_k, 1)), -7);
    Memory<uint8_t> device(planned.bytes());
    std::memcpy(device.get(), planned.data(), planned.bytes());
    launch.plan.device = device.get();
    Memory<attnplan_hip_report> report(1);
    launch.args.report = report.get();
    launch.args.flags = ATTNPLAN_HIP_VERIFY;
    if (bad_page) spoil_page(&device);
    launch.kv.k = cache_.get();
    launch.args.q = q.get();
    launch.args.out = out.get();
    launch.args.lse = lse.get();
    attnplan_error error = ATTNPLAN_ERROR_INIT;
    size_t bytes = 0;
    EXPECT_EQ(attnplan_hip_workspace_size(launch.args.attention, planned.data(), planned.bytes(),
                                          &bytes, &error),
              ATTNPLAN_OK)
        << error.message;
    Memory<uint8_t> workspace(bytes + 64);
    launch.args.workspace = workspace.get();
    launch.args.workspace_bytes = bytes;
    launch.args.selected = top_k > 0 ? selected_.data() : nullptr;
    for (int32_t i = 0; i < planned.header().num_segments; ++i) {
      if (top_k > 0) select(launch, index_q.get(), i);
      launch.args.segment = i;
      EXPECT_EQ(attnplan_hip_launch(&launch.args, nullptr, &error), ATTNPLAN_OK) << error.message;
    }
    EXPECT_EQ(report[0].bad_pages, bad_page ? 1 : 0);
    std::vector<float> results(lse.get(), lse.get() + lse.size());
    for (size_t i = 0; i < out.size(); ++i) {
      results.push_back(number(out[static_cast<int64_t>(i)]));
    }
    return results;
  }
  const std::vector<int32_t>& selected() const { return selected_; }

 private:
  static void spoil_page(Memory<uint8_t>* plan) {
    attnplan_section_view pages = ATTNPLAN_SECTION_VIEW_INIT;
    ASSERT_EQ(attnplan_plan_get_section(plan->get(), plan->size(), ATTNPLAN_SECTION_PAGE_INDICES,
                                        &pages, nullptr),
              ATTNPLAN_OK);
    const_cast<int32_t*>(static_cast<const int32_t*>(pages.data))[1] = 12 * 8;  // one too many
  }
  // Without a bound the size is what a select without one takes.
  static void expect_own_size(const LaunchCase& launch, attnplan_hip_select_args args) {
    attnplan_error error = ATTNPLAN_ERROR_INIT;
    args.max_seq_len = 0;
    ASSERT_EQ(
        attnplan_hip_select_workspace_size(launch.args.attention, launch.plan.host,
                                           launch.plan.bytes, 0, &args.workspace_bytes, &error),
        ATTNPLAN_OK)
        << error.message;
    const Memory<uint8_t> workspace(args.workspace_bytes, 0xff);
    args.workspace = workspace.get();
    EXPECT_EQ(attnplan_hip_select(&args, nullptr, &error), ATTNPLAN_OK) << error.message;
  }
  void select(const LaunchCase& launch, const void* index_q, int32_t segment) {
    attnplan_hip_index index = ATTNPLAN_HIP_INDEX_INIT;
    index.k = index_memory_.get();
    attnplan_hip_select_args args = ATTNPLAN_HIP_SELECT_ARGS_INIT;
    args.attention = launch.args.attention;
    args.index = &index;
    args.plan = launch.args.plan;
    args.q = index_q;
    args.selected = selected_.data();
    args.segment = segment;
    args.max_seq_len = 512;
    attnplan_error error = ATTNPLAN_ERROR_INIT;
    ASSERT_EQ(
        attnplan_hip_select_workspace_size(launch.args.attention, launch.plan.host,
                                           launch.plan.bytes, 512, &args.workspace_bytes, &error),
        ATTNPLAN_OK)
        << error.message;
    expect_own_size(launch, args);
    const Memory<uint8_t> workspace(args.workspace_bytes, 0xff);
    args.workspace = workspace.get();
    ASSERT_EQ(attnplan_hip_select(&args, nullptr, &error), ATTNPLAN_OK) << error.message;
    args.workspace_bytes -= 1;
    EXPECT_EQ(attnplan_hip_select(&args, nullptr, &error), ATTNPLAN_BUFFER_TOO_SMALL);
  }

  LayerCase layer_;
  Memory<uint8_t> cache_, index_memory_;
  std::vector<int32_t> selected_;
};

TEST(HipCalls, AllBlocksSelectedIsNoSelection) {
  for (const hip::TableArch arch : {hip::TableArch::kGfx942, hip::TableArch::kSm90}) {
    Sparse sparse(arch);
    const std::vector<float> all = sparse.attend(0), chosen = sparse.attend(16);
    ASSERT_EQ(all.size(), chosen.size());
    for (size_t i = 0; i < all.size(); ++i) {
      ASSERT_NEAR(all[i], chosen[i], 0.02 * (1 + std::fabs(all[i]))) << i;
    }
    // Rows at positions 139, 330, 331, 332: two blocks, three blocks.
    const auto& selected = sparse.selected();
    for (size_t row = 0; row < 4; ++row) {
      const auto* first = selected.data() + row * 16;
      const size_t live = row == 0 ? 2 : 3;
      std::vector<int32_t> blocks(first, first + live);
      EXPECT_EQ(blocks[0], static_cast<int32_t>(live) - 1) << "its own block comes first";
      std::sort(blocks.begin(), blocks.end());
      for (size_t b = 0; b < live; ++b) EXPECT_EQ(blocks[b], static_cast<int32_t>(b));
      EXPECT_TRUE(std::all_of(first + live, first + 16, [](int32_t b) { return b == -1; }));
    }
  }
}

TEST(HipCalls, PagesOutsideTheCacheAreReported) {
  Sparse sparse(hip::TableArch::kGfx90a);
  const std::vector<float> right = sparse.attend(0), wrong = sparse.attend(0, true);
  EXPECT_NE(right, wrong);  // page 0 was read instead
}

TEST(HipCalls, FewerBlocksChangeTheResult) {
  Sparse sparse(hip::TableArch::kGfx950);
  const std::vector<float> all = sparse.attend(0), own = sparse.attend(1);
  int changed = 0;
  for (size_t i = 0; i < all.size(); ++i) changed += std::fabs(all[i] - own[i]) > 0.02;
  EXPECT_GT(changed, 500);
  EXPECT_EQ(sparse.selected(), (std::vector<int32_t>{1, 2, 2, 2}));
}

}  // namespace
}  // namespace attnplan::hip_test
