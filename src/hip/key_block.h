// Keys and values of one step of the attention loop, in the registers of a wave, in the layout that
// the matrix instructions want: loaded from the cache once, 16 bytes at a time, with nothing in
// between.
#pragma once

#include "hip/convert.h"
#include "hip/mma.h"
#include "hip/page_cursor.h"
#include "hip/registers.h"

namespace attnplan::hip {

// Sizes that a kernel instance fixes, and how a step is cut into loads.
template <class Arch_, Cache kCache_, int kHeadK_, int kHeadV_, bool kShuffle_, int kTiles_>
struct AttentionTraits {
  using Arch = Arch_;
  using Element = std::conditional_t<kCache_ == Cache::kBf16, Bf16, Fp16>;  // of both products
  using Mma = AttentionMma<Arch, Element>;

  static constexpr Cache kCache = kCache_;
  static constexpr int kHeadK = kHeadK_;
  static constexpr int kHeadV = kHeadV_;
  static constexpr bool kShuffle = kShuffle_;
  static constexpr int kQueryTiles = kTiles_;  // of a wave
  static constexpr bool kFp8 = is_fp8(kCache);
  static constexpr int kBytes = kFp8 ? 1 : 2;  // of a cache element

  // Key blocks of a step: as many as keep enough bytes in flight without spilling.
  static constexpr int kBlocks = Arch::kWave == 64 || kHeadK * kBytes > 128 ? 1 : 2;
  static constexpr int kBlockKeys = Mma::kBlockKeys;
  static constexpr int kStepKeys = kBlocks * kBlockKeys;
  static constexpr int kPages = kStepKeys / 16 > 0 ? kStepKeys / 16 : 1;  // pages are 16 at least

  // Every lane loads 16 bytes of each of its keys; the four lane groups cover 64.
  static constexpr int kKLoads = kHeadK * kBytes / 64;
  static constexpr int kChunks = kHeadK / 32;  // of a score product
  static constexpr int kVTiles = kHeadV / Mma::kRows;
  // Plain pages: a lane loads kVRun consecutive elements of each of its keys, kVRuns times.
  static constexpr int kVRun =
      kHeadV / Mma::kRows < 16 / kBytes ? kHeadV / Mma::kRows : 16 / kBytes;
  static constexpr int kVRuns = kVTiles / kVRun;
  // Shuffled pages: a lane loads all of its keys of one element, for each tile.
  static constexpr int kVLoads = kShuffle ? kVTiles : Mma::kKeys * kVRuns;
  static constexpr int kVWords = (kShuffle ? Mma::kKeys : kVRun) * kBytes / 4;

  // Where registers do not hold queries and outputs, queries wait in shared memory.
  static constexpr bool kSharedQuery = Arch::kVectorRegisters < 512 && kHeadK + kHeadV > 256;

  // First element of chunk `chunk` of the score product that a lane group brings.
  static constexpr int k_element(int group, int chunk) {
    return kFp8 ? 64 * (chunk / 2) + 16 * group + 8 * (chunk % 2) : 32 * chunk + 8 * group;
  }
  // Element of the head that column `column` of output tile `tile` is.
  static constexpr int v_element(int tile, int column) {
    return kShuffle ? Mma::kRows * tile + column
                    : (tile / kVRun) * Mma::kRows * kVRun + kVRun * column + tile % kVRun;
  }
};

// Waves a SIMD that an AMD kernel with one query tile gets along with, without scratch memory.
constexpr int attention_waves(Cache cache, int head_k) {
  if (head_k > 192) return 2;
  if (head_k > 64) return is_fp8(cache) && head_k == 128 ? 4 : 3;
  return 5;
}

// Where the pages of a step begin, for both tensors.
template <class T>
struct StepPages {
  int32_t id[T::kPages];

  ATTNPLAN_DEVICE void load(const PageCursor& cursor, int32_t begin) {
    ATTNPLAN_UNROLL for (int i = 0; i < T::kPages; ++i) id[i] = cursor.id(begin + 16 * i);
  }
  // Offset of the page that holds key `key` (a multiple of 8 or 4, the lane's own) of the step.
  ATTNPLAN_DEVICE int64_t offset(const CacheTensor& tensor, int32_t pages_per_stride,
                                 int key) const {
    int64_t found = page_offset(tensor.block_stride, tensor.page_stride, pages_per_stride, id[0]);
    ATTNPLAN_UNROLL for (int i = 1; i < T::kPages; ++i) {
      const int64_t other =
          page_offset(tensor.block_stride, tensor.page_stride, pages_per_stride, id[i]);
      found = key >= 16 * i ? other : found;
    }
    return found;
  }
};

template <class T>
struct KeyRegisters {
  using Mma = typename T::Mma;
  Words<4> words[T::kBlocks][Mma::kTiles][T::kKLoads];

