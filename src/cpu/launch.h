// The attention of one request's rows, as a kernel does it once a row knows its request and
// position: gather the visible keys from the paged cache, then one online softmax per head.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "attnplan.h"
#include "cpu/block_table.h"
#include "cpu/lengths.h"
#include "cpu/output.h"
#include "cpu/paged_cache.h"
#include "cpu/shape.h"
#include "cpu/values.h"

namespace attnplan::cpu {

// What the engine hands to the kernels. Lengths, table and origins are in the step's order.
struct ExecutorInput {
  const attnplan_config& config;
  const Values& values;
  AttentionShape shape;
  std::optional<M3Params> sparse;
  const Lengths& lengths;
  const BlockTable& table;
  const Origins& origins;
  const std::vector<bool>& compute;  // [rows] in plan order: the rows worth computing
  bool plan_lengths;  // contexts were not shortened for this run: lengths in the plan hold
};

// One row of a launch: where its query and output lie, and which position the kernel believes in.
struct Task {
  int64_t row;            // of the launch's tensors
  int64_t position;       // absolute
  int32_t query_request;  // whose vector really lies in this row of the query tensor,
  int64_t query_index;    // and which row of that request it is
};

class RequestAttention {
 public:
  explicit RequestAttention(const ExecutorInput& input);

  // Rows of `tasks` attend the first `seq_len` tokens of `request` as far as they see them.
  void attend(int32_t request, int64_t seq_len, const std::vector<Task>& tasks, Output& out) const;

 private:
  // Gathered vectors of tokens [range.begin, range.end), and what each task attends of them.
  struct Gathered {
    KeyRange range;
    std::vector<double> k;
    std::vector<double> v;
  };

  KeyRange visible(int64_t seq_len, int64_t position) const;
  Gathered gather_visible(int32_t request, int64_t seq_len, const std::vector<Task>& tasks,
                          int32_t kv_head) const;
  std::vector<std::vector<KeyRange>> selected(int32_t request, int64_t seq_len,
                                              const std::vector<Task>& tasks,
                                              int32_t kv_head) const;

  const ExecutorInput& in_;
  KvLayout layout_;
  KvLayout index_layout_;
  SparseMemory cache_;
  SparseMemory index_cache_;
};

}  // namespace attnplan::cpu
