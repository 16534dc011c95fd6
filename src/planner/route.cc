#include "planner/route.h"

#include <algorithm>

#include "planner/measure.h"
#include "planner/runs.h"

namespace attnplan {
namespace {

class Router {
 public:
  Router(const RoutingInput& in, RoutingBuffers* buffers)
      : in_(in), kernels_(*in.kernels), lanes_(*in.lanes), buffers_(*buffers) {
    buffers_.segments.clear();
    buffers_.trials.clear();
    buffers_.left.clear();
  }

  RoutingResult run(Ragged policy) {
    RoutingResult result;
    Range extend = in_.parts.extend;
    if (!in_.parts.decode.empty() && !keep_whole(in_.parts.decode)) {
      const Range rest = cut_decodes(policy);
      const bool kept =
          std::any_of(buffers_.segments.begin(), buffers_.segments.end(),
                      [this](const RoutedSegment& s) { return route_of(s) == Route::kDecode; });
      result.policy = kept ? policy : Ragged::kDemote;
      extend = hull(rest, extend);
    }
    route_prompts(extend, in_.parts.prefill);
    result.ok = buffers_.left.empty();
    return result;
  }

 private:
  Route route_of(const RoutedSegment& segment) const {
    return kernels_[static_cast<size_t>(segment.kernel)].route;
  }
  bool has(Route wanted) const {
    return std::any_of(kernels_.begin(), kernels_.end(),
                       [wanted](const Kernel& kernel) { return kernel.route == wanted; });
  }

  // The scan has measured all live requests (where a draft step was cut, before the cut). Other
  // ranges are measured once per step, also for several planners and policies.
  void find_facts(Range range, Facts* facts) {
    constexpr size_t kMostKnown = 8;
    const ScanResult& scan = *in_.scan;
    if (range.begin == scan.first_live && range.end == scan.last_live + 1 &&
        lanes_.cut == nullptr) {
      return make_facts(lanes_, range, scan.all, facts);
    }
    auto& known = buffers_.known_facts;
    for (const KnownFacts& k : known) {
      if (k.range == range) {
        *facts = k.facts;
        return;
      }
    }
    measure(lanes_, range, *in_.isa, facts);
    if (known.size() == kMostKnown) known.pop_back();
    known.push_back({range, *facts});
  }

  // The first kernel of the route that admits `range` gets it; the others' reasons are kept.
  bool try_route(Route wanted, Range range) {
    RoutedSegment& segment = buffers_.segments.emplace_back();
    segment.range = range;
    find_facts(range, &segment.facts);
    for (size_t k = 0; k < kernels_.size(); ++k) {
      if (kernels_[k].route != wanted) continue;
      const uint32_t reasons = refusals(kernels_[k], segment.facts, lanes_, range);
      if (reasons == 0) {
        segment.kernel = static_cast<int32_t>(k);
        return true;
      }
      buffers_.trials.push_back({static_cast<int32_t>(k), range, reasons});
    }
    buffers_.segments.pop_back();
    return false;
  }

  bool keep_whole(Range decode) {
    if (!rows_may_move_past(lanes_, decode.end)) return try_route(Route::kDecode, decode);
    keep_refusals(Route::kDecode, decode, bit(Reason::kQueryLensNotExact));
    return false;
  }

  // Keeps what the policy allows of D on decode kernels; what is returned joins E (or P).
  Range cut_decodes(Ragged policy) {
    const Range decode = in_.parts.decode;
    if (has_inexact_query(lanes_, decode)) return decode;  // never cut
    switch (policy) {
      case Ragged::kUniformPrefix:
        return keep_prefix(decode);
      case Ragged::kSplitRuns:
        return keep_runs(decode);
      default:
        return decode;
    }
  }

  // End of the longest run from `begin` that some decode kernel admits; `begin` where none does,
  // and then the refusals are kept. Where too few requests stand in a run, no later start inside it
  // can do better: run_skip remembers its end per kernel, so that all starts together stay linear.
  int32_t longest_run(int32_t begin, int32_t end) {
    int32_t best = begin;
    for (size_t k = 0; k < kernels_.size(); ++k) {
      if (kernels_[k].route != Route::kDecode || begin < buffers_.run_skip[k]) continue;
      int32_t num_live = 0;
      const int32_t reached =
          run_end(kernels_[k], lanes_, begin, end, Exactness::kDemanded, &num_live);
      if (num_live < kernels_[k].min_requests) {
        buffers_.run_skip[k] = reached;
      } else {
        best = std::max(best, reached);
      }
    }
    if (best == begin) keep_refusals_of_runs(begin, end);
    return best;
  }

