// Section 5: what is counted over each segment, and the optional sections.
#include <algorithm>

#include "naive_parts.h"

namespace attnplan::oracle {
namespace {

// The one query_len of all requests of the range; 0 where there is none or a pad stands between.
int64_t shared_width(std::span<const NaiveRequest> requests) {
  for (const NaiveRequest& request : requests) {
    if (request.query != requests.front().query || !request.exact_query) return 0;
  }
  return requests.front().query;
}

void fold(int64_t low, int64_t high, bool first, int64_t* min, int64_t* max) {
  *min = first ? low : std::min(*min, low);
  *max = first ? high : std::max(*max, high);
}

int64_t rows_before(std::span<const NaiveRequest> requests, int64_t position) {
  int64_t rows = 0;
  for (int64_t i = 0; i < position; ++i) rows += requests[i].query;
  return rows;
}

attnplan_dtype label_for(const NaiveSetup& setup, const Contract& kernel) {
  const attnplan_kv_view& view = setup.cache->view;
  return kernel.dtype_label == ATTNPLAN_LABEL_STORAGE ? view.storage_dtype : view.view_dtype;
}

std::vector<int64_t> rebased_offsets(std::span<const NaiveRequest> requests,
                                     const NaiveSegment& segment) {
  std::vector<int64_t> offsets = {0};
  for (int64_t i = segment.req_begin; i < segment.req_end; ++i) {
    offsets.push_back(offsets.back() + requests[i].query);
  }
  return offsets;
}

}  // namespace

NaiveSegment measure(const NaiveSetup& setup, std::span<const NaiveRequest> requests,
                     const RoutedRange& routed) {
  NaiveSegment segment;
  segment.route = routed.route;
  segment.kernel = routed.kernel;
  segment.refusals = routed.refusals;
  segment.req_begin = routed.range.begin;
  segment.req_end = routed.range.end;
  segment.row_begin = rows_before(requests, segment.req_begin);
  segment.row_end = rows_before(requests, segment.req_end);
  segment.width =
      shared_width(requests.subspan(routed.range.begin, routed.range.end - routed.range.begin));
  for (int64_t i = segment.req_begin; i < segment.req_end; ++i) {
    const NaiveRequest& request = requests[i];
    if (!request.live()) continue;
    const bool first = segment.num_live++ == 0;
    fold(request.min_query, request.max_query, first, &segment.min_query_len,
         &segment.max_query_len);
    fold(request.min_seq, request.max_seq, first, &segment.min_seq_len, &segment.max_seq_len);
    fold(request.context, request.context, first, &segment.min_context_len,
         &segment.max_context_len);
    segment.sum_seq_lens += request.seq;
    segment.sum_context_lens += request.context;
    segment.exact_query_lens &= request.exact_query;
    segment.exact_seq_lens &= request.exact_seq;
  }
  if (setup.cache) {
    segment.page_size = kernel_page_size(setup, setup.kernels[routed.kernel]);
    segment.label = label_for(setup, setup.kernels[routed.kernel]);
  }
  return segment;
}

NaiveSections make_sections(std::span<const NaiveRequest> requests,
                            const std::vector<NaiveSegment>& segments) {
  NaiveSections out;
  bool exact_query = true, exact_seq = true, exact_context = true;
  for (size_t i = 0; i < requests.size(); ++i) {
    const NaiveRequest& request = requests[i];
    exact_query &= request.exact_query;
    exact_seq &= request.exact_seq;
    exact_context &= request.exact_context;
    out.seq_lens.values.push_back(request.live() ? request.max_seq : 0);
    out.context_lens.values.push_back(request.live() ? request.context : 0);
    for (int64_t row = 0; row < request.query; ++row) {
      const int64_t position = request.context + row;
      const bool behind = request.clamp && position >= *request.clamp;
      out.row_request.values.push_back(static_cast<int64_t>(i));
      out.row_position.values.push_back(behind ? -1 : position);
    }
  }
  for (const NaiveSegment& segment : segments) {
    out.query_start_loc.push_back(rebased_offsets(requests, segment));
  }
  const auto unless = [](bool exact, int32_t otherwise) {
    return exact ? int32_t{ATTNPLAN_VALIDITY_EXACT} : otherwise;
  };
  out.query_start_loc_validity = unless(exact_query, ATTNPLAN_VALIDITY_DEVICE);
  out.seq_lens.validity = unless(exact_seq, ATTNPLAN_VALIDITY_BOUND);
  out.context_lens.validity = unless(exact_context, ATTNPLAN_VALIDITY_DEVICE);
  out.row_request.validity = unless(exact_query, ATTNPLAN_VALIDITY_DEVICE);
  out.row_position.validity = unless(exact_query && exact_seq, ATTNPLAN_VALIDITY_DEVICE);
  return out;
}

}  // namespace attnplan::oracle
