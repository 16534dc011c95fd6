// Batches for the MiniMax-M3 kernels: what they read of a plan, and caches whose pages lie at
// random. Everything that is not a live token of a request is NaN.
#pragma once

#include <cstdint>
#include <vector>

#include "hip/convert.h"
#include "hip/m3_args.h"
#include "property/dice.h"

namespace attnplan::hip {

// Numbers of a cache or of 16-bit tensors, by the definitions of the formats.
double decode(Cache format, uint32_t code);
uint32_t encode(Cache format, float value);

struct M3Batch {
  // `requests` requests in a segment of its own behind another one, pads and rows behind a clamp
  // among them. `max_len`: tokens.
  M3Batch(int32_t requests, int32_t max_rows, int32_t max_len, int32_t page_size,
          property::Dice* dice);
  // What the kernels read of the plan, and pages by twos.
  void fill(AttentionArgs* args) const;

  int32_t num_rows() const { return static_cast<int32_t>(row_request.size()); }
  // With those that the graph adds behind, of which no list knows.
  int32_t all_rows() const { return header.graph_rows; }
  int32_t num_requests() const { return static_cast<int32_t>(seq_lens.size()); }
  // Of one token of a request: the page's id and the token's place in the page.
  int64_t page_of(int32_t request, int32_t token) const {
    return page_indices[static_cast<size_t>(page_indptr[request] + token / page_size)];
  }

  int32_t page_size;
  int32_t num_pages;
  bool dense;                        // the kernels get a table of pages, else lists
  attnplan_plan_header header = {};  // of a plan with one segment, half of them in a full graph
  attnplan_segment segment = {};
  std::vector<int32_t> starts;  // QUERY_START_LOC of the segment
  std::vector<int32_t> seq_lens, context_lens;
  std::vector<int32_t> row_request, row_position;
  std::vector<int32_t> page_indptr, page_indices;
  std::vector<int32_t> page_table;  // [requests, page_table_width]
  int32_t page_table_width = 0;

 private:
  void fill_table();
};

// [pages, heads, tokens, head size] in a 16-byte aligned storage, or the shuffled forms of K and V.
struct M3Cache {
  enum class Form { kPlain, kShuffledKeys, kShuffledValues };

  // `exact`: multiples of 1/4 of small magnitude, so that products sum up exactly; else anything
  // in [-1, 1).
  M3Cache(const M3Batch& batch, Cache format, int32_t heads, int32_t head_size, Form form,
          bool exact, property::Dice* dice);
  CacheTensor tensor() const;
  int64_t page_bytes() const;

  uint32_t code(int64_t page, int32_t head, int32_t token, int32_t element) const;
  void set(int64_t page, int32_t head, int32_t token, int32_t element, uint32_t code);
  // [tokens of the request, head size] of one head.
  std::vector<double> rows(const M3Batch& batch, int32_t request, int32_t head) const;

  Cache format;
  int32_t heads, head_size, page_size;
  Form form;
  std::vector<Words<4>> storage;

 private:
  int64_t offset(int64_t page, int32_t head, int32_t token, int32_t element) const;
};

// 16-bit numbers, exact in both formats where wanted: multiples of 1/4.
std::vector<uint16_t> draw_queries(size_t count, bool bf16, bool exact, property::Dice* dice);

}  // namespace attnplan::hip
