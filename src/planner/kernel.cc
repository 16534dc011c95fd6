#include "planner/kernel.h"

#include <algorithm>

namespace attnplan {
namespace {

bool contains(const IntList& list, int32_t value) {
  return !list || std::find(list->begin(), list->end(), value) != list->end();
}

bool contains(const StringList& list, std::string_view value) {
  return !list || std::find(list->begin(), list->end(), value) != list->end();
}

bool contains(const std::optional<uint32_t>& set, int32_t value, uint32_t absent) {
  return (set.value_or(absent) >> value & 1u) != 0;
}

// The page a kernel gets: the cache's, or the largest of its own that divides the block; 0 where
// there is none.
int32_t choose_page_size(const Contract& contract, const KvCache& cache) {
  if (cache.page_size > 0) return cache.page_size;
  if (!contract.page_sizes) return cache.block_size;
  int32_t best = 0;
  for (const int32_t page : *contract.page_sizes) {
    if (page > best && cache.block_size % page == 0) best = page;  // so page > 0
  }
  return best;
}

// Both sizes are in the list, or, where V has a list of its own, at one place of the two.
bool admits_head_sizes(const Contract& contract, int32_t head_size, int32_t v_head_size) {
  if (!contract.v_head_sizes) {
    return contains(contract.head_sizes, head_size) && contains(contract.head_sizes, v_head_size);
  }
  const size_t pairs = contract.head_sizes ? contract.head_sizes->size() : 0;
  for (size_t i = 0; i < std::min(pairs, contract.v_head_sizes->size()); ++i) {
    if ((*contract.head_sizes)[i] == head_size && (*contract.v_head_sizes)[i] == v_head_size) {
      return true;
    }
  }
  return false;
}

uint32_t group_refusals(const Contract& contract, const Config& config) {
  uint32_t reasons = 0;
  if (!contains(contract.groups, config.num_q_heads / config.num_kv_heads)) {
    reasons |= bit(Reason::kGroupUnsupported);
  }
  if (!admits_head_sizes(contract, config.head_size, config.v_head_size)) {
    reasons |= bit(Reason::kHeadSizeUnsupported);
  }
  if (!contains(contract.archs, config.arch)) reasons |= bit(Reason::kArchUnsupported);
  if (!contains(contract.masks, static_cast<int32_t>(config.mask), 1u)) {
    reasons |= bit(Reason::kMaskUnsupported);
  }
  if (!contract.sliding_window && config.sliding_window > 0) {
    reasons |= bit(Reason::kWindowUnsupported);
  }
  if ((config.features & ~contract.features) != 0) reasons |= bit(Reason::kFeatureUnsupported);
  return reasons;
}

uint32_t cache_refusals(const Contract& contract, const KvCache& cache, const KvView& view,
                        int32_t page_size) {
  uint32_t reasons = 0;
  if (!contains(contract.block_sizes, cache.block_size)) {
    reasons |= bit(Reason::kBlockSizeUnsupported);
  }
  if (page_size == 0 || !contains(contract.page_sizes, page_size)) {
    if (contract.page_sizes) reasons |= bit(Reason::kPageSizeUnsupported);
  }
  if (!contains(contract.dtypes, static_cast<int32_t>(view.view_dtype), ~0u) ||
      !contains(contract.scales, static_cast<int32_t>(cache.scale), ~0u)) {
    reasons |= bit(Reason::kDtypeUnsupported);
  }
  if (!contains(contract.layouts, static_cast<int32_t>(cache.layout), ~0u)) {
    reasons |= bit(Reason::kLayoutUnsupported);
  }
  if (contract.tile_tokens > 0 && page_size > 0 && page_size % contract.tile_tokens != 0) {
    reasons |= bit(Reason::kTileMisaligned);
  }
  if (exceeds(contract.offset_limit, view)) reasons |= bit(Reason::kOffsetOverflow);
  return reasons;
}

int32_t or_max(int32_t bound) { return bound > 0 ? bound : INT32_MAX; }

bool every_width_admitted(const Kernel& kernel, const Facts& facts, const Lanes& lanes,
                          Range range) {
  if (!facts.query_inexact && facts.min_query_len == facts.max_query_len) {
    return kernel.admits_width(facts.max_query_len);
  }
  for (int32_t i = range.begin; i < range.end; ++i) {
    const int32_t query_len = lanes.query_lens[i];
    if (query_len == 0) continue;
    const bool inexact = lanes.inexact && (lanes.inexact[i] & kQueryInexact);
    if (!inexact && !kernel.admits_width(query_len)) return false;
  }
  for (int32_t width = 1; facts.query_inexact && width <= lanes.query_bound; ++width) {
    if (!kernel.admits_width(width)) return false;
  }
  return true;
}

}  // namespace

bool Kernel::admits_width(int32_t query_len) const {
  return any_query_len || std::binary_search(query_lens.begin(), query_lens.end(), query_len);
}

Kernel resolve_kernel(const Contract& contract, const Config& config, const KvView* view,
                      std::pmr::memory_resource* memory) {
  Kernel kernel{.query_lens = std::pmr::vector<int32_t>(memory)};
  kernel.route = contract.route;
  kernel.uniform = contract.uniform;
  kernel.exact_seq_lens = contract.exact_seq_lens;
  kernel.context = contract.context;
  kernel.capture = contract.capture();
  kernel.pads = contract.pads;
  kernel.max_query_len = or_max(contract.max_query_len);
  if (contract.max_query_len_x_group > 0) {
    const int32_t group = config.num_q_heads / config.num_kv_heads;
    kernel.max_query_len_by_group = contract.max_query_len_x_group / group;
  }
  kernel.min_requests = contract.min_requests;
  kernel.max_requests = or_max(contract.max_requests);
  kernel.max_seq_len = or_max(contract.max_seq_len);
  kernel.query_tile = contract.query_tile;
  kernel.kv_tile = contract.kv_tile;
  kernel.num_splits = contract.num_splits;
  kernel.any_query_len = !contract.query_lens.has_value();
  if (contract.query_lens) {
    kernel.query_lens.assign(contract.query_lens->begin(), contract.query_lens->end());
    std::sort(kernel.query_lens.begin(), kernel.query_lens.end());
  }
  kernel.static_refusals = group_refusals(contract, config);
  if (view != nullptr) {
    kernel.page_size = choose_page_size(contract, *config.kv_cache);
    kernel.label =
        contract.dtype_label == DtypeLabel::kView ? view->view_dtype : view->storage_dtype;
    kernel.static_refusals |= cache_refusals(contract, *config.kv_cache, *view, kernel.page_size);
  }
  return kernel;
}

uint32_t refusals(const Kernel& kernel, const Facts& facts, const Lanes& lanes, Range range) {
  uint32_t reasons = kernel.static_refusals;
  if (kernel.uniform && facts.query_inexact) {
    reasons |= bit(Reason::kQueryLensNotExact);
  } else if (kernel.uniform) {
    if (facts.min_query_len != facts.max_query_len) reasons |= bit(Reason::kRagged);
    if (facts.num_pads > 0) reasons |= bit(Reason::kInteriorPad);
  }
  if (facts.max_query_len > kernel.max_query_len ||
      (!kernel.any_query_len && !every_width_admitted(kernel, facts, lanes, range))) {
    reasons |= bit(Reason::kWidthUnsupported);
  }
  if (facts.max_query_len > kernel.max_query_len_by_group) reasons |= bit(Reason::kGroupTooWide);
  if ((kernel.context == Context::kNone && facts.max_context_len > 0) ||
      (kernel.context == Context::kSome && facts.min_context_len == 0)) {
    reasons |= bit(Reason::kContextUnsupported);
  }
  if (kernel.exact_seq_lens && facts.seq_inexact) reasons |= bit(Reason::kSeqLensNotExact);
  if (facts.num_live < kernel.min_requests) reasons |= bit(Reason::kTooFewRequests);
  if (facts.num_live > kernel.max_requests) reasons |= bit(Reason::kTooManyRequests);
  if (facts.max_seq_len > kernel.max_seq_len) reasons |= bit(Reason::kSeqTooLong);
  return reasons;
}

bool admits_request(const Kernel& kernel, const Lanes& lanes, int32_t position) {
  const int32_t query_len = lanes.query_lens[position];
  const int32_t context_len = lanes.context_lens[position];
  if (query_len > kernel.max_query_len || query_len > kernel.max_query_len_by_group) return false;
  if (!kernel.admits_width(query_len)) return false;
  if (kernel.context == Context::kNone && context_len > 0) return false;
  if (kernel.context == Context::kSome && context_len == 0) return false;
  return lanes.seq_lens[position] <= kernel.max_seq_len;
}

}  // namespace attnplan
