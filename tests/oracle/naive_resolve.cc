// Section 4's resolution: which kernel gets which range of requests.
#include <algorithm>

#include "naive_parts.h"

namespace attnplan::oracle {
namespace {

struct Refused {  // one kernel, asked for one range, said no
  Range range;
  attnplan_route route;
  int kernel;
  uint32_t reasons;
};

class Resolver {
 public:
  Resolver(const NaiveSetup& setup, std::span<const NaiveRequest> requests)
      : setup_(setup), requests_(requests) {
    find_parts();
  }

  Resolution run();

 private:
  struct Outcome {
    std::vector<RoutedRange> segments;
    std::vector<Range> left;  // without a kernel
    bool whole = false;       // D was admitted whole
  };

  void find_parts();
  Range trim(Range range) const;
  Range hull(const Range& a, const Range& b) const;
  std::span<const NaiveRequest> slice(const Range& range) const;
  int choose(attnplan_route route, const Range& range);
  bool exact_query_lens(const Range& range) const;
  bool decode_rows_certain() const;

  Outcome attempt(attnplan_ragged_policy policy);
  Range uniform_prefix(Outcome* outcome);
  Range split_runs(Outcome* outcome, std::vector<Range>* islands);
  void place_island(const Range& island, Outcome* outcome);
  void place_rest(Range rest, Outcome* outcome);

  std::vector<NaiveRefusal> reasons_for(const RoutedRange& segment) const;
  NaiveError failure(const Outcome& outcome) const;
  Resolution success(Outcome outcome, attnplan_ragged_policy policy) const;