  // `base` is the head's first byte; `begin` the step's first key.
  ATTNPLAN_DEVICE void load(const CacheTensor& tensor, int32_t pages_per_stride,
                            const uint8_t* base, const PageCursor& cursor,
                            const StepPages<T>& pages, int32_t begin, int lane) {
    const int row = Mma::row(lane), group = Mma::group(lane);
    const int run = Mma::kKeys * (row / Mma::kColumns);  // whose keys the lane loads
    const int64_t chunk_stride = T::kShuffle ? tensor.chunk_stride : 16;
    ATTNPLAN_UNROLL for (int u = 0; u < T::kBlocks; ++u) {
      const int key = u * T::kBlockKeys + run;
      const uint8_t* address =
          base + pages.offset(tensor, pages_per_stride, key) +
          (cursor.token(begin + key) + row % Mma::kColumns) * tensor.token_stride +
          group * chunk_stride;
      const int64_t tile_stride = Mma::kColumns * tensor.token_stride;
      ATTNPLAN_UNROLL for (int t = 0; t < Mma::kTiles; ++t) {
        ATTNPLAN_UNROLL for (int j = 0; j < T::kKLoads; ++j) {
          words[u][t][j] = load_words_stream<4>(address + t * tile_stride + 4 * j * chunk_stride);
        }
      }
    }
  }
  // Chunk `chunk` of the score product: 8 elements of the lane's key in the product's element.
  ATTNPLAN_DEVICE Words<4> chunk(int u, int t, int chunk) const {
    if constexpr (!T::kFp8) {
      return words[u][t][chunk];
    } else {
      Words<4> converted;
      ATTNPLAN_UNROLL for (int i = 0; i < 4; ++i) {
        converted.w[i] = fp8_pair_to_fp16<typename T::Arch, T::kCache>(
            words[u][t][chunk / 2].w[chunk % 2 * 2 + i / 2], i % 2);
      }
      return converted;
    }
  }
};

template <class T>
struct ValueRegisters {
  using Mma = typename T::Mma;
  Words<T::kVWords> words[T::kBlocks][T::kVLoads];

  ATTNPLAN_DEVICE void load(const CacheTensor& tensor, int32_t pages_per_stride,
                            const uint8_t* base, const PageCursor& cursor,
                            const StepPages<T>& pages, int32_t begin, int lane) {
    const int row = Mma::row(lane);
    ATTNPLAN_UNROLL for (int u = 0; u < T::kBlocks; ++u) {
      const int key = u * T::kBlockKeys + Mma::kKeys * Mma::group(lane);
      const uint8_t* address = base + pages.offset(tensor, pages_per_stride, key);
      const int token = cursor.token(begin + key);
      if constexpr (T::kShuffle) {
        constexpr int kX = 16 / T::kBytes;
        address += token / kX * tensor.token_stride + token % kX * T::kBytes + row * 16;
        ATTNPLAN_UNROLL for (int m = 0; m < T::kVTiles; ++m) {
          words[u][m] = load_words_stream<T::kVWords>(address + m * Mma::kRows * 16);
        }
      } else {
        address += token * tensor.token_stride + row * (T::kVRun * T::kBytes);
        ATTNPLAN_UNROLL for (int i = 0; i < Mma::kKeys; ++i) {
          ATTNPLAN_UNROLL for (int h = 0; h < T::kVRuns; ++h) {
            words[u][i * T::kVRuns + h] =
                load_words_stream<T::kVWords>(address + h * (Mma::kRows * T::kVRun * T::kBytes));
          }
          address += tensor.token_stride;
        }
      }
    }
  }
  // Zeroes what lies at or behind key `end` of the step, so that P = 0 never meets a NaN there.
  // Without branches: one that lanes disagree about would cost the loop its simple shape (AMD).
  ATTNPLAN_DEVICE void clear_from(int end, int lane) {
    ATTNPLAN_UNROLL for (int u = 0; u < T::kBlocks; ++u) {
      const int live = end - u * T::kBlockKeys - Mma::kKeys * Mma::group(lane);
      ATTNPLAN_UNROLL for (int i = 0; i < Mma::kKeys; ++i) {
        if constexpr (T::kShuffle) {
          constexpr int kPerWord = 4 / T::kBytes;
          constexpr uint32_t kElement = T::kFp8 ? 0xffu : 0xffffu;
          const uint32_t kept = i < live ? ~0u : ~(kElement << (i % kPerWord * 8 * T::kBytes));
          ATTNPLAN_UNROLL for (int m = 0; m < T::kVTiles; ++m) {
            words[u][m].w[i / kPerWord] &= kept;
          }
        } else {
          ATTNPLAN_UNROLL for (int h = 0; h < T::kVRuns; ++h) {
            ATTNPLAN_UNROLL for (int w = 0; w < T::kVWords; ++w) {
              uint32_t& word = words[u][i * T::kVRuns + h].w[w];
              word = i < live ? word : 0;
            }
          }
        }
      }
    }
  }
  // The lane's keys of its column of output tile `tile`.
  ATTNPLAN_DEVICE typename Mma::VColumn column(int u, int tile) const {
    typename Mma::VColumn column;
    ATTNPLAN_UNROLL for (int w = 0; w < Mma::kVWords; ++w) {  // keys 2 w and 2 w + 1
      if constexpr (T::kShuffle && T::kFp8) {
        column.w[w] = fp8_pair_to_fp16<typename T::Arch, T::kCache>(words[u][tile].w[w / 2], w % 2);
      } else if constexpr (T::kShuffle) {
        column.w[w] = words[u][tile].w[w];
      } else {
        const int element = tile % T::kVRun, h = tile / T::kVRun;
        const Words<T::kVWords>& even = words[u][2 * w * T::kVRuns + h];
        const Words<T::kVWords>& odd = words[u][(2 * w + 1) * T::kVRuns + h];
        if constexpr (T::kFp8) {
          // Both keys of two elements, then the pair that is wanted.
          const uint32_t two = select_bytes(even.w[element / 4], odd.w[element / 4],
                                            element % 4 < 2 ? 0x5140 : 0x7362);
          column.w[w] = fp8_pair_to_fp16<typename T::Arch, T::kCache>(two, element % 2);
        } else {
          column.w[w] = select_bytes(even.w[element / 2], odd.w[element / 2],
                                     element % 2 == 0 ? 0x5410 : 0x7632);
        }
      }
    }
    return column;
  }
};

}  // namespace attnplan::hip
