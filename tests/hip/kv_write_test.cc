// kv_write against caches filled by definition. The whole storage is compared, so nothing beside
// the rows may change.
#include "hip/kv_write.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "hip/kv_write_case.h"
#include "simt/launch.h"

namespace attnplan::hip_test {
namespace {

using hip::Cache;
using hip::CacheTensor;
using hip::KvWriteArgs;
using hip::KvWriteTensor;

constexpr size_t kGuard = 256;  // bytes on either side

// What a kernel leaves of an image. Begins at 16 bytes.
class Storage {
 public:
  explicit Storage(const std::vector<uint8_t>& expected)
      : memory_(expected.size() + 2 * kGuard + 16, kUntouched), bytes_(expected.size()) {}
  uint8_t* data() {
    const auto address = reinterpret_cast<uintptr_t>(memory_.data());
    return memory_.data() + (-address % 16) + kGuard;
  }
  std::vector<uint8_t> image() { return {data(), data() + bytes_}; }
  bool guards_intact() {
    const auto untouched = [](uint8_t byte) { return byte == kUntouched; };
    return std::all_of(data() - kGuard, data(), untouched) &&
           std::all_of(data() + bytes_, data() + bytes_ + kGuard, untouched);
  }

 private:
  std::vector<uint8_t> memory_;
  size_t bytes_;
};

CacheTensor strides_of(const cpu::TensorLayout& layout, int bytes) {
  const int64_t chunk = layout.element_split > 1 ? layout.element_stride * bytes : 16;
  return {nullptr,
          layout.block_stride * bytes,
          layout.page_stride * bytes,
          layout.head_stride * bytes,
          layout.token_stride * bytes,
          chunk};
}

class WriteRun {
 public:
  explicit WriteRun(const KvWriteCase& c)
      : data_(c),
        cache_(data_.cache),
        scales_{Storage(data_.scales[0]), Storage(data_.scales[1])},
        index_(data_.index) {}

  void go(const std::function<void(const KvWriteArgs&)>& kernel) {
    kernel(args());
    EXPECT_EQ(first_difference("the cache", cache_.image(), data_.cache), "");
    EXPECT_EQ(first_difference("K's scales", scales_[0].image(), data_.scales[0]), "");
    EXPECT_EQ(first_difference("V's scales", scales_[1].image(), data_.scales[1]), "");
    EXPECT_EQ(first_difference("the index", index_.image(), data_.index), "");
    for (Storage* storage : {&cache_, &scales_[0], &scales_[1], &index_}) {
      EXPECT_TRUE(storage->guards_intact());
    }
    if (testing::Test::HasFailure()) ADD_FAILURE() << words(data_.c);
  }

 private:
  KvWriteArgs args() {
    const KvWriteCase& c = data_.c;
    const int bytes = bytes_of(c.cache);
    KvWriteArgs args = {};
    int32_t longest = 0;
    for (int i = 0; i < 3; ++i) {
      const KvWriteRows& from = data_.rows[i];
      KvWriteTensor& to = args.tensors[i];
      to.rows = from.codes.data();
      to.row_stride = from.row_stride;
      to.head_stride = from.head_stride;
      to.num_heads = from.heads;
      to.head_size = from.head_size;
      to.scale = from.scale;
      to.pages_per_stride = static_cast<int32_t>(data_.layout.block_page_stride);
      longest = std::max(longest, from.head_size);
      if (i == 2) {
        const int64_t token = kIndexHead * bytes;
        to.cache = index_.data();
        to.layout = {nullptr, c.block_size * token, c.page_size * token, 0, token, 16};
        continue;
      }
      const cpu::TensorLayout& layout = i == 0 ? data_.layout.k : data_.layout.v;
      to.cache = cache_.data() + layout.base * bytes;
      to.layout = strides_of(layout, bytes);
      to.shuffled_values = i == 1 && c.shuffle;
      if (c.token_scales()) to.scales = reinterpret_cast<float*>(scales_[i].data());
      const KvScaleStrides& s = data_.scale_strides;
      to.scale_layout = {nullptr, data_.layout.block_page_stride * s.page, s.page, s.head, s.token};
    }
    args.slots = data_.slots.data();
    args.num_rows = static_cast<int32_t>(data_.slots.size());
    while (1 << args.page_shift < c.page_size) ++args.page_shift;
    args.source_is_bf16 = c.source == Format::kBf16;
    args.head_lanes = longest <= 64 ? 8 : longest <= 128 ? 16 : 32;
    return args;
  }

  const KvWriteData data_;
  Storage cache_, scales_[2], index_;
};

template <class Arch, Cache kCache>
void check(Format cache) {
  uint64_t seed = 0;
  for (const KvWriteCase& c : kv_write_cases(cache, 1)) {
    ++seed;
    WriteRun(c).go([seed](const KvWriteArgs& args) {
      simt::launch(simt::options_for<Arch>(seed), 1 + seed % 3, 128,
                   [&] { hip::kv_write<Arch, kCache>(args); });
    });
    if (testing::Test::HasFailure()) return;
  }
}

template <class Arch>
class KvWrite : public testing::Test {};
using Architectures = testing::Types<hip::Gfx90a, hip::Gfx942, hip::Gfx950, hip::Sm90>;
TYPED_TEST_SUITE(KvWrite, Architectures);

TYPED_TEST(KvWrite, StoresTheSameBits) {
  check<TypeParam, Cache::kBf16>(Format::kBf16);
  check<TypeParam, Cache::kFp16>(Format::kFp16);
}
TYPED_TEST(KvWrite, QuantisesToE4m3fn) { check<TypeParam, Cache::kE4m3fn>(Format::kE4m3fn); }
TYPED_TEST(KvWrite, QuantisesToE4m3fnuz) { check<TypeParam, Cache::kE4m3fnuz>(Format::kE4m3fnuz); }
TYPED_TEST(KvWrite, QuantisesToE5m2) { check<TypeParam, Cache::kE5m2>(Format::kE5m2); }

TEST(KvWritePages, SlotsBeyondTheCacheAreReportedAndSkipped) {
  const KvWriteCase c = kv_write_cases(Format::kBf16, 1).front();
  for (const bool outside : {false, true}) {
    WriteRun(c).go([&](KvWriteArgs args) {
      // The cache as it is, then one more row at its very end.
      int32_t bad_pages = 0;
      std::vector<int64_t> slots(args.slots, args.slots + args.num_rows);
      if (outside) slots.push_back(int64_t{c.num_blocks} * c.block_size);
      std::vector<std::vector<uint16_t>> rows;
      for (KvWriteTensor& tensor : args.tensors) {
        const int64_t size = args.num_rows * tensor.row_stride;
        rows.emplace_back(tensor.rows, tensor.rows + size);
        rows.back().resize(static_cast<size_t>(size + tensor.row_stride), 0x3f80);
      }
      for (size_t i = 0; i < 3; ++i) args.tensors[i].rows = rows[i].data();
      args.slots = slots.data();
      args.num_rows = static_cast<int32_t>(slots.size());
      args.bad_pages = &bad_pages;
      args.num_pages = c.num_blocks * c.block_size / c.page_size;
      simt::launch(simt::options_for<hip::Sm90>(1), 2, 64,
                   [&] { hip::kv_write<hip::Sm90, Cache::kBf16>(args); });
      EXPECT_EQ(bad_pages, outside ? 1 : 0);
    });
  }
}

}  // namespace
}  // namespace attnplan::hip_test
