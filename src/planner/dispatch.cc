#include "planner/dispatch.h"

#include <algorithm>
#include <cstdio>

#include "planner/measure.h"
#include "planner/scratch.h"
#include "planner/state.h"
#include "planner/step_scan.h"

namespace attnplan {
namespace {

using ll = long long;

class Judge {
 public:
  Judge(const Planner& planner, const Dispatch& dispatch, const Lanes& lanes,
        Scratch::Buffers& buffers, Error* error)
      : state_(planner.state()),
        contract_(planner.contract(dispatch.kernel)),
        kernel_(state_.kernels[static_cast<size_t>(dispatch.kernel)]),
        d_(dispatch),
        lanes_(lanes),
        buffers_(buffers),
        error_(error) {}

  Status run() {
    if (const Status status = check_rows(); status != Status::kOk) return status;
    const Range live = trim(lanes_, {d_.req_begin, d_.req_end});
    if (live.empty()) return Status::kOk;
    const Facts facts = measure(lanes_, live, *state_.isa);
    Status status = check_contract(facts, live);
    if (status == Status::kOk) status = check_maxima(facts, live);
    if (status == Status::kOk) status = check_label();
    if (status == Status::kOk) {
      status = check_views("KV", contract_.equal_kv_rows, d_.k_pages, d_.v_pages);
    }
    if (status == Status::kOk) {
      status = check_views("scale", contract_.equal_scale_rows, d_.k_scale_pages, d_.v_scale_pages);
    }
    return status;
  }

 private:
  const char* kernel_name() const { return contract_.name.c_str(); }

  template <typename... Args>
  Status fail(Code code, int32_t request, int64_t value, int64_t limit, const char* format,
              Args... args) {
    return error_->set(Status::kPlanError, code, request, value, limit, format, args...);
  }

  // The rows must be exactly those of the requests: a kernel handed others attends a neighbour.
  Status check_rows() {
    int64_t begin = 0, end = 0;
    for (int32_t i = 0; i < d_.req_end; ++i) {
      end += lanes_.query_lens[i];
      if (i < d_.req_begin) begin = end;
    }
    if (d_.row_begin == begin && d_.row_end == end) return Status::kOk;
    return fail(
        Code::kRowCountMismatch, d_.req_begin, int64_t{d_.row_end} - d_.row_begin, end - begin,
        "%s: rows [%d, %d) were declared, but requests [%d, %d) have rows [%lld, %lld)",
        kernel_name(), d_.row_begin, d_.row_end, d_.req_begin, d_.req_end, ll{begin}, ll{end});
  }

  Status check_contract(const Facts& facts, Range live) {
    const uint32_t reasons = refusals(kernel_, facts, lanes_, live);
    if (reasons == 0) return Status::kOk;
    buffers_.failed_refusals.assign(1, {d_.kernel, reasons});
    buffers_.failed_requests.clear();
    int32_t first = live.begin;
    char names[256] = {};
    size_t used = 0;
    for (int r = 0; r < kNumReasons; ++r) {
      if ((reasons >> r & 1u) == 0) continue;
      const int written = std::snprintf(names + used, sizeof names - used, "%s%s",
                                        used > 0 ? ", " : "", name(static_cast<Reason>(r)));
      used = std::min(sizeof names - 1, used + static_cast<size_t>(written));
    }
    if (reasons & bit(Reason::kRagged)) {
      while (lanes_.query_lens[first] == lanes_.query_lens[live.begin] ||
             lanes_.query_lens[first] == 0) {
        ++first;
      }
      return fail(Code::kNoRoute, first, lanes_.query_lens[first], lanes_.query_lens[live.begin],
                  "%s refused: %s; request %d has %d %s, request %d has %d", kernel_name(), names,
                  first, lanes_.query_lens[first], lanes_.query_lens[first] == 1 ? "row" : "rows",
                  live.begin, lanes_.query_lens[live.begin]);
    }
    if (reasons & bit(Reason::kInteriorPad)) {
      while (lanes_.query_lens[first] > 0) ++first;
      return fail(Code::kNoRoute, first, 0, 0,
                  "%s refused: %s; request %d is a pad between live requests", kernel_name(), names,
                  first);
    }
    return fail(Code::kNoRoute, first, facts.max_query_len, 0, "%s refused: %s", kernel_name(),
                names);
  }

