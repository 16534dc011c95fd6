// kv_write against a cache filled by definition: the addresses of src/cpu, a quantiser that looks
// at every code. The whole storage is compared, so nothing beside the rows may change.
#include "hip/kv_write.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "cpu/kv_layout.h"
#include "hip/fp8_definition.h"
#include "property/dice.h"
#include "simt/launch.h"

namespace attnplan::hip {
namespace {

constexpr int32_t kBlocks = 3;
constexpr int32_t kBlockTokens = 64;
constexpr int32_t kIndexHead = 128;
constexpr size_t kGuard = 256;  // bytes on either side
constexpr uint8_t kUntouched = 0xa5;

enum class Scales { kTensor, kTokenHead };

struct Case {
  attnplan_layout layout;
  uint32_t flags;
  int32_t page_size;
  int32_t heads;
  int32_t head_size;
  int32_t v_head_size;
  Cache cache;
  Scales scales;
  bool bf16;  // source

  bool packed() const { return (flags & ATTNPLAN_KV_PACKED) != 0; }
  bool shuffle() const { return (flags & ATTNPLAN_KV_SHUFFLE) != 0; }
  int bytes() const { return is_fp8(cache) ? 1 : 2; }
  std::string name() const {
    return "layout " + std::to_string(layout) + ", flags " + std::to_string(flags) + ", page " +
           std::to_string(page_size) + ", heads " + std::to_string(heads) + " of " +
           std::to_string(head_size) + "/" + std::to_string(v_head_size) + ", cache " +
           std::to_string(static_cast<int>(cache)) + ", scales " +
           std::to_string(static_cast<int>(scales)) + (bf16 ? ", bf16" : ", fp16");
  }
};

cpu::KvLayout layout_of(const Case& c) {
  attnplan_kv_cache cache = ATTNPLAN_KV_CACHE_INIT;
  cache.layout = c.layout;
  cache.flags = c.flags;
  cache.num_blocks = kBlocks;
  cache.block_size = kBlockTokens;
  cache.page_size = c.page_size;
  cache.cache_dtype = is_fp8(c.cache) ? ATTNPLAN_CACHE_FP8 : ATTNPLAN_CACHE_BF16;
  cpu::AttentionShape shape;
  shape.num_q_heads = shape.num_kv_heads = c.heads;
  shape.head_size = c.head_size;
  shape.v_head_size = c.v_head_size;
  return cpu::make_layout(cache, shape, kBlocks);
}

// Bytes between guards, as a kernel leaves them and as they should be. Begins at 16 bytes.
struct Storage {
  explicit Storage(size_t bytes)
      : actual(bytes + 2 * kGuard + 16, kUntouched), expected(bytes + 2 * kGuard, kUntouched) {}
  uint8_t* data() {
    const auto address = reinterpret_cast<uintptr_t>(actual.data());
    return actual.data() + (-address % 16) + kGuard;
  }
  void expect(int64_t offset, const void* value, size_t bytes) {
    std::memcpy(expected.data() + kGuard + offset, value, bytes);
  }
  bool matches() { return std::memcmp(data() - kGuard, expected.data(), expected.size()) == 0; }
  std::vector<uint8_t> actual, expected;
};

// Rows to be written: 16-bit numbers, some of them special.
std::vector<uint16_t> draw_rows(size_t count, bool bf16, property::Dice* dice) {
  std::vector<uint16_t> rows(count);
  for (uint16_t& value : rows) {
    const double exponent = static_cast<double>(dice->in(-12000, 9000)) / 1000;
    const auto number = static_cast<float>(std::exp2(exponent)) * (dice->percent(50) ? 1 : -1);
    value = static_cast<uint16_t>(bf16 ? pack_bf16(number, 0) : pack_fp16(number, 0));
    if (dice->percent(1)) value = static_cast<uint16_t>(dice->next());  // NaN, infinity, tiny
  }
  return rows;
}

float number_of(uint16_t bits, bool bf16) { return bf16 ? bf16_low(bits) : fp16_low(bits); }

struct Tensor {
  int32_t heads, head_size;
  std::vector<uint16_t> rows;
  Storage cache;
  Storage scales;
  float scale;
};

// What the definition writes for one head of one token.
void expect_head(const Case& c, Tensor* tensor, const uint16_t* row, int64_t scale_at,
                 const std::function<int64_t(int32_t)>& address) {
  if (!is_fp8(c.cache)) {
    for (int32_t e = 0; e < tensor->head_size; ++e)
      tensor->cache.expect(address(e) * 2, row + e, 2);
    return;
  }
  const Fp8Definition format(c.cache);
  float scale = tensor->scale;
  if (c.scales == Scales::kTokenHead) {
    float largest = 0;
    for (int32_t e = 0; e < tensor->head_size; ++e) {
      const float magnitude = std::fabs(number_of(row[e], c.bf16));
      if (magnitude > largest) largest = magnitude;
    }
    largest = std::min(largest, std::numeric_limits<float>::max());
    scale =
        std::max(largest / static_cast<float>(format.largest()), std::numeric_limits<float>::min());
    if (largest == 0) scale = 1;
    tensor->scales.expect(scale_at * 4, &scale, 4);
  }
  for (int32_t e = 0; e < tensor->head_size; ++e) {
    const uint8_t code = format.encode(number_of(row[e], c.bf16) / scale);
    tensor->cache.expect(address(e), &code, 1);
  }
}

CacheTensor strides_of(const cpu::TensorLayout& layout, int bytes) {
  const int64_t chunk = layout.element_split > 1 ? layout.element_stride * bytes : 16;
  return {nullptr,
          layout.block_stride * bytes,
          layout.page_stride * bytes,
          layout.head_stride * bytes,
          layout.token_stride * bytes,
          chunk};
}

struct WriteRun {
  WriteRun(const Case& c_, uint64_t seed) : c(c_), layout(layout_of(c_)), dice(seed) {}