  void keep_refusals_of_runs(int32_t begin, int32_t end) {
    keep_refusals(Route::kDecode, {begin, begin + 1});
    for (size_t k = 0; k < kernels_.size(); ++k) {
      if (kernels_[k].route != Route::kDecode || !kernels_[k].exact_seq_lens) continue;
      if (begin < buffers_.probe_skip[k]) continue;
      // The run that the kernel would take if it did not need exact lengths.
      int32_t num_live = 0;
      const int32_t reached =
          run_end(kernels_[k], lanes_, begin, end, Exactness::kIgnored, &num_live);
      buffers_.probe_skip[k] = reached;
      if (reached > begin + 1) keep_refusals(Route::kDecode, {begin, reached});
    }
  }

  void keep_refusals(Route wanted, Range range, uint32_t always = 0) {
    Facts facts;
    measure(lanes_, range, *in_.isa, &facts);
    for (size_t k = 0; k < kernels_.size(); ++k) {
      if (kernels_[k].route != wanted) continue;
      const uint32_t reasons = always | refusals(kernels_[k], facts, lanes_, range);
      if (reasons != 0) buffers_.trials.push_back({static_cast<int32_t>(k), range, reasons});
    }
  }

  void forget_runs() {
    buffers_.run_skip.assign(kernels_.size(), 0);
    buffers_.probe_skip.assign(kernels_.size(), 0);
  }

  Range keep_prefix(Range decode) {
    forget_runs();
    const int32_t end = longest_run(decode.begin, decode.end);
    if (end == decode.begin) return decode;
    try_route(Route::kDecode, {decode.begin, end});
    return trim(lanes_, {end, decode.end});
  }

  Range keep_runs(Range decode) {
    if (!has(Route::kDecode)) return decode;
    forget_runs();
    int32_t decodes = 0;
    int32_t refused_begin = decode.begin;  // requests [refused_begin, at) wait for a kernel
    int32_t at = decode.begin;
    while (at < decode.end && decodes < in_.max_segments) {
      const int32_t end = longest_run(at, decode.end);
      if (end == at) {
        at = next_live(at + 1, decode.end);
        continue;
      }
      route_refused(trim(lanes_, {refused_begin, at}));
      try_route(Route::kDecode, {at, end});
      ++decodes;
      at = refused_begin = next_live(end, decode.end);
    }
    const Range rest = trim(lanes_, {refused_begin, decode.end});
    if (!rest.empty() && decodes < in_.max_segments) keep_refusals(Route::kDecode, rest);
    return rest;
  }

  int32_t next_live(int32_t at, int32_t end) const {
    while (at < end && lanes_.query_lens[at] == 0) ++at;
    return at;
  }

  // Requests between two runs that no decode kernel takes.
  void route_refused(Range range) {
    if (range.empty()) return;
    keep_refusals(Route::kDecode, range);
    if (try_route(Route::kExtend, range) || try_route(Route::kPrefill, range)) return;
    buffers_.left.push_back(range);
  }

  void route_prompts(Range extend, Range prefill) {
    const bool has_extend = has(Route::kExtend);
    if (!prefill.empty() && (has_extend || extend.empty())) {
      if (try_route(Route::kPrefill, prefill)) {
        if (extend.empty()) return;
      } else if (has_extend) {
        extend = hull(extend, prefill);
        prefill = Range{};
      } else {
        buffers_.left.push_back(prefill);
        return;
      }
    }
    if (extend.empty()) return;
    if (has_extend && try_route_before(Route::kExtend, extend, prefill)) return;
    // E joins P: a prefill kernel must admit the union.
    if (has_extend && !prefill.empty()) buffers_.segments.pop_back();
    const Range all = hull(extend, prefill);
    if (!try_route(Route::kPrefill, all)) buffers_.left.push_back(all);
  }

  // As try_route, but keeps plan order where P already has its segment.
  bool try_route_before(Route wanted, Range range, Range behind) {
    if (!try_route(wanted, range)) return false;
    auto& segments = buffers_.segments;
    if (!behind.empty()) std::swap(segments[segments.size() - 1], segments[segments.size() - 2]);
    return true;
  }

  const RoutingInput& in_;
  const std::pmr::vector<Kernel>& kernels_;
  const Lanes& lanes_;
  RoutingBuffers& buffers_;
};

}  // namespace

RoutingResult route(const RoutingInput& in, Ragged policy, RoutingBuffers* buffers) {
  return Router(in, buffers).run(policy);
}

}  // namespace attnplan
