// What plan_refresh and draft_advance are handed: device addresses, which stay the same when a
// captured graph is replayed, and the figures of the planner's configuration that formulas need.
// Plain data, passed by value. Zero means absent, here as in the C structs.
#pragma once

#include <cstdint>

namespace attnplan::hip {

// Where the blocks of a request are named.
enum class TableKind : int32_t {
  kNone = 0,
  kBlocks = 1,  // ids[row * stride + block of the request]
  kCsr = 2,     // ids[indptr[request] + block of the request]
  kTokens = 3   // ids[row * stride + position]: the slot of every token
};

enum RefreshFlag : uint32_t {
  kRefreshRowsInt64 = 1,      // table_rows has 64-bit entries
  kRefreshSlotsInt64 = 2,     // slot_mapping likewise
  kRefreshMayCut = 4,         // a draft step: lengths beyond the limit are cut, as the planner does
  kRefreshFullWidthPads = 8,  // the graph's kernel wants pads of full width
  kRefreshPacked = 16,        // slots of a packed cache
  kRefreshCausal = 32
};

// What was wrong with the lengths on the device. Each was clamped; nothing is written outside.
enum RefreshStatus : uint32_t {
  kRefreshBadStarts = 1,  // query_start_loc does not ascend from 0
  kRefreshRowCount = 2,   // its rows are not those of the plan
  kRefreshBadSeqLen = 4,  // below 0, or below the rows of its request under a causal mask
  kRefreshTooLong = 8,    // beyond table or model, and not a draft step
  kRefreshCapacity = 16,  // page or local lists are longer than their sections
  kRefreshChunks = 32,    // a context passes the chunks that the host cut
  kRefreshOtherPlan = 64  // not a plan of num_reqs requests: nothing was written
};

struct RefreshArgs {
  void* plan;                      // the blob
  const int32_t* query_start_loc;  // [n + 1] rows, requests in the order of the step
  const int32_t* seq_lens;         // [n] tokens, this step's rows included
  const int32_t* ids;              // of TableKind
  const int32_t* indptr;           // [n + 1], for kCsr
  const void* table_rows;    // [n] the request's row of kBlocks or kTokens; NULL: its own number
  const void* slot_mapping;  // [rows] token slots in the order of the step; NULL: by table
  uint32_t* status;          // RefreshStatus bits, written by every launch; NULL: not wanted
  int64_t stride;            // ids between two rows
  uint64_t sections;         // bits of section ids to write; 0: all that the plan has
  TableKind table;
  int32_t columns;     // ids in a row of kBlocks, tokens in one of kTokens
  int32_t num_reqs;    // that the tensors are for; 0: those of the plan
  uint32_t flags;      // RefreshFlag
  int32_t block_size;  // tokens; 0: no cache
  int32_t page_size;   // tokens, of the planner's view
  int32_t pages_per_block;
  int32_t block_page_stride;
  int32_t max_model_len;   // tokens; 0: no limit
  int32_t sliding_window;  // tokens; 0: none
  int32_t local_chunk;     // tokens; 0: none
  int32_t context_world;   // context parallel; 0: one rank
  int32_t context_rank;
  int32_t context_interleave;  // tokens
  int32_t group;               // query heads per KV head
  int32_t query_tile;  // packed rows of a tile of the segment whose rows the device splits, and
  int32_t kv_tile;     // tokens; 0: as WORK has them, which it does where all kernels agree
};

// Draft steps 2 to k: every live request is one token longer.
struct AdvanceArgs {
  const int32_t* query_start_loc;  // [n + 1], pads stay as they are; NULL: all are live
  int32_t* seq_lens;               // [n]
  int32_t num_reqs;
  int32_t max_model_len;  // 0: no limit
};

// Threads of a block of either kernel; in emulation any multiple of the wave up to this.
inline constexpr int kRefreshMaxThreads = 512;

// Blocks for a plan whose page list and page table have room for so many pages. Any number is
// right: every block reads all lengths, and pages and rows are dealt out.
constexpr int refresh_blocks(int64_t pages) {
  const int64_t blocks = pages / (8 * kRefreshMaxThreads) + 1;
  return blocks < 128 ? static_cast<int>(blocks) : 128;
}

}  // namespace attnplan::hip