  // First live request for which `beyond` holds.
  template <typename Beyond>
  int32_t find(Range live, Beyond beyond) const {
    for (int32_t i = live.begin; i < live.end; ++i) {
      if (lanes_.query_lens[i] > 0 && beyond(i)) return i;
    }
    return -1;
  }

  Status check_maxima(const Facts& facts, Range live) {
    if (d_.max_query_len != 0 && d_.max_query_len < facts.max_query_len) {
      const int32_t request =
          find(live, [this](int32_t i) { return lanes_.query_lens[i] > d_.max_query_len; });
      return fail(Code::kQueryLenBoundTooSmall, request, facts.max_query_len, d_.max_query_len,
                  "%s: max_query_len %d was declared, measured is %d", kernel_name(),
                  d_.max_query_len, facts.max_query_len);
    }
    // It maps row / max_query_len to a request: a larger one is as wrong as a smaller one.
    if (kernel_.uniform && d_.max_query_len != 0 && d_.max_query_len != facts.max_query_len) {
      return fail(Code::kQueryLenBoundTooSmall, live.begin, facts.max_query_len, d_.max_query_len,
                  "%s maps row / max_query_len to a request: %d was declared, the width is %d",
                  kernel_name(), d_.max_query_len, facts.max_query_len);
    }
    if (d_.max_seq_len != 0 && d_.max_seq_len < facts.max_seq_len) {
      const int32_t request =
          find(live, [this](int32_t i) { return lanes_.seq_lens[i] > d_.max_seq_len; });
      return fail(Code::kValueOutOfRange, request, facts.max_seq_len, d_.max_seq_len,
                  "%s: max_seq_len %d was declared, measured is %d", kernel_name(), d_.max_seq_len,
                  facts.max_seq_len);
    }
    return Status::kOk;
  }

  Status check_label() {
    if (d_.label == Dtype::kNone || !state_.view || d_.label == kernel_.label) return Status::kOk;
    return fail(Code::kDtypeMismatch, -1, static_cast<int64_t>(d_.label),
                static_cast<int64_t>(kernel_.label),
                "%s dispatches on dtype: its cache argument is labelled %s, it must be %s",
                kernel_name(), name(d_.label), name(kernel_.label));
  }

  Status check_views(const char* what, bool equal, int64_t k, int64_t v) {
    if (k == 0 || v == 0) return Status::kOk;
    if (equal && k != v) {
      return fail(Code::kKvRowsUnaddressable, -1, k, v,
                  "%s wants %s views of one length: K has %lld pages, V %lld; trim K to V",
                  kernel_name(), what, ll{k}, ll{v});
    }
    const int64_t last = state_.view ? state_.view->max_page_id : -1;
    if (k > last && v > last) return Status::kOk;
    return fail(Code::kKvRowsUnaddressable, -1, last, std::min(k, v),
                "%s: page id %lld is addressable, but the %s views have %lld and %lld pages",
                kernel_name(), ll{last}, what, ll{k}, ll{v});
  }

  const Planner::State& state_;
  const Contract& contract_;
  const Kernel& kernel_;
  const Dispatch& d_;
  const Lanes& lanes_;
  Scratch::Buffers& buffers_;
  Error* error_;
};

}  // namespace

Status check_dispatch(const Planner& planner, const Step& step, const Dispatch& dispatch,
                      Scratch* scratch, Error* error) {
  const auto invalid = [error](const char* why) {
    return error->set(Status::kInvalidArgument, Code::kNone, -1, 0, 0, "%s", why);
  };
  if (dispatch.kernel < 0 || dispatch.kernel >= planner.num_kernels()) {
    return invalid("the planner's profile has no such kernel");
  }
  if (dispatch.req_begin < 0 || dispatch.req_end < dispatch.req_begin ||
      dispatch.req_end > step.num_reqs) {
    return invalid("the range of requests is not inside the step");
  }
  StepScan scan;
  Scratch::Buffers& buffers = scratch->buffers();
  const Status status = scan_and_validate(planner.state(), step, buffers, &scan, error);
  if (status != Status::kOk) return status;
  classify_exactness(planner.config(), step, buffers, &scan.lanes);
  return Judge(planner, dispatch, scan.lanes, buffers, error).run();
}

}  // namespace attnplan
