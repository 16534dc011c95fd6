// Which KV positions a row may see, from the lengths of a step alone.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "work_batch.h"

namespace attnplan::schedule {

struct Range {
  int64_t begin = 0, end = 0;

  bool empty() const { return begin >= end; }
};

class Visible {
 public:
  // `order`: plan position -> request of the step; empty: the same.
  Visible(const WorkBatch& batch, std::span<const int32_t> order);

  size_t size() const { return requests_.size(); }
  // 0 for pads. The most that the device may give the request where query lengths are inexact.
  int32_t rows(size_t position) const { return requests_[position].rows; }
  bool exact(size_t position) const { return requests_[position].exact; }
  int64_t seq_len(size_t position) const { return requests_[position].seq; }

  // What the row sees for one of the lengths that are possible: the union of all.
  Range of(size_t position, int32_t row) const;
  // The row's last key, plus one, where the request is as short as it can be.
  int64_t lowest_end(size_t position, int32_t row) const;

 private:
  struct Request {
    int32_t rows = 0;
    int64_t seq = 0;          // tokens at most
    int64_t context = 0;      // tokens at most
    int64_t low_context = 0;  // tokens at least
    bool exact = true;
  };

  void place(const WorkBatch& batch, size_t request, int32_t verify_bound, Request* out) const;

  std::vector<Request> requests_;
  bool causal_;
  int64_t window_;
};

}  // namespace attnplan::schedule
