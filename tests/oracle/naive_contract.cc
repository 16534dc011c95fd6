// Section 4's table: which demands of one kernel a range of requests does not meet.
#include <algorithm>

#include "naive_parts.h"

namespace attnplan::oracle {
namespace {

bool in_list(const IntList& list, int64_t value) {
  return !list || std::find(list->begin(), list->end(), value) != list->end();
}

// Bit sets of a contract: `absent` stands for 0, the empty set admits nothing.
bool in_set(uint32_t set, uint32_t absent, int32_t value) {
  return (((set == 0 ? absent : set) >> value) & 1u) != 0;
}

class Refusal {
 public:
  void unless(bool met, attnplan_reason reason) {
    if (!met) mask_ |= 1u << reason;
  }
  uint32_t mask() const { return mask_; }

 private:
  uint32_t mask_ = 0;
};

bool pad_between(std::span<const NaiveRequest> requests) {
  bool seen_live = false, seen_pad_behind = false;
  for (const NaiveRequest& request : requests) {
    if (request.live() && seen_pad_behind) return true;
    if (request.live()) seen_live = true;
    if (!request.live() && seen_live) seen_pad_behind = true;
  }
  return false;
}

void judge_uniform(std::span<const NaiveRequest> requests, Refusal* refusal) {
  int64_t width = 0;
  bool ragged = false;
  for (const NaiveRequest& request : requests) {
    if (!request.live()) continue;
    if (!request.exact_query) {
      refusal->unless(false, ATTNPLAN_REASON_QUERY_LENS_NOT_EXACT);
      return;
    }
    if (width == 0) width = request.query;
    ragged |= request.query != width;
  }
  refusal->unless(!ragged, ATTNPLAN_REASON_RAGGED);
  refusal->unless(!pad_between(requests), ATTNPLAN_REASON_INTERIOR_PAD);
}

void judge_request(const NaiveSetup& setup, const Contract& kernel, const NaiveRequest& request,
                   Refusal* refusal) {
  for (int64_t length = request.min_query; length <= request.max_query; ++length) {
    refusal->unless(in_list(kernel.query_lens, length), ATTNPLAN_REASON_WIDTH_UNSUPPORTED);
    if (!kernel.query_lens) break;
  }
  if (kernel.max_query_len > 0) {
    refusal->unless(request.max_query <= kernel.max_query_len, ATTNPLAN_REASON_WIDTH_UNSUPPORTED);
  }
  if (kernel.max_query_len_x_group > 0) {
    const int64_t group = setup.num_q_heads / setup.num_kv_heads;
    refusal->unless(request.max_query * group <= kernel.max_query_len_x_group,
                    ATTNPLAN_REASON_GROUP_TOO_WIDE);
  }
  if (kernel.context == ATTNPLAN_CONTEXT_NONE) {
    refusal->unless(request.context == 0, ATTNPLAN_REASON_CONTEXT_UNSUPPORTED);
  }
  if (kernel.context == ATTNPLAN_CONTEXT_SOME) {
    refusal->unless(request.context > 0, ATTNPLAN_REASON_CONTEXT_UNSUPPORTED);
  }
  if (kernel.has(ATTNPLAN_CONTRACT_EXACT_SEQ_LENS)) {
    refusal->unless(request.exact_seq, ATTNPLAN_REASON_SEQ_LENS_NOT_EXACT);
  }
  if (kernel.max_seq_len > 0) {
    refusal->unless(request.max_seq <= kernel.max_seq_len, ATTNPLAN_REASON_SEQ_TOO_LONG);
  }
}

bool head_sizes_listed(const NaiveSetup& setup, const Contract& kernel) {
  if (!kernel.v_head_sizes) {
    return in_list(kernel.head_sizes, setup.head_size) &&
           in_list(kernel.head_sizes, setup.v_head_size);
  }
  bool found = false;
  for (size_t i = 0; kernel.head_sizes && i < kernel.head_sizes->size(); ++i) {
    found = found || (i < kernel.v_head_sizes->size() &&
                      kernel.head_sizes->at(i) == setup.head_size &&
                      kernel.v_head_sizes->at(i) == setup.v_head_size);
  }
  return found;
}

void judge_model(const NaiveSetup& setup, const Contract& kernel, Refusal* refusal) {
  refusal->unless(in_list(kernel.groups, setup.num_q_heads / setup.num_kv_heads),
                  ATTNPLAN_REASON_GROUP_UNSUPPORTED);
  refusal->unless(head_sizes_listed(setup, kernel), ATTNPLAN_REASON_HEAD_SIZE_UNSUPPORTED);
  const bool arch_listed = !kernel.archs || std::find(kernel.archs->begin(), kernel.archs->end(),
                                                      setup.arch) != kernel.archs->end();
  refusal->unless(arch_listed, ATTNPLAN_REASON_ARCH_UNSUPPORTED);
  refusal->unless(in_set(kernel.masks, 1u << ATTNPLAN_MASK_CAUSAL, setup.mask),
                  ATTNPLAN_REASON_MASK_UNSUPPORTED);
  if (kernel.has(ATTNPLAN_CONTRACT_NO_SLIDING_WINDOW)) {
    refusal->unless(setup.sliding_window == 0, ATTNPLAN_REASON_WINDOW_UNSUPPORTED);
  }
  refusal->unless((setup.features & ~kernel.features) == 0, ATTNPLAN_REASON_FEATURE_UNSUPPORTED);
}

void judge_cache(const NaiveSetup& setup, const Contract& kernel, Refusal* refusal) {
  if (!setup.cache) return;
  const attnplan_kv_cache& kv = setup.cache->given;
  const attnplan_kv_view& view = setup.cache->view;
  refusal->unless(in_list(kernel.block_sizes, kv.block_size),
                  ATTNPLAN_REASON_BLOCK_SIZE_UNSUPPORTED);
  const int64_t page = kernel_page_size(setup, kernel);
  refusal->unless(page > 0 && in_list(kernel.page_sizes, page),
                  ATTNPLAN_REASON_PAGE_SIZE_UNSUPPORTED);
  refusal->unless(in_set(kernel.dtypes, ~0u, view.view_dtype), ATTNPLAN_REASON_DTYPE_UNSUPPORTED);
  refusal->unless(in_set(kernel.scales, ~0u, kv.scale), ATTNPLAN_REASON_DTYPE_UNSUPPORTED);
  refusal->unless(in_set(kernel.layouts, ~0u, kv.layout), ATTNPLAN_REASON_LAYOUT_UNSUPPORTED);
  if (kernel.tile_tokens > 0 && page > 0) {
    refusal->unless(page % kernel.tile_tokens == 0, ATTNPLAN_REASON_TILE_MISALIGNED);
  }
  if (kernel.offset_unit == ATTNPLAN_OFFSET_ELEMENTS) {
    refusal->unless(view.last_offset <= kernel.offset_max, ATTNPLAN_REASON_OFFSET_OVERFLOW);
  }
  if (kernel.offset_unit == ATTNPLAN_OFFSET_BYTES) {
    const int64_t last_byte = (view.last_offset + 1) * element_bytes(view.view_dtype) - 1;
    refusal->unless(last_byte <= kernel.offset_max, ATTNPLAN_REASON_OFFSET_OVERFLOW);
  }
}

}  // namespace

int64_t kernel_page_size(const NaiveSetup& setup, const Contract& kernel) {
  const attnplan_kv_cache& kv = setup.cache->given;
  if (kv.page_size > 0) return kv.page_size;
  if (!kernel.page_sizes) return kv.block_size;
  int64_t largest = 0;
  for (int64_t page : *kernel.page_sizes) {
    if (page > largest && kv.block_size % page == 0) largest = page;
  }
  return largest;
}

uint32_t refusal(const NaiveSetup& setup, const Contract& kernel,
                 std::span<const NaiveRequest> requests) {
  Refusal refused;
  if (kernel.has(ATTNPLAN_CONTRACT_UNIFORM)) judge_uniform(requests, &refused);
  int64_t live = 0;
  for (const NaiveRequest& request : requests) {
    if (!request.live()) continue;
    ++live;
    judge_request(setup, kernel, request, &refused);
  }
  refused.unless(kernel.min_requests == 0 || live >= kernel.min_requests,
                 ATTNPLAN_REASON_TOO_FEW_REQUESTS);
  refused.unless(kernel.max_requests == 0 || live <= kernel.max_requests,
                 ATTNPLAN_REASON_TOO_MANY_REQUESTS);
  judge_model(setup, kernel, &refused);
  judge_cache(setup, kernel, &refused);
  return refused.mask();
}

}  // namespace attnplan::oracle
