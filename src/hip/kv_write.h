// kv_write: new rows of K, V and the index K into a paged cache by slot, as they are or as fp8.
// One head of one token is the work of a group of lanes, 16 bytes of the source each.
#pragma once

#include "hip/convert.h"
#include "hip/kv_write_args.h"
#include "hip/page_cursor.h"

namespace attnplan::hip {

template <class Arch, Cache kCache>
class KvWriter {
 public:
  static constexpr bool kFp8 = is_fp8(kCache);
  static constexpr int kBytes = kFp8 ? 1 : 2;  // of a cache element
  static constexpr int kElements = 8;          // of a lane

  ATTNPLAN_DEVICE explicit KvWriter(const KvWriteArgs& args)
      : args_(args),
        member_(lane_index<Arch>() % args.head_lanes),
        group_(lane_index<Arch>() / args.head_lanes),
        groups_(Arch::kWave / args.head_lanes) {}

  ATTNPLAN_DEVICE void run() {
    const int waves = block_threads() / Arch::kWave;
    int32_t turn = block_index() * waves + wave_index<Arch>();
    ATTNPLAN_UNROLL for (int i = 0; i < 3; ++i) {
      const KvWriteTensor& tensor = args_.tensors[i];
      const int32_t units = args_.num_rows * tensor.num_heads;
      const int32_t turns = units / groups_ + (units % groups_ != 0 ? 1 : 0);
      for (; turn < turns; turn += grid_blocks() * waves) {
        write(tensor, static_cast<uint32_t>(turn) * groups_ + group_, units);
      }
      turn -= turns;  // goes on with the next tensor where this one ended
    }
  }

 private:
  // Unit: one head of one row. All lanes of the wave get here; those of units at or behind
  // `units` have nothing to write.
  ATTNPLAN_DEVICE void write(const KvWriteTensor& tensor, uint32_t unit, int32_t units) {
    const bool exists = unit < static_cast<uint32_t>(units);
    const auto row = static_cast<int32_t>(unit / static_cast<uint32_t>(tensor.num_heads));
    const int32_t head = static_cast<int32_t>(unit) - row * tensor.num_heads;
    const int64_t slot = exists ? args_.slots[row] : -1;
    const int64_t page = slot >> args_.page_shift;
    const auto token = static_cast<int32_t>(slot & ((int64_t{1} << args_.page_shift) - 1));
    const bool live = slot >= 0 && is_page(page);
    const int element = kElements * member_;
    const bool writes = live && element < tensor.head_size;

    Words<4> words = {{0, 0, 0, 0}};
    if (writes) {
      words = load_words_stream<4>(tensor.rows + row * tensor.row_stride +
                                   head * tensor.head_stride + element);
    }
    const auto id = static_cast<int32_t>(page);
    uint8_t* to = tensor.cache + head * tensor.layout.head_stride;
    if (live) {
      to += page_offset(tensor.layout.block_stride, tensor.layout.page_stride,
                        tensor.pages_per_stride, id);
    }
    if constexpr (kFp8) {
      float values[kElements];
      unpack(words, values);
      float scale = tensor.scale;
      if (tensor.scales != nullptr) {
        scale = scale_of(values);
        if (live && member_ == 0) {
          tensor.scales[page_offset(tensor.scale_layout.block_stride,
                                    tensor.scale_layout.page_stride, tensor.pages_per_stride, id) +
                        head * tensor.scale_layout.head_stride +
                        token * tensor.scale_layout.token_stride] = scale;
        }
      }
      if (writes) store(tensor, to, token, quantised(values, scale));
    } else {
      if (writes) store(tensor, to, token, words);
    }
  }

  ATTNPLAN_DEVICE bool is_page(int64_t page) const {
    if (args_.bad_pages == nullptr || page < args_.num_pages) return true;
    *args_.bad_pages = 1;
    return false;
  }

  // The lane's elements of one token, in the cache's type.
  template <int N>
  ATTNPLAN_DEVICE void store(const KvWriteTensor& tensor, uint8_t* to, int32_t token,
                             const Words<N>& words) {
    if (tensor.shuffled_values == 0) {
      const int byte = kElements * kBytes * member_;
      to += token * tensor.layout.token_stride + byte / 16 * tensor.layout.chunk_stride + byte % 16;
      store_words<N>(to, words);
      return;
    }
    constexpr int kTokens = 16 / kBytes;  // of one run of 16 bytes
    to += token / kTokens * tensor.layout.token_stride + token % kTokens * kBytes +
          kElements * member_ * 16;
    ATTNPLAN_UNROLL for (int i = 0; i < kElements; ++i) {
      const uint32_t element = words.w[i * kBytes / 4] >> (i * kBytes % 4 * 8);
      if constexpr (kFp8) {
        to[i * 16] = static_cast<uint8_t>(element);
      } else {
        *reinterpret_cast<uint16_t*>(to + i * 16) = static_cast<uint16_t>(element);
      }
    }
  }

  ATTNPLAN_DEVICE void unpack(const Words<4>& words, float (&values)[kElements]) const {
    ATTNPLAN_UNROLL for (int w = 0; w < 4; ++w) {
      const uint32_t pair = words.w[w];
      values[2 * w] = args_.source_is_bf16 != 0 ? bf16_low(pair) : fp16_low(pair);
      values[2 * w + 1] = args_.source_is_bf16 != 0 ? bf16_high(pair) : fp16_high(pair);
    }
  }

  // Of the group's head.
  ATTNPLAN_DEVICE float scale_of(const float (&values)[kElements]) const {
    float largest = 0;
    ATTNPLAN_UNROLL for (int i = 0; i < kElements; ++i) {
      largest = maximum(largest, float_of(bits_of(values[i]) & 0x7fffffffu));
    }
    for (int mask = 1; mask < args_.head_lanes; mask *= 2) {
      largest = maximum(largest, shuffle_xor<Arch>(largest, mask));
    }
    constexpr float kLargestFloat = 3.402823466e38f, kLeastScale = 1.175494351e-38f;
    if (largest == 0) return 1;
    if (largest > kLargestFloat) largest = kLargestFloat;
    return maximum(largest / Fp8Format<kCache>::kMax, kLeastScale);
  }

  ATTNPLAN_DEVICE static Words<2> quantised(const float (&values)[kElements], float scale) {
    Words<2> words;
    ATTNPLAN_UNROLL for (int w = 0; w < 2; ++w) {
      words.w[w] = pack_fp8<Arch, kCache>(values[4 * w] / scale, values[4 * w + 1] / scale) |
                   pack_fp8<Arch, kCache>(values[4 * w + 2] / scale, values[4 * w + 3] / scale)
                       << 16;
    }
    return words;
  }

  const KvWriteArgs& args_;
  const int member_;  // of its group
  const int group_;   // of the wave's
  const int groups_;
};

template <class Arch, Cache kCache>
ATTNPLAN_DEVICE void kv_write(const KvWriteArgs& args) {
  KvWriter<Arch, kCache>(args).run();
}

#if !defined(ATTNPLAN_HIP_EMULATED)
template <Cache kCache>
ATTNPLAN_LAUNCH_BOUNDS(kKvWriteThreads, 1)
ATTNPLAN_GLOBAL void kv_write_kernel(KvWriteArgs args) {
  kv_write<DeviceArch, kCache>(kernel_args(args));
}
#endif

}  // namespace attnplan::hip