  void go(const std::function<void(const KvWriteArgs&)>& kernel) {
    draw_slots();
    const int64_t pages = kBlocks * layout.block_page_stride;
    const auto tensor = [&](int32_t heads, int32_t size, int64_t elements, float scale) {
      return Tensor{heads,
                    size,
                    draw_rows(slots.size() * heads * size, c.bf16, &dice),
                    Storage(static_cast<size_t>(elements * c.bytes())),
                    Storage(static_cast<size_t>(pages * heads * c.page_size * 4)),
                    scale};
    };
    // Everything that belongs to a block lies inside of its stride; planes have one for each head.
    const int64_t planes = c.layout == ATTNPLAN_LAYOUT_LHBNC ? c.heads : 1;
    const int64_t k_elements = kBlocks * layout.k.block_stride * planes;
    const int64_t v_elements = kBlocks * layout.v.block_stride * planes;
    std::vector<Tensor> tensors;
    tensors.push_back(tensor(c.heads, c.head_size, k_elements, 0.25f));
    tensors.push_back(tensor(c.heads, c.v_head_size, v_elements, 1.7f));
    tensors.push_back(tensor(1, kIndexHead, kBlocks * kBlockTokens * kIndexHead, 1.0f));
    if (is_fp8(c.cache) && c.scales == Scales::kTokenHead) zero_a_head(&tensors[0]);
    expect(&tensors);
    kernel(args_of(&tensors));
    for (size_t i = 0; i < tensors.size(); ++i) {
      EXPECT_TRUE(tensors[i].cache.matches()) << "tensor " << i << ": " << c.name();
      EXPECT_TRUE(tensors[i].scales.matches()) << "scales " << i << ": " << c.name();
    }
  }

