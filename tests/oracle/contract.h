// A kernel contract that owns its lists: the form in which the tests generate, print and judge
// contracts. Fields and defaults are those of attnplan_contract.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attnplan.h"

namespace attnplan::oracle {

using IntList = std::optional<std::vector<int32_t>>;  // absent: any value; empty: none at all

struct Contract {
  std::string name;
  attnplan_route route = ATTNPLAN_ROUTE_EXTEND;
  uint32_t flags = 0;  // ATTNPLAN_CONTRACT_*
  IntList query_lens;
  IntList groups;
  IntList head_sizes;
  IntList v_head_sizes;
  IntList block_sizes;
  IntList page_sizes;
  std::optional<std::vector<std::string>> archs;
  uint32_t masks = 0;
  uint32_t features = 0;
  uint32_t dtypes = 0;
  uint32_t layouts = 0;
  uint32_t scales = 0;
  int32_t max_query_len = 0;
  int32_t max_query_len_x_group = 0;
  int32_t context = ATTNPLAN_CONTEXT_ANY;
  int32_t min_requests = 0;
  int32_t max_requests = 0;
  int32_t max_seq_len = 0;
  int32_t tile_tokens = 0;
  int32_t dtype_label = ATTNPLAN_LABEL_VIEW;
  int32_t pads = ATTNPLAN_PADS_EMPTY;
  int32_t graph = ATTNPLAN_CAPTURE_DEFAULT;
  attnplan_offset_unit offset_unit = ATTNPLAN_OFFSET_NONE;
  int64_t offset_max = 0;

  bool has(uint32_t flag) const { return (flags & flag) != 0; }
};

// Copies what a caller's struct (of this header's size) says.
Contract contract_from_c(const attnplan_contract& contract);

// The kernels of a built-in profile, written from the table of the planning page; absent where
// there is no such profile.
std::optional<std::vector<Contract>> builtin_profile(const std::string& name);

}  // namespace attnplan::oracle
