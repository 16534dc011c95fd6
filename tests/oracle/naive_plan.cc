#include "naive_plan.h"

#include <algorithm>
#include <array>

#include "naive_parts.h"

namespace attnplan::oracle {
namespace {

// Section 3's sort: decode (widest first), short extends, other extends, prefill, pad.
std::array<int64_t, 2> sort_key(const NaiveSetup& setup, const NaiveRequest& request) {
  switch (request.cls) {
    case Class::kDecode:
      return {0, -request.query};
    case Class::kExtend:
      return {request.query <= setup.decode_threshold ? 1 : 2, 0};
    case Class::kPrefill:
      return {3, 0};
    case Class::kPad:
      break;
  }
  return {4, 0};
}

// What is reported of a length that the host cannot know.
void settle_bounds(int64_t query_len_bound, NaiveRequest* request) {
  request->min_query = request->max_query = request->query;
  request->min_seq = request->max_seq = request->seq;
  if (request->exact_query) return;
  request->min_query = 1;
  request->max_query = query_len_bound;
  request->min_seq = request->context + 1;
  request->max_seq = request->context + query_len_bound;
  if (!request->clamp) return;
  request->min_seq = std::min(request->min_seq, *request->clamp);
  request->max_seq = std::min(request->max_seq, *request->clamp);
}

void count_routes(const std::vector<NaiveRequest>& requests, NaivePlan* plan) {
  plan->routes.assign(requests.size(), ATTNPLAN_ROUTE_PAD);
  for (const NaiveSegment& segment : plan->segments) {
    NaiveRouteCount* count = segment.route == ATTNPLAN_ROUTE_DECODE   ? &plan->decode
                             : segment.route == ATTNPLAN_ROUTE_EXTEND ? &plan->extend
                                                                      : &plan->prefill;
    count->max_query_len = std::max(count->max_query_len, segment.max_query_len);
    for (int64_t i = segment.req_begin; i < segment.req_end; ++i) {
      if (!requests[i].live()) continue;
      plan->routes[requests[i].input] = segment.route;
      ++count->requests;
      count->rows += requests[i].query;
    }
  }
  for (const NaiveRequest& request : requests) {
    plan->num_rows += request.query;
    if (!request.live()) ++plan->num_pads;
  }
}

MaybeError fill(const attnplan_config& config, const attnplan_step& in, const attnplan_group* group,
                NaivePlan* plan) {
  NaiveSetup setup;
  if (MaybeError error = read_setup(config, &setup)) {
    error->of_setup = true;
    return error;
  }
  for (const Contract& kernel : setup.kernels) plan->kernels.push_back(kernel.name);
  if (setup.cache) plan->kv_view = setup.cache->view;

  NaiveStep step;
  if (MaybeError error = read_step(in, &step)) return error;
  classify(setup, &step);
  if (MaybeError error = validate_lengths(setup, step)) return error;
  if (MaybeError error = validate_blocks(setup, group, &step, &plan->warnings)) return error;
  for (NaiveRequest& request : step.requests) settle_bounds(step.query_len_bound, &request);

  std::vector<NaiveRequest> planned = step.requests;
  if (setup.sort) {
    std::stable_sort(planned.begin(), planned.end(),
                     [&setup](const NaiveRequest& a, const NaiveRequest& b) {
                       return sort_key(setup, a) < sort_key(setup, b);
                     });
  }
  for (const NaiveRequest& request : planned) plan->order.push_back(request.input);
  const Resolution resolution = resolve_routes(setup, planned);
  if (resolution.error) return resolution.error;
  if (MaybeError error = validate_capacity(setup, step)) return error;

  for (const RoutedRange& routed : resolution.segments) {
    plan->segments.push_back(measure(setup, planned, routed));
  }
  plan->ragged_policy = resolution.policy;
  plan->decode_req_begin = resolution.decode.begin;
  plan->decode_req_end = resolution.decode.end;
  plan->query_len_bound = step.query_len_bound;
  count_routes(planned, plan);
  plan->sections = make_sections(planned, plan->segments);
  return std::nullopt;
}

}  // namespace

NaivePlan naive_plan(const attnplan_config& config, const attnplan_step& step,
                     const attnplan_group* group) {
  NaivePlan plan;
  plan.error = fill(config, step, group, &plan);
  return plan;
}

}  // namespace attnplan::oracle
