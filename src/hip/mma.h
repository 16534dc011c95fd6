// Matrix instructions. Nothing else holds their intrinsics.
//
// Raw level: one struct per instruction with its shape, its registers and where each element lies
// (constexpr maps from lane and element), and `mma`. D = A B + C, A is M x K, B is K x N.
//
// Attention level (AttentionMma): what kernels see. A query tile is 16 rows, a key block 4 * kKeys
// keys. In MFMA scores are computed transposed (K is operand A), in mma.sync directly (Q is operand
// A); either way a lane holds the scores of the same query rows that it holds outputs of, and P
// goes from one product to the next in the lane's own registers. Which key is which row of a tile
// and which element which column is a label that loads choose: a lane owns kKeys consecutive keys,
// and 16-byte runs of elements.
#pragma once

#include "hip/arch.h"
#include "hip/wave.h"

namespace attnplan::hip {

struct Bf16 {
  static constexpr bool kBf16 = true;
};
struct Fp16 {
  static constexpr bool kBf16 = false;
};

struct Coordinate {
  int row;
  int column;
};

// v_mfma_f32_16x16x16: 4 elements a lane of A and B.
template <class E>
struct Mfma16x16x16 {
  using Element = E;
  static constexpr int kWave = 64, kM = 16, kN = 16, kK = 16, kAWords = 2, kBWords = 2, kDWords = 4;
  static constexpr Coordinate a(int l, int e) { return {l % 16, 4 * (l / 16) + e}; }
  static constexpr Coordinate b(int l, int e) { return {4 * (l / 16) + e, l % 16}; }
  static constexpr Coordinate d(int l, int e) { return {4 * (l / 16) + e, l % 16}; }
  ATTNPLAN_DEVICE static void mma(const uint32_t* a, const uint32_t* b, float* d ATTNPLAN_CALLER);
};

// v_mfma_f32_16x16x32 of gfx950: 8 elements a lane.
template <class E>
struct Mfma16x16x32 {
  using Element = E;
  static constexpr int kWave = 64, kM = 16, kN = 16, kK = 32, kAWords = 4, kBWords = 4, kDWords = 4;
  static constexpr Coordinate a(int l, int e) { return {l % 16, 8 * (l / 16) + e}; }
  static constexpr Coordinate b(int l, int e) { return {8 * (l / 16) + e, l % 16}; }
  static constexpr Coordinate d(int l, int e) { return {4 * (l / 16) + e, l % 16}; }
  ATTNPLAN_DEVICE static void mma(const uint32_t* a, const uint32_t* b, float* d ATTNPLAN_CALLER);
};

// mma.sync.m16n8k16.
template <class E>
struct MmaSync16x8x16 {
  using Element = E;
  static constexpr int kWave = 32, kM = 16, kN = 8, kK = 16, kAWords = 4, kBWords = 2, kDWords = 4;
  static constexpr Coordinate a(int l, int e) {
    return {l / 4 + 8 * ((e / 2) % 2), 2 * (l % 4) + e % 2 + 8 * (e / 4)};
  }
  static constexpr Coordinate b(int l, int e) { return {2 * (l % 4) + e % 2 + 8 * (e / 2), l / 4}; }
  static constexpr Coordinate d(int l, int e) { return {l / 4 + 8 * (e / 2), 2 * (l % 4) + e % 2}; }
  ATTNPLAN_DEVICE static void mma(const uint32_t* a, const uint32_t* b, float* d ATTNPLAN_CALLER);
};

}  // namespace attnplan::hip

#if defined(ATTNPLAN_HIP_EMULATED)
#include "simt/mma.h"
#elif defined(ATTNPLAN_HIP_NVIDIA)
#include "hip/mma_nvidia.h"
#else
#include "hip/mma_amd.h"
#endif