 private:
  // Distinct tokens in any order, and rows without a slot between them.
  void draw_slots() {
    std::vector<int64_t> tokens(kBlocks * kBlockTokens);
    std::iota(tokens.begin(), tokens.end(), 0);
    for (size_t i = tokens.size(); i > 1; --i) std::swap(tokens[i - 1], tokens[dice.next() % i]);
    tokens.resize(static_cast<size_t>(dice.in(1, 40)));
    for (const int64_t token : tokens) {
      if (dice.percent(15)) {
        logical.push_back(-1);
        slots.push_back(-dice.in(1, 100));
      }
      logical.push_back(token);
      slots.push_back(token / kBlockTokens * (c.packed() ? 2 : 1) * kBlockTokens +
                      token % kBlockTokens);
    }
  }

  void zero_a_head(Tensor* tensor) {
    std::fill_n(tensor->rows.begin(), tensor->head_size, uint16_t{0});
    tensor->rows[1] = 0x8000;
  }

  void expect(std::vector<Tensor>* tensors) {
    for (size_t row = 0; row < slots.size(); ++row) {
      if (logical[row] < 0) continue;
      const int64_t block = logical[row] / kBlockTokens, token = logical[row] % kBlockTokens;
      const int64_t page = layout.page_id(block, token / c.page_size);
      for (size_t i = 0; i < tensors->size(); ++i) {
        Tensor& tensor = (*tensors)[i];
        for (int32_t head = 0; head < tensor.heads; ++head) {
          const int64_t scale_at = (page * tensor.heads + head) * c.page_size + token % c.page_size;
          cpu::TensorLayout at = i == 0 ? layout.k : layout.v;
          at.base = 0;
          const int64_t begin = layout.row_address(at, page, head, token % c.page_size);
          expect_head(c, &tensor, &tensor.rows[(row * tensor.heads + head) * tensor.head_size],
                      scale_at, [&](int32_t e) {
                        return i == 2 ? logical[row] * kIndexHead + e
                                      : begin + at.element_offset(e);
                      });
        }
      }
    }
  }

  KvWriteArgs args_of(std::vector<Tensor>* tensors) {
    KvWriteArgs args = {};
    int32_t longest = 0;
    for (size_t i = 0; i < tensors->size(); ++i) {
      Tensor& from = (*tensors)[i];
      KvWriteTensor& to = args.tensors[i];
      to.rows = from.rows.data();
      to.row_stride = from.heads * from.head_size;
      to.head_stride = from.head_size;
      to.num_heads = from.heads;
      to.head_size = from.head_size;
      to.cache = from.cache.data();
      to.layout = strides_of(i == 0 ? layout.k : layout.v, c.bytes());
      if (i == 2) {
        const int64_t token = kIndexHead * c.bytes();
        to.layout = {nullptr, kBlockTokens * token, c.page_size * token, 0, token, 16};
      }
      to.pages_per_stride = static_cast<int32_t>(layout.block_page_stride);
      to.shuffled_values = i == 1 && c.shuffle();
      if (is_fp8(c.cache) && c.scales == Scales::kTokenHead) {
        to.scales = reinterpret_cast<float*>(from.scales.data());
      }
      const int64_t page = from.heads * c.page_size;
      to.scale_layout = {nullptr, layout.block_page_stride * page, page, c.page_size, 1};
      to.scale = from.scale;
      longest = std::max(longest, from.head_size);
    }
    args.slots = slots.data();
    args.num_rows = static_cast<int32_t>(slots.size());
    while (1 << args.page_shift < c.page_size) ++args.page_shift;
    args.source_is_bf16 = c.bf16;
    args.head_lanes = longest <= 64 ? 8 : longest <= 128 ? 16 : 32;
    return args;
  }

