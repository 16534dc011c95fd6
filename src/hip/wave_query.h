// Where the queries of a wave wait between the steps.
#pragma once

#include "hip/key_block.h"

namespace attnplan::hip {

// Vectors of 16 bytes that a block shares: its queries while it attends, then outputs of half of
// the waves at a time.
template <class T>
constexpr int vector_memory_size() {
  constexpr int kQuery = T::kSharedQuery ? kAttentionWaves * T::kQueryTiles * T::kChunks *
                                               T::Mma::kQueries * T::Arch::kWave
                                         : 0;
  constexpr int kOut = kAttentionWaves / 2 * T::kQueryTiles * T::kVTiles * T::Arch::kWave;
  return kQuery > kOut ? kQuery : kOut;
}
template <class T>
using VectorMemory = SharedArray<Words<4>, vector_memory_size<T>()>;

// The wave's queries, in operand layout: in registers, or at the lane's own places in shared
// memory.
template <class T, bool kShared = T::kSharedQuery>
struct WaveQuery {
  Words<4> words[T::kQueryTiles][T::kChunks][T::Mma::kQueries];

  template <class Memory>
  ATTNPLAN_DEVICE void bind(Memory&, int, int) {}
  ATTNPLAN_DEVICE void store(int i, int c, int s, Words<4> value) {
    keep_in_registers(value);
    words[i][c][s] = value;
  }
  ATTNPLAN_DEVICE void load(int i, int c, Words<4> (&to)[T::Mma::kQueries]) const {
    ATTNPLAN_UNROLL for (int s = 0; s < T::Mma::kQueries; ++s) to[s] = words[i][c][s];
  }
};

template <class T>
struct WaveQuery<T, true> {
  // Of a wave, in vectors of shared memory.
  static constexpr int kShare = T::kQueryTiles * T::kChunks * T::Mma::kQueries * T::Arch::kWave;
  VectorMemory<T>* memory;
  int first;

  ATTNPLAN_DEVICE void bind(VectorMemory<T>& shared, int wave, int lane) {
    memory = &shared;
    first = wave * kShare + lane;
  }
  ATTNPLAN_DEVICE int at(int i, int c, int s) const {
    return first + ((i * T::kChunks + c) * T::Mma::kQueries + s) * T::Arch::kWave;
  }
  ATTNPLAN_DEVICE void store(int i, int c, int s, Words<4> value) {
    memory->store(at(i, c, s), value);
  }
  ATTNPLAN_DEVICE void load(int i, int c, Words<4> (&to)[T::Mma::kQueries]) const {
    ATTNPLAN_UNROLL for (int s = 0; s < T::Mma::kQueries; ++s) {
      to[s] = memory->load(at(i, c, s));
    }
  }
};

}  // namespace attnplan::hip