  const NaiveSetup& setup_;
  const std::span<const NaiveRequest> requests_;
  Range d_, e_, p_;
  std::vector<Refused> refused_;  // of the current attempt
};

Range Resolver::trim(Range range) const {
  while (range.begin < range.end && !requests_[range.begin].live()) ++range.begin;
  while (range.begin < range.end && !requests_[range.end - 1].live()) --range.end;
  return range;
}

Range Resolver::hull(const Range& a, const Range& b) const {
  if (a.empty()) return b;
  if (b.empty()) return a;
  return {std::min(a.begin, b.begin), std::max(a.end, b.end)};
}

std::span<const NaiveRequest> Resolver::slice(const Range& range) const {
  return requests_.subspan(range.begin, range.end - range.begin);
}

void Resolver::find_parts() {
  const Range batch = trim({0, static_cast<int>(requests_.size())});
  const auto is = [this](int i, Class cls) {
    return requests_[i].cls == cls || requests_[i].cls == Class::kPad;
  };
  int d_end = batch.begin;
  while (d_end < batch.end && is(d_end, Class::kDecode)) ++d_end;
  int p_begin = batch.end;
  while (p_begin > d_end && is(p_begin - 1, Class::kPrefill)) --p_begin;
  d_ = trim({batch.begin, d_end});
  e_ = trim({d_end, p_begin});
  p_ = trim({p_begin, batch.end});
}

bool Resolver::exact_query_lens(const Range& range) const {
  const std::span<const NaiveRequest> part = slice(range);
  return std::all_of(part.begin(), part.end(),
                     [](const NaiveRequest& request) { return request.exact_query; });
}

// Only the sum over all verify requests is known: how many of their rows are D's is not, once some
// of these requests stand behind D.
bool Resolver::decode_rows_certain() const {
  if (exact_query_lens(d_)) return true;
  return exact_query_lens({d_.end, static_cast<int>(requests_.size())});
}

// The first kernel of the route that admits the range, or -1.
int Resolver::choose(attnplan_route route, const Range& range) {
  const std::span<const NaiveRequest> part = slice(range);
  for (size_t k = 0; k < setup_.kernels.size(); ++k) {
    if (setup_.kernels[k].route != route) continue;
    uint32_t reasons = refusal(setup_, setup_.kernels[k], part);
    if (route == ATTNPLAN_ROUTE_DECODE && range == d_ && !decode_rows_certain()) {
      reasons |= 1u << ATTNPLAN_REASON_QUERY_LENS_NOT_EXACT;
    }
    if (reasons == 0) return static_cast<int>(k);
    refused_.push_back({range, route, static_cast<int>(k), reasons});
  }
  return -1;
}

// The longest prefix that a decode kernel admits stays; returns the rest.
Range Resolver::uniform_prefix(Outcome* outcome) {
  for (int end = d_.end - 1; end > d_.begin; --end) {
    if (!requests_[end - 1].live()) continue;
    const Range prefix{d_.begin, end};
    const int kernel = choose(ATTNPLAN_ROUTE_DECODE, prefix);
    if (kernel < 0) continue;
    outcome->segments.push_back({prefix, ATTNPLAN_ROUTE_DECODE, kernel, {}});
    return trim({end, d_.end});
  }
  return d_;
}

// Greedy runs from the left. Refused requests between two runs become islands; those behind the
// last run, and everything behind the last run that is allowed, is the rest.
Range Resolver::split_runs(Outcome* outcome, std::vector<Range>* islands) {
  Range refused{d_.begin, d_.begin};
  int begin = d_.begin;
  int64_t runs = 0;
  while (begin < d_.end && runs < setup_.max_segments) {
    int kernel = -1, end = d_.end;
    for (; end > begin && requests_[begin].live(); --end) {
      if (!requests_[end - 1].live()) continue;
      kernel = choose(ATTNPLAN_ROUTE_DECODE, {begin, end});
      if (kernel >= 0) break;
    }
    if (kernel < 0) {
      refused.end = ++begin;
      continue;
    }
    if (const Range island = trim(refused); !island.empty()) islands->push_back(island);
    outcome->segments.push_back({{begin, end}, ATTNPLAN_ROUTE_DECODE, kernel, {}});
    ++runs;
    begin = end;
    refused = {end, end};
  }
  return trim({refused.begin, d_.end});
}

void Resolver::place_island(const Range& island, Outcome* outcome) {
  for (attnplan_route route : {ATTNPLAN_ROUTE_EXTEND, ATTNPLAN_ROUTE_PREFILL}) {
    const int kernel = choose(route, island);
    if (kernel < 0) continue;
    outcome->segments.push_back({island, route, kernel, {}});
    return;
  }
  outcome->left.push_back(island);
}

// Steps 2 and 3, with what came from D.
void Resolver::place_rest(Range rest, Outcome* outcome) {
  const bool has_extend = setup_.has_kernel(ATTNPLAN_ROUTE_EXTEND);
  Range e = e_, p = p_;
  if (has_extend) {
    e = hull(rest, e);
  } else {
    p = hull(rest, hull(e, p));
    e = {};
  }
  int prefill = p.empty() ? -1 : choose(ATTNPLAN_ROUTE_PREFILL, p);
  if (!p.empty() && prefill < 0 && has_extend) {
    e = hull(e, p);
    p = {};
  }
  if (!e.empty()) {
    const int extend = choose(ATTNPLAN_ROUTE_EXTEND, e);
    if (extend >= 0) {
      outcome->segments.push_back({e, ATTNPLAN_ROUTE_EXTEND, extend, {}});
    } else {
      p = hull(e, p);
      prefill = choose(ATTNPLAN_ROUTE_PREFILL, p);
    }
  }
  if (p.empty()) return;
  if (prefill >= 0) {
    outcome->segments.push_back({p, ATTNPLAN_ROUTE_PREFILL, prefill, {}});
  } else {
    outcome->left.push_back(p);
  }
}

Resolver::Outcome Resolver::attempt(attnplan_ragged_policy policy) {
  refused_.clear();
  Outcome outcome;
  Range rest;
  std::vector<Range> islands;
  if (!d_.empty()) {
    const int kernel = choose(ATTNPLAN_ROUTE_DECODE, d_);
    outcome.whole = kernel >= 0;
    if (outcome.whole) {
      outcome.segments.push_back({d_, ATTNPLAN_ROUTE_DECODE, kernel, {}});
    } else if (policy == ATTNPLAN_RAGGED_UNIFORM_PREFIX) {
      rest = uniform_prefix(&outcome);
    } else if (policy == ATTNPLAN_RAGGED_SPLIT_RUNS) {
      rest = split_runs(&outcome, &islands);
    } else {
      rest = d_;
    }
  }
  for (const Range& island : islands) place_island(island, &outcome);
  place_rest(rest, &outcome);
  return outcome;
}

void merge(const Refused& refused, std::vector<NaiveRefusal>* into) {
  for (NaiveRefusal& known : *into) {
    if (known.kernel != refused.kernel) continue;
    known.reasons |= refused.reasons;
    return;
  }
  into->push_back({refused.kernel, refused.reasons});
}

void sort_by_kernel(std::vector<NaiveRefusal>* refusals) {
  std::sort(refusals->begin(), refusals->end(),
            [](const NaiveRefusal& a, const NaiveRefusal& b) { return a.kernel < b.kernel; });
}

bool overlap(const Range& a, const Range& b) {
  return std::max(a.begin, b.begin) < std::min(a.end, b.end);
}

// Every kernel tried on exactly these requests, and, where they are of D, what refused D.
std::vector<NaiveRefusal> Resolver::reasons_for(const RoutedRange& segment) const {
  std::vector<NaiveRefusal> reasons;
  const bool took_in_d = segment.route != ATTNPLAN_ROUTE_DECODE && overlap(segment.range, d_);
  for (const Refused& refused : refused_) {
    const bool of_whole_d = refused.range == d_ && refused.route == ATTNPLAN_ROUTE_DECODE;
    if (refused.range == segment.range || (took_in_d && of_whole_d)) merge(refused, &reasons);
  }
  sort_by_kernel(&reasons);
  return reasons;
}

NaiveError Resolver::failure(const Outcome& outcome) const {
  std::vector<NaiveRefusal> refusals;
  bool only_exactness = false;
  for (const Refused& refused : refused_) {
    const bool of_whole_d = refused.range == d_ && refused.route == ATTNPLAN_ROUTE_DECODE;
    const bool concerns =
        std::any_of(outcome.left.begin(), outcome.left.end(), [&](const Range& left) {
          return left.contains(refused.range) || (of_whole_d && overlap(left, d_));
        });
    if (!concerns) continue;
    merge(refused, &refusals);
    only_exactness |= refused.reasons == 1u << ATTNPLAN_REASON_SEQ_LENS_NOT_EXACT;
  }
  sort_by_kernel(&refusals);

  std::vector<int32_t> requests;
  for (const Range& left : outcome.left) {
    for (const NaiveRequest& request : slice(left)) {
      if (request.live() && !(only_exactness && request.exact_seq)) {
        requests.push_back(request.input);
      }
    }
  }
  std::sort(requests.begin(), requests.end());
  NaiveError error = plan_error(
      only_exactness ? ATTNPLAN_CODE_NEED_EXACT_SEQ_LENS : ATTNPLAN_CODE_NO_ROUTE,
      requests.empty() ? -1 : requests.front(), static_cast<int64_t>(requests.size()), 0);
  error.refusals = refusals;
  error.requests = requests;
  return error;
}

Resolution Resolver::success(Outcome outcome, attnplan_ragged_policy policy) const {
  Resolution result;
  result.decode = d_;
  std::sort(
      outcome.segments.begin(), outcome.segments.end(),
      [](const RoutedRange& a, const RoutedRange& b) { return a.range.begin < b.range.begin; });
  bool any_decode = false;
  for (RoutedRange& segment : outcome.segments) {
    segment.refusals = reasons_for(segment);
    any_decode |= segment.route == ATTNPLAN_ROUTE_DECODE;
  }
  if (!d_.empty() && !outcome.whole) {
    result.policy = any_decode ? policy : ATTNPLAN_RAGGED_DEMOTE;
  }
  result.segments = std::move(outcome.segments);
  return result;
}

Resolution Resolver::run() {
  const bool may_cut = exact_query_lens(d_);
  const attnplan_ragged_policy policy = may_cut ? setup_.ragged : ATTNPLAN_RAGGED_DEMOTE;
  const Outcome first = attempt(policy);
  if (first.left.empty()) return success(first, policy);

  const NaiveError error = failure(first);
  if (error.code == ATTNPLAN_CODE_NEED_EXACT_SEQ_LENS && may_cut && !first.whole) {
    const Outcome second = attempt(ATTNPLAN_RAGGED_SPLIT_RUNS);
    if (second.left.empty()) return success(second, ATTNPLAN_RAGGED_SPLIT_RUNS);
  }
  Resolution result;
  result.error = error;
  return result;
}

}  // namespace

Resolution resolve_routes(const NaiveSetup& setup, std::span<const NaiveRequest> requests) {
  return Resolver(setup, requests).run();
}

}  // namespace attnplan::oracle
