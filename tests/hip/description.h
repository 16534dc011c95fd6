// What a problem of attention is, in numbers small enough to print. Everything else follows from
// it and its seed.
#pragma once

#include <cstdint>
#include <string>

#include "attnplan.h"
#include "cpu/formats.h"

namespace attnplan::hip_test {

using cpu::bytes_of;
using cpu::decode;
using cpu::dtype_of;
using cpu::encode;
using cpu::Format;
using cpu::name_of;
using cpu::poison_byte;

enum class Scales { kNone, kTensor, kTokenHead };

enum class Batch {
  kUniform,  // one row a request, equal lengths
  kRagged,   // rows and lengths all different
  kVerify,   // the same few rows of every request
  kPads,     // requests without rows in front, between and behind
  kOneRow,   // one request, one row
  kExtend,   // many rows over a context
  kPrefill,  // rows without a context
  kMixed,    // decodes, then extends, then prefills
  kLong,     // one long context, few rows
  kClamped,  // draft rows behind the end of their block table
  kEmpty,    // a full mask; requests with fewer keys than rows, or none
  kShared,   // requests that share the blocks of a prefix
  kIdle,     // nothing but pads, under a full graph
};
constexpr int kNumBatches = 12;  // that need no graph

// Which kernels the planner may choose from.
enum class Kernels { kAll, kDecode, kExtend, kPrefill };

// How a problem reaches the kernels.
enum class Way {
  kPlan,      // a plan of its exact lengths
  kRefresh,   // a plan of upper bounds, refreshed on the device
  kGraph,     // the same in a captured graph that ran with other lengths before; GPU only
  kWrite,     // and its cache through attnplan_hip_kv_write, compared byte by byte
  kPadded,    // as kPlan, and a full graph adds rows
  kReplayed,  // launches of another plan of the same planner, as a replayed graph makes them
  kKeyless,   // some requests keep their rows and lose tokens and items on the device
  kTaken,     // a plan of bounds; on the device some requests have no row, and all may have fewer
};

// How large batches are drawn.
struct Size {
  int32_t requests = 5;
  int32_t context = 150;   // tokens of an ordinary request
  int32_t rows = 24;       // of a request that extends
  int32_t longest = 1500;  // tokens
};

struct Description {
  std::string name;
  uint64_t seed = 1;

  Format q = Format::kBf16;  // and the output
  Format cache = Format::kBf16;
  Scales scales = Scales::kNone;
  int32_t head_size = 128;
  int32_t v_head_size = 128;
  int32_t num_kv_heads = 1;
  int32_t group = 1;

  attnplan_layout layout = ATTNPLAN_LAYOUT_LBNHC;
  bool packed = false;
  bool shuffle = false;
  int32_t block_size = 16;
  int32_t page_size = 16;
  int64_t unused_blocks = 3;     // of the cache, beyond those that the batch needs
  int64_t block_stride_pad = 0;  // elements between blocks

  attnplan_mask mask = ATTNPLAN_MASK_CAUSAL;
  int32_t sliding_window = 0;
  double soft_cap = 0;
  double softmax_scale = 0;  // 0: head_size^-0.5
  bool lse = true;

  Batch batch = Batch::kUniform;
  Size size;

  Way way = Way::kPlan;
  Kernels kernels = Kernels::kAll;
  bool page_table = false;  // instead of a list with starts
  int32_t work = ATTNPLAN_WORK_STREAM_K;
  int32_t work_fixed_tokens = 128;
  int32_t num_workers = 6;
  bool dense = true;     // tensors without room between rows
  int64_t max_rows = 0;  // judged against the reference; 0: all

  int32_t graph_pads = -1;  // rows that a full graph adds; negative: there is no graph
  bool piecewise = false;   // attention is outside of it: there are no rows behind the batch
  bool full_width = false;  // they are requests of one token, as a uniform kernel may want them
  bool compact = false;     // the layout of a plan with a graph

  int32_t num_q_heads() const { return num_kv_heads * group; }
};

const char* name_of(Batch batch);
// One line, for a person who wants to see it fail again.
std::string words(const Description& description);

}  // namespace attnplan::hip_test
