// Each segment's kernel against the batch: the demands of its contract, tested one request at a
// time the way the kernel would trip over them.
#include <algorithm>

#include "facts.h"

namespace attnplan::property {
namespace {

using oracle::Batch;
using oracle::Contract;
using oracle::IntList;

bool listed(const IntList& list, int64_t value) {
  if (!list) return true;
  for (int32_t entry : *list) {
    if (entry == value) return true;
  }
  return false;
}

bool within(int64_t value, int32_t bound) { return bound == 0 || value <= bound; }

int64_t or_default(int64_t value, int64_t absent) { return value != 0 ? value : absent; }

// A uniform kernel finds the request of a row by division: it must find the right one.
std::string check_row_division(const Facts& facts, const attnplan_segment& segment) {
  if (segment.width <= 0) return "uniform kernel without a width";
  int64_t row = segment.row_begin;
  for (int64_t request = segment.req_begin; request < segment.req_end; ++request) {
    for (int64_t r = 0; r < facts.query[static_cast<size_t>(request)]; ++r, ++row) {
      if (segment.req_begin + (row - segment.row_begin) / segment.width != request) {
        return "row " + std::to_string(row) + " divides to another request";
      }
    }
  }
  return "";
}

std::string check_query_lens(const Contract& kernel, const Facts& facts,
                             const attnplan_segment& segment, int32_t bound) {
  const bool exact = (segment.flags & ATTNPLAN_SEGMENT_EXACT_QUERY_LENS) != 0;
  if (kernel.has(ATTNPLAN_CONTRACT_UNIFORM)) {
    if (!exact) return "uniform kernel on inexact rows";
    const std::string broken = check_row_division(facts, segment);
    if (!broken.empty()) return broken;
  }
  for (int32_t length = 1; !exact && length <= bound; ++length) {
    if (!listed(kernel.query_lens, length)) return "a possible query_len is not in the list";
  }
  for (int32_t i = segment.req_begin; exact && i < segment.req_end; ++i) {
    const int64_t query = facts.query[static_cast<size_t>(i)];
    if (query > 0 && !listed(kernel.query_lens, query)) return "a query_len is not in the list";
  }
  return within(segment.max_query_len, kernel.max_query_len) ? "" : "max_query_len";
}

std::string check_lengths(const Contract& kernel, const Facts& facts,
                          const attnplan_segment& segment) {
  int32_t live = 0;
  for (int32_t i = segment.req_begin; i < segment.req_end; ++i) {
    const size_t at = static_cast<size_t>(i);
    if (facts.query[at] == 0) continue;
    ++live;
    if (kernel.context == ATTNPLAN_CONTEXT_NONE && facts.context[at] > 0) return "context: none";
    if (kernel.context == ATTNPLAN_CONTEXT_SOME && facts.context[at] == 0) return "context: some";
  }
  if (!within(segment.max_seq_len, kernel.max_seq_len)) return "max_seq_len";
  if (live < kernel.min_requests) return "min_requests";
  if (!within(live, kernel.max_requests)) return "max_requests";
  const bool exact = (segment.flags & ATTNPLAN_SEGMENT_EXACT_SEQ_LENS) != 0;
  if (kernel.has(ATTNPLAN_CONTRACT_EXACT_SEQ_LENS) && !exact) return "exact_seq_lens";
  return "";
}

std::string check_model(const Contract& kernel, const Batch& batch,
                        const attnplan_segment& segment) {
  const attnplan_config& config = batch.config;
  const int64_t group = or_default(config.num_q_heads, 16) / or_default(config.num_kv_heads, 1);
  const int64_t k_size = or_default(config.head_size, 128);
  if (!listed(kernel.groups, group)) return "groups";
  if (!within(segment.max_query_len * group, kernel.max_query_len_x_group)) return "x_group";
  const int64_t v_size = or_default(config.v_head_size, k_size);
  if (!listed(kernel.head_sizes, k_size)) return "head size of K";
  if (!listed(kernel.v_head_sizes ? kernel.v_head_sizes : kernel.head_sizes, v_size)) {
    return "head size of V";
  }
  if (kernel.archs && std::count(kernel.archs->begin(), kernel.archs->end(), batch.arch) == 0) {
    return "archs";
  }
  const uint32_t masks = kernel.masks != 0 ? kernel.masks : 1u;
  if ((masks & (1u << config.mask)) == 0) return "masks";
  if (kernel.has(ATTNPLAN_CONTRACT_NO_SLIDING_WINDOW) && config.sliding_window > 0) return "window";
  return (config.features | kernel.features) == kernel.features ? "" : "features";
}

std::string check_cache(const Contract& kernel, const Batch& batch,
                        const attnplan_segment& segment) {
  if (!batch.kv_cache)
    return segment.page_size == 0 && segment.label == 0 ? "" : "page size, label";
  const attnplan_kv_cache& kv = *batch.kv_cache;
  if (!listed(kernel.block_sizes, kv.block_size)) return "block_sizes";
  const int32_t page = segment.page_size;
  if (page < 1 || kv.block_size % page != 0) return "a page that does not divide the block";
  if (kv.page_size > 0 && page != kv.page_size) return "another page than the cache's";
  if (!listed(kernel.page_sizes, page)) return "page_sizes";
  if (kernel.tile_tokens > 0 && page % kernel.tile_tokens != 0) return "tile_tokens";
  if (kernel.scales != 0 && (kernel.scales >> kv.scale & 1u) == 0) return "scales";
  if (kernel.layouts != 0 && (kernel.layouts >> kv.layout & 1u) == 0) return "layouts";
  const bool view_label = kernel.dtype_label == ATTNPLAN_LABEL_VIEW;
  if (kernel.dtypes != 0 && view_label && (kernel.dtypes >> segment.label & 1u) == 0) {
    return "dtypes";
  }
  if (view_label && segment.label == ATTNPLAN_DTYPE_UINT8) return "bytes are no view";
  return "";
}

// Whoever came before this kernel on its route must have said why not.
std::string check_earlier_kernels(const std::vector<Contract>& kernels,
                                  const attnplan_segment& segment,
                                  std::span<const attnplan_refusal> refusals) {
  for (int32_t k = 0; k < segment.kernel; ++k) {
    if (kernels[static_cast<size_t>(k)].route != segment.route) continue;
    const bool refused = std::any_of(refusals.begin(), refusals.end(), [k](const auto& refusal) {
      return refusal.kernel == k && refusal.reasons != 0;
    });
    if (!refused) return "a kernel was passed over without a reason";
  }
  for (const attnplan_refusal& refusal : refusals) {
    if (refusal.kernel == segment.kernel) return "its own kernel refused it";
  }
  return "";
}

}  // namespace

std::string check_contracts(const Batch& batch, const Facts& facts, const Buffer& plan) {
  const std::vector<Contract> kernels =
      batch.kernels ? *batch.kernels : *oracle::builtin_profile(batch.profile);
  const int32_t bound = header_of(plan).query_len_bound;
  for (const attnplan_segment& segment : segments_of(plan)) {
    const Contract& kernel = kernels.at(static_cast<size_t>(segment.kernel));
    std::string broken = kernel.route == segment.route ? "" : "a kernel of another route";
    if (broken.empty()) broken = check_query_lens(kernel, facts, segment, bound);
    if (broken.empty()) broken = check_lengths(kernel, facts, segment);
    if (broken.empty()) broken = check_model(kernel, batch, segment);
    if (broken.empty()) broken = check_cache(kernel, batch, segment);
    if (broken.empty()) {
      broken = check_earlier_kernels(kernels, segment, refusals_of(plan, segment));
    }
    if (!broken.empty()) return "contract of " + kernel.name + ": " + broken;
  }
  return "";
}

}  // namespace attnplan::property
