// A random step with inexact lengths, its plan, and what refresh is given for it.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "cpu/refresh.h"
#include "everything.h"
#include "true_lengths.h"

namespace attnplan::refresh {

using oracle::BatchStructs;
using oracle::Ints;
using property::Buffer;

// The tensors of one step on the device, in one of the forms that engines have them in.
struct Tensors {
  Ints query_start_loc, seq_lens;
  Ints ids;                         // blocks or, with `tokens`, slots of tokens
  Ints indptr;                      // CSR
  std::vector<int64_t> table_rows;  // empty: a request's number
  std::vector<int64_t> slot_mapping;
  int64_t stride = 0, columns = 0;
  bool tokens = false;

  cpu::DeviceStep step() const;
};

// `form` draws rows of the table in another order, and a map of tokens in place of blocks.
Tensors tensors_of(const Batch& truth, const std::vector<int64_t>& slots, Dice* form);

// The same with lengths that make no sense: negative, falling, beyond every bound.
Tensors hostile(Tensors tensors, Dice* dice);

// What the device may turn out to have of a step: its tensors, and the plan that they deserve.
struct Outcome {
  Batch truth;
  Tensors tensors;
  Buffer plan;  // empty: there is none
};

struct Subject {
  explicit Subject(uint64_t seed);  // a random step, of a plan that is not large
  Subject(const Batch& step, uint64_t seed, size_t most_bytes);

  bool planned() const { return host_plan.size() > 0 && true_plan.size() > 0; }
  cpu::RefreshRules rules() const;
  Outcome outcome() const;
  // Of the same host's step and in the same form: other lengths, other blocks, other slots.
  Outcome another(uint64_t seed) const;

  Batch host, truth;
  std::vector<int64_t> slots;  // a slot mapping; empty: none
  Buffer host_plan, true_plan;
  Tensors tensors;  // of the truth
  std::optional<attnplan_kv_view> view;

 private:
  Buffer plan_of(const Batch& batch, const std::vector<int64_t>& own_slots,
                 std::optional<attnplan_kv_view>* found_view = nullptr) const;
  int32_t query_tile_of(int32_t kernel) const;

  uint64_t seed_;
  Dice form_{0};  // as it was for `tensors`
  size_t most_bytes_;
};

Buffer copy_of(const Buffer& plan);
std::span<std::byte> bytes_of(Buffer* plan);

}  // namespace attnplan::refresh
