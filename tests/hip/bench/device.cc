// The bench's own kernels: random inputs, and a read of more memory than the L2 holds.
#include "device.h"

#include "hip/kernel_stub.h"
#include "hip/wave.h"

namespace attnplan::hip::bench {
namespace {

static ATTNPLAN_LAUNCH_BOUNDS(kThreads, 1) ATTNPLAN_GLOBAL void fill_kernel(FillArgs args) {
  const int64_t stride = int64_t{grid_blocks()} * block_threads();
  int64_t i = int64_t{block_index()} * block_threads() + thread_index();
  for (; i < args.count; i += stride) {
    args.words[i] = word_at(static_cast<uint64_t>(i), args.seed, args.fill);
  }
}

static ATTNPLAN_LAUNCH_BOUNDS(kThreads, 1) ATTNPLAN_GLOBAL void flush_kernel(FlushArgs args) {
  const int64_t stride = int64_t{grid_blocks()} * block_threads() * 4;
  int64_t i = (int64_t{block_index()} * block_threads() + thread_index()) * 4;
  uint32_t sum = 0;
  for (; i < args.count; i += stride) {
    const Words<4> words = load_words<4>(args.words + i);
    sum += words.w[0] ^ words.w[1] ^ words.w[2] ^ words.w[3];
  }
  if (sum == 0x12345678u) *args.sink = sum;  // so that the loads stay
}

}  // namespace

Kernel fill_entry() { return reinterpret_cast<Kernel>(&fill_kernel); }
Kernel flush_entry() { return reinterpret_cast<Kernel>(&flush_kernel); }

}  // namespace attnplan::hip::bench
