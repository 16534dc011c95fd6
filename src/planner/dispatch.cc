#include "planner/dispatch.h"

#include <bit>

#include "planner/measure.h"
#include "planner/scratch.h"
#include "planner/state.h"
#include "planner/step_scan.h"
#include "planner/witness.h"

namespace attnplan {
namespace {

using ll = long long;

// As src/kv/kv_cache.cc: a packed V view starts pages_per_block pages into the storage.
int64_t k_storage_pages(const KvCache& cache, const KvView& view) {
  return int64_t{cache.num_blocks} * view.block_page_stride;
}
int64_t v_storage_pages(const KvCache& cache, const KvView& view) {
  return k_storage_pages(cache, view) - (cache.packed ? view.pages_per_block : 0);
}

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
    if (status == Status::kOk) status = check_views(declared_pages(), contract_.equal_kv_rows);
    if (status == Status::kOk) status = check_views(declared_scales(), contract_.equal_scale_rows);
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
    if (d_.row_begin == 0 && d_.row_end == 0) return Status::kOk;  // not declared
    int64_t begin = 0, end = 0;
    for (int32_t i = 0; i < d_.req_end; ++i) {
      end += lanes_.query_lens[i];
      if (i < d_.req_begin) begin = end;
    }
    if (d_.row_begin == begin && d_.row_end == end) return check_borders();
    return fail(
        Code::kRowCountMismatch, d_.req_begin, int64_t{d_.row_end} - d_.row_begin, end - begin,
        "%s: rows [%d, %d) were declared, but requests [%d, %d) have rows [%lld, %lld)",
        kernel_name(), d_.row_begin, d_.row_end, d_.req_begin, d_.req_end, ll{begin}, ll{end});
  }

  // Nor are the host's rows certain where the device may move some of them past a border.
  Status check_borders() {
    for (const int32_t border : {d_.req_begin, d_.req_end}) {
      if (!rows_may_move_past(lanes_, border)) continue;
      return fail(Code::kRowCountMismatch, border, int64_t{d_.row_end} - d_.row_begin, 0,
                  "%s: rows [%d, %d) were declared, but query lengths are inexact on both sides of "
                  "request %d: the device may move rows from one side to the other",
                  kernel_name(), d_.row_begin, d_.row_end, border);
    }
    return Status::kOk;
  }

  Status check_contract(const Facts& facts, Range live) {
    const uint32_t reasons = refusals(kernel_, facts, lanes_, live);
    if (reasons == 0) return Status::kOk;
    buffers_.failed_refusals.assign(1, {d_.kernel, reasons});
    buffers_.failed_requests.clear();
    Sentence text;
    const Witness first = witness(evidence(live), static_cast<Reason>(std::countr_zero(reasons)));
    for (int32_t r = 0; r < kNumReasons; ++r) {
      if ((reasons >> r & 1u) == 0) continue;
      if (!text.view().empty()) text.add("; ");
      add_refusal(evidence(live), static_cast<Reason>(r), &text);
    }
    return fail(Code::kNoRoute, first.request, first.value, first.limit, "%s", text.c_str());
  }

  Evidence evidence(Range live) const { return {state_, d_.kernel, lanes_, live}; }

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

  // One of a pair of views: pages declared (0: not), and what the cache has (0: not known).
  struct View {
    const char* name;
    int64_t pages;
    int64_t most;
  };
  struct Views {
    View k;
    View v;
  };

  Views declared_pages() const {
    const bool known = state_.view.has_value();
    return {{"K", d_.k_pages, known ? state_.view->k_pages : 0},
            {"V", d_.v_pages, known ? state_.view->v_pages : 0}};
  }

  Views declared_scales() const {
    Views views = {{"K scale", d_.k_scale_pages, 0}, {"V scale", d_.v_scale_pages, 0}};
    if (!state_.view || state_.config.kv_cache->scale != Scale::kTokenHead) return views;
    const KvCache& cache = *state_.config.kv_cache;
    views.k.most =
        cache.k_scale_pages > 0 ? cache.k_scale_pages : k_storage_pages(cache, *state_.view);
    views.v.most =
        cache.v_scale_pages > 0 ? cache.v_scale_pages : v_storage_pages(cache, *state_.view);
    return views;
  }

  Status check_views(const Views& views, bool equal) {
    const View &k = views.k, &v = views.v;
    if (equal && k.pages > 0 && v.pages > 0 && k.pages != v.pages) {
      return untrimmed(views, k.pages, v.pages, "has");
    }
    // The other one of an untrimmed view can never be as long.
    if (equal && v.most > 0 && k.most >= k.pages && k.pages > v.most) {
      return untrimmed(views, k.pages, v.most, "can have");
    }
    if (equal && k.most > 0 && v.most >= v.pages && v.pages > k.most) {
      return untrimmed({v, k}, v.pages, k.most, "can have");
    }
    const Status status = check_view(k);
    return status != Status::kOk ? status : check_view(v);
  }

  Status untrimmed(const Views& views, int64_t pages, int64_t other, const char* has) {
    return fail(Code::kKvRowsUnaddressable, -1, pages, other,
                "%s wants views of one length: %s has %lld pages, %s %s %lld; trim %s to %s",
                kernel_name(), views.k.name, ll{pages}, views.v.name, has, ll{other}, views.k.name,
                views.v.name);
  }

  Status check_view(const View& view) {
    if (view.pages == 0) return Status::kOk;
    const int64_t last = state_.view ? state_.view->max_page_id : -1;
    if (view.pages <= last) {
      return fail(Code::kKvRowsUnaddressable, -1, last, view.pages,
                  "%s: page id %lld is addressable, but the %s view has %lld pages", kernel_name(),
                  ll{last}, view.name, ll{view.pages});
    }
    if (view.most == 0 || view.pages <= view.most) return Status::kOk;
    return fail(Code::kKvRowsUnaddressable, -1, view.pages, view.most,
                "%s: a %s view of %lld pages was declared, the cache has %lld", kernel_name(),
                view.name, ll{view.pages}, ll{view.most});
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