  const Case c;
  const cpu::KvLayout layout;
  property::Dice dice;
  std::vector<int64_t> logical;  // token of the cache, block by block; -1: none
  std::vector<int64_t> slots;
};

std::vector<Case> all_cases(Cache cache) {
  std::vector<Case> cases;
  const std::initializer_list<std::pair<attnplan_layout, uint32_t>> layouts = {
      {ATTNPLAN_LAYOUT_LBNHC, 0},
      {ATTNPLAN_LAYOUT_LBHNC, 0},
      {ATTNPLAN_LAYOUT_LBHNC, ATTNPLAN_KV_PACKED},
      {ATTNPLAN_LAYOUT_LHBNC, 0}};
  bool bf16 = false;
  for (const auto& [layout, packed] : layouts) {
    for (const uint32_t shuffle : {0u, ATTNPLAN_KV_SHUFFLE}) {
      for (const auto& [page, heads, k, v] :
           {std::tuple{16, 2, 64, 64}, {64, 1, 128, 128}, {32, 3, 192, 128}, {16, 1, 256, 256}}) {
        for (const Scales scales : {Scales::kTensor, Scales::kTokenHead}) {
          if (!is_fp8(cache) && scales != Scales::kTensor) continue;
          bf16 = is_fp8(cache) ? !bf16 : cache == Cache::kBf16;
          cases.push_back({layout, packed | shuffle, page, heads, k, v, cache, scales, bf16});
        }
      }
    }
  }
  return cases;
}

template <class Arch, Cache kCache>
void check() {
  uint64_t seed = 1;
  for (const Case& c : all_cases(kCache)) {
    WriteRun(c, ++seed).go([&](const KvWriteArgs& args) {
      simt::launch(simt::options_for<Arch>(seed), 1 + seed % 3, 128,
                   [&] { kv_write<Arch, kCache>(args); });
    });
    if (testing::Test::HasFailure()) return;
  }
}

template <class Arch>
class KvWrite : public testing::Test {};
using Architectures = testing::Types<Gfx90a, Gfx942, Gfx950, Sm90>;
TYPED_TEST_SUITE(KvWrite, Architectures);

TYPED_TEST(KvWrite, StoresTheSameBits) {
  check<TypeParam, Cache::kBf16>();
  check<TypeParam, Cache::kFp16>();
}
TYPED_TEST(KvWrite, QuantisesToE4m3fn) { check<TypeParam, Cache::kE4m3fn>(); }
TYPED_TEST(KvWrite, QuantisesToE4m3fnuz) { check<TypeParam, Cache::kE4m3fnuz>(); }
TYPED_TEST(KvWrite, QuantisesToE5m2) { check<TypeParam, Cache::kE5m2>(); }

TEST(KvWritePages, SlotsBeyondTheCacheAreReportedAndSkipped) {
  const Case c = {ATTNPLAN_LAYOUT_LBNHC, 0, 16, 1, 64, 64, Cache::kBf16, Scales::kTensor, true};
  for (const bool outside : {false, true}) {
    WriteRun(c, 3).go([&](KvWriteArgs args) {
      // The cache as it is, then one more row at its very end.
      int32_t bad_pages = 0;
      std::vector<int64_t> slots(args.slots, args.slots + args.num_rows);
      if (outside) slots.push_back(kBlocks * kBlockTokens);
      std::vector<std::vector<uint16_t>> rows;
      for (KvWriteTensor& tensor : args.tensors) {
        const int64_t size = args.num_rows * tensor.row_stride;
        rows.emplace_back(tensor.rows, tensor.rows + size);
        rows.back().resize(static_cast<size_t>(size + tensor.row_stride), 0x3f80);
      }
      for (int i = 0; i < 3; ++i) args.tensors[i].rows = rows[i].data();
      args.slots = slots.data();
      args.num_rows = static_cast<int32_t>(slots.size());
      args.bad_pages = &bad_pages;
      args.num_pages = kBlocks * kBlockTokens / 16;
      simt::launch(simt::options_for<Sm90>(1), 2, 64, [&] { kv_write<Sm90, Cache::kBf16>(args); });
      EXPECT_EQ(bad_pages, outside ? 1 : 0);
    });
  }
}

}  // namespace
}  // namespace attnplan::hip