namespace attnplan::hip {

// The attention level. Register counts and accessors are per lane.
//   kRows       keys of one score tile: rows of K per matrix instruction
//   kQueries    query rows that a lane holds results of
//   kColumns    output columns of a tile that a lane holds, for each of its query rows
//   kKeys       consecutive keys of a block that a lane owns
//   kTiles      score tiles of a key block
template <class Arch, class E>
struct AttentionMma {
  static constexpr bool kMfma = Arch::kMatrix == Matrix::kMfma;
  static constexpr int kQueryTile = 16;
  static constexpr int kGroups = 4;
  static constexpr int kRows = kMfma ? 16 : 8;
  static constexpr int kQueries = kMfma ? 1 : 2;
  static constexpr int kColumns = kRows / kGroups;
  static constexpr int kKeys = kMfma ? 8 : 4;
  static constexpr int kBlockKeys = kGroups * kKeys;
  static constexpr int kTiles = kBlockKeys / kRows;
  static constexpr int kVWords = kKeys / 2;

  using Pack = Words<4>;           // P of one key block
  using VColumn = Words<kVWords>;  // the lane's keys of one column

  static constexpr int group(int lane) { return kMfma ? lane / 16 : lane % 4; }
  static constexpr int row(int lane) { return kMfma ? lane % 16 : lane / 4; }
  // The query row (of 16) that accumulator `e` of a score or output tile belongs to, and its number
  // among the lane's.
  static constexpr int query_slot(int e) { return kMfma ? 0 : e / 2; }
  static constexpr int query(int lane, int slot) { return row(lane) + 8 * slot; }
  // The key of the block whose vector the lane loads for score tile `tile`.
  static constexpr int k_row(int lane, int tile) {
    return kKeys * (row(lane) / kColumns) + kColumns * tile + row(lane) % kColumns;
  }
  // The key, among the lane's own, of accumulator `e` of score tile `tile`.
  static constexpr int key_slot(int tile, int e) { return kColumns * tile + e % kColumns; }
  // The column of an output tile that accumulator `e` holds.
  static constexpr int column(int lane, int e) { return kColumns * group(lane) + e % kColumns; }

  // scores += K chunk * Q chunk over 32 elements: each lane brings 8 of its key and of each of its
  // query rows.
  ATTNPLAN_DEVICE static void score(const Words<4>& k, const Words<4>* q,
                                    float* scores ATTNPLAN_CALLER) {
    if constexpr (kMfma && Arch::kMatrixK == 32) {
      Mfma16x16x32<E>::mma(k.w, q[0].w, scores ATTNPLAN_PASS_CALLER);
    } else if constexpr (kMfma) {
      Mfma16x16x16<E>::mma(k.w, q[0].w, scores ATTNPLAN_PASS_CALLER);
      Mfma16x16x16<E>::mma(k.w + 2, q[0].w + 2, scores ATTNPLAN_PASS_CALLER);
    } else {
      ATTNPLAN_UNROLL for (int s = 0; s < 4; s += 2) {
        const uint32_t a[4] = {q[0].w[s], q[1].w[s], q[0].w[s + 1], q[1].w[s + 1]};
        MmaSync16x8x16<E>::mma(a, k.w + s, scores ATTNPLAN_PASS_CALLER);
      }
    }
  }
  // P word `2 * tile + half` packs accumulators 2 * half and 2 * half + 1 of score tile `tile`.
  // output += P * V column tile.
  ATTNPLAN_DEVICE static void output(const Pack& p, const VColumn& v, float* out ATTNPLAN_CALLER) {
    if constexpr (kMfma && Arch::kMatrixK == 32) {
      Mfma16x16x32<E>::mma(v.w, p.w, out ATTNPLAN_PASS_CALLER);
    } else if constexpr (kMfma) {
      Mfma16x16x16<E>::mma(v.w, p.w, out ATTNPLAN_PASS_CALLER);
      Mfma16x16x16<E>::mma(v.w + 2, p.w + 2, out ATTNPLAN_PASS_CALLER);
    } else {
      MmaSync16x8x16<E>::mma(p.w, v.w, out ATTNPLAN_PASS_CALLER);
    }
  }
  // Over the lanes that hold the same query rows.
  template <class Op>
  ATTNPLAN_DEVICE static float reduce_keys(float value, Op op ATTNPLAN_CALLER) {
    constexpr int kFirst = kMfma ? 16 : 1;
    value = op(value, shuffle_xor<Arch>(value, kFirst ATTNPLAN_PASS_CALLER));
    return op(value, shuffle_xor<Arch>(value, 2 * kFirst ATTNPLAN_PASS_CALLER));
  }
};

}  // namespace attnplan::hip
