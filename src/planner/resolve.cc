#include "planner/resolve.h"

#include <algorithm>
#include <string_view>

#include "planner/cost.h"
#include "planner/measure.h"
#include "planner/scratch.h"
#include "planner/sentence.h"
#include "planner/state.h"
#include "planner/witness.h"

namespace attnplan {
namespace {

class Failure {
 public:
  Failure(const Planner::State& state, const RoutingInput& in, Scratch::Buffers& buffers)
      : state_(state), in_(in), buffers_(buffers) {}

  // True where a kernel tried for what is left was refused for inexact lengths alone.
  bool needs_exact_lengths() const {
    const auto& trials = buffers_.routing.trials;
    return std::any_of(trials.begin(), trials.end(), [this](const Trial& trial) {
      return trial.reasons == bit(Reason::kSeqLensNotExact) && concerns_left(trial);
    });
  }

  Status report(Error* error) const {
    const bool exact = needs_exact_lengths();
    collect_requests(exact);
    collect_refusals();
    const auto& requests = buffers_.failed_requests;
    const int32_t first = requests.empty() ? -1 : requests.front();
    const auto count = static_cast<int64_t>(requests.size());
    const Code code = exact ? Code::kNeedExactSeqLens : Code::kNoRoute;
    return error->set(Status::kPlanError, code, first, count, 0, "%s",
                      sentence(exact, first).c_str());
  }

 private:
  // A trial on requests that are left, or a decode kernel's on a D of which a part is left.
  bool concerns_left(const Trial& trial) const {
    return std::any_of(buffers_.routing.left.begin(), buffers_.routing.left.end(), [&](Range left) {
      const bool whole_d = trial.range == in_.parts.decode;
      return contains(left, trial.range) ||
             (whole_d && left.begin < trial.range.end && trial.range.begin < left.end);
    });
  }

  void collect_requests(bool inexact_only) const {
    const Lanes& lanes = *in_.lanes;
    auto& requests = buffers_.failed_requests;
    requests.clear();
    for (const Range left : buffers_.routing.left) {
      for (int32_t i = left.begin; i < left.end; ++i) {
        if (lanes.query_lens[i] == 0) continue;
        if (inexact_only && !(lanes.inexact && (lanes.inexact[i] & kSeqInexact))) continue;
        requests.push_back(lanes.input_request(i));
      }
    }
    std::sort(requests.begin(), requests.end());
  }

  void collect_refusals() const {
    auto& refusals = buffers_.failed_refusals;
    refusals.clear();
    for (const Trial& trial : buffers_.routing.trials) {
      if (!concerns_left(trial)) continue;
      auto same = std::find_if(refusals.begin(), refusals.end(),
                               [&](const auto& r) { return r.first == trial.kernel; });
      if (same == refusals.end()) {
        refusals.emplace_back(trial.kernel, trial.reasons);
      } else {
        same->second |= trial.reasons;
      }
    }
    std::sort(refusals.begin(), refusals.end());
  }

  // What happened, and every refusal with the request or figure that was in the way.
  Sentence sentence(bool exact, int32_t first) const {
    const size_t count = buffers_.failed_requests.size();
    Sentence text;
    text.add("no kernel {}takes ", exact ? "" : "of the profile ");
    if (count == 1) {
      text.add("request {}{}", first, exact ? " with a length that is only a bound" : "");
    } else {
      text.add("{} requests{}, the first is {}", count,
               exact ? " with lengths that are only bounds" : "", first);
    }
    for (const auto& [kernel, reasons] : buffers_.failed_refusals) {
      for (int32_t r = 0; r < kNumReasons; ++r) {
        if ((reasons >> r & 1u) != 0 && !add(kernel, static_cast<Reason>(r), &text)) return text;
      }
    }
    return text;
  }

  // False, and an ellipsis, where it does not fit.
  bool add(int32_t kernel, Reason reason, Sentence* text) const {
    constexpr std::string_view kMore = "; ...";
    const auto tried = std::find_if(
        buffers_.routing.trials.begin(), buffers_.routing.trials.end(), [&](const Trial& trial) {
          return trial.kernel == kernel && (trial.reasons & bit(reason)) != 0 &&
                 concerns_left(trial);
        });
    Sentence refusal;
    refusal.add("; ");
    add_refusal({state_, kernel, *in_.lanes, tried->range}, reason, &refusal);
    const size_t left = Sentence::kMost - text->view().size();
    if (refusal.view().size() + kMore.size() <= left) return text->append(refusal.view());
    text->append(kMore);
    return false;
  }

  const Planner::State& state_;
  const RoutingInput& in_;
  Scratch::Buffers& buffers_;
};

}  // namespace

namespace {

// The cheapest of the three policies by the cost model; the first of equals.
Ragged cheapest(const Config& config, const RoutingInput& in, RoutingBuffers* routing,
                int64_t* costs) {
  constexpr Ragged kPolicies[] = {Ragged::kDemote, Ragged::kUniformPrefix, Ragged::kSplitRuns};
  Ragged best = Ragged::kDemote;
  int64_t least = -1;
  for (int i = 0; i < 3; ++i) {
    const bool ok = route(in, kPolicies[i], routing).ok;
    costs[i] = ok ? predicted_nanoseconds(config, *in.kernels, routing->segments) : -1;
    if (ok && (least < 0 || costs[i] < least)) {
      least = costs[i];
      best = kPolicies[i];
    }
  }
  return best;
}

}  // namespace

Status resolve(const Planner::State& state, const RoutingInput& in, Ragged policy,
               Scratch::Buffers& buffers, Resolution* resolution, Error* error) {
  const Config& config = state.config;
  RoutingBuffers& routing = buffers.routing;
  if (policy == Ragged::kAuto) policy = cheapest(config, in, &routing, resolution->costs);
  RoutingResult result = route(in, policy, &routing);
  Ragged* applied = &resolution->policy;
  *applied = result.policy;
  if (result.ok) return Status::kOk;
  const bool retry = Failure(state, in, buffers).needs_exact_lengths() &&
                     policy != Ragged::kSplitRuns && result.policy != Ragged::kDefault &&
                     !has_inexact_query(*in.lanes, in.parts.decode);
  if (retry) {
    result = route(in, Ragged::kSplitRuns, &routing);
    *applied = result.policy;
    if (result.ok) return Status::kOk;
    route(in, policy, &routing);  // the failure to report is that of the policy asked for
  }
  return Failure(state, in, buffers).report(error);
}

void append_refusals(const RoutingInput& in, const RoutedSegment& segment,
                     const RoutingBuffers& routing, std::pmr::vector<uint32_t>* by_kernel,
                     std::pmr::vector<attnplan_refusal>* refusals) {
  const auto& kernels = *in.kernels;
  const Range decode = in.parts.decode;
  const bool is_decode = kernels[static_cast<size_t>(segment.kernel)].route == Route::kDecode;
  const bool took_decodes =
      !is_decode && segment.range.begin < decode.end && decode.begin < segment.range.end;
  by_kernel->assign(kernels.size(), 0);
  for (const Trial& trial : routing.trials) {
    const auto kernel = static_cast<size_t>(trial.kernel);
    const bool of_whole_decode =
        took_decodes && trial.range == decode && kernels[kernel].route == Route::kDecode;
    if (trial.range == segment.range || of_whole_decode) (*by_kernel)[kernel] |= trial.reasons;
  }
  for (size_t k = 0; k < kernels.size(); ++k) {
    if ((*by_kernel)[k] != 0) refusals->push_back({static_cast<int32_t>(k), (*by_kernel)[k]});
  }
}

}  // namespace attnplan
