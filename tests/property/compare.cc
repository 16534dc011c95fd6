#include "compare.h"

namespace attnplan::property {
namespace {

using oracle::NaiveError;
using oracle::NaivePlan;
using oracle::NaiveRefusal;
using oracle::NaiveSection;
using oracle::NaiveSegment;

class Differences {
 public:
  template <typename A, typename B>
  void expect(const std::string& what, const A& naive, const B& library) {
    const int64_t a = static_cast<int64_t>(naive), b = static_cast<int64_t>(library);
    if (!first_.empty() || a == b) return;
    first_ = what + ": naive " + std::to_string(a) + ", library " + std::to_string(b);
  }
  template <typename A, typename B>
  void expect_list(const std::string& what, const A& naive, const B& library) {
    expect(what + " count", naive.size(), library.size());
    if (!first_.empty()) return;
    for (size_t i = 0; i < naive.size(); ++i) {
      expect(what + "[" + std::to_string(i) + "]", naive[i], library[i]);
    }
  }
  void expect_refusals(const std::string& what, const std::vector<NaiveRefusal>& naive,
                       std::span<const attnplan_refusal> library) {
    expect(what + " refusals", naive.size(), library.size());
    if (!first_.empty()) return;
    for (size_t i = 0; i < naive.size(); ++i) {
      const std::string where = what + " refusal " + std::to_string(i);
      expect(where + " kernel", naive[i].kernel, library[i].kernel);
      expect(where + " reasons", naive[i].reasons, library[i].reasons);
    }
  }
  void fail(const std::string& text) {
    if (first_.empty()) first_ = text;
  }
  bool any() const { return !first_.empty(); }
  const std::string& first() const { return first_; }

 private:
  std::string first_;
};

void compare_error(const NaiveError& naive, const Error& library, Differences* out) {
  const attnplan_error& raw = library.raw();
  out->expect("error status", naive.status, raw.status);
  out->expect("error code", naive.code, raw.code);
  // Which request and value a bad configuration or a bad call names is not laid down.
  if (naive.of_setup || naive.status != ATTNPLAN_PLAN_ERROR) return;
  out->expect("error request", naive.request, raw.request);
  out->expect("error value", naive.value, raw.value);
  out->expect("error limit", naive.limit, raw.limit);
  out->expect_refusals("error", naive.refusals, library.refusals());
  out->expect_list("error requests", naive.requests, library.requests());
}

void compare_header(const NaivePlan& naive, const attnplan_config& config,
                    const attnplan_plan_header& header, Differences* out) {
  out->expect("segments", naive.segments.size(), header.num_segments);
  out->expect("num_reqs", naive.routes.size(), header.num_reqs);
  out->expect("num_rows", naive.num_rows, header.num_rows);
  out->expect("num_decodes", naive.decode.requests, header.num_decodes);
  out->expect("num_extends", naive.extend.requests, header.num_extends);
  out->expect("num_prefills", naive.prefill.requests, header.num_prefills);
  out->expect("num_pads", naive.num_pads, header.num_pads);
  out->expect("num_decode_tokens", naive.decode.rows, header.num_decode_tokens);
  out->expect("num_extend_tokens", naive.extend.rows, header.num_extend_tokens);
  out->expect("num_prefill_tokens", naive.prefill.rows, header.num_prefill_tokens);
  out->expect("ragged_policy", naive.ragged_policy, header.ragged_policy);
  out->expect("max_decode_query_len", naive.decode.max_query_len, header.max_decode_query_len);
  out->expect("max_extend_query_len", naive.extend.max_query_len, header.max_extend_query_len);
  out->expect("max_prefill_query_len", naive.prefill.max_query_len, header.max_prefill_query_len);
  out->expect("query_len_bound", naive.query_len_bound, header.query_len_bound);
  out->expect("sorted flag", config.order == ATTNPLAN_ORDER_SORT,
              (header.flags & ATTNPLAN_PLAN_SORTED) != 0);
  out->expect("size of D", naive.decode_req_end - naive.decode_req_begin,
              header.decode_req_end - header.decode_req_begin);
  if (naive.decode_req_begin < naive.decode_req_end) {
    out->expect("decode_req_begin", naive.decode_req_begin, header.decode_req_begin);
  }
}

void compare_segment(const NaiveSegment& naive, const attnplan_segment& segment,
                     const std::string& what, Differences* out) {
  out->expect(what + " route", naive.route, segment.route);
  out->expect(what + " kernel", naive.kernel, segment.kernel);
  out->expect(what + " req_begin", naive.req_begin, segment.req_begin);
  out->expect(what + " req_end", naive.req_end, segment.req_end);
  out->expect(what + " row_begin", naive.row_begin, segment.row_begin);
  out->expect(what + " row_end", naive.row_end, segment.row_end);
  out->expect(what + " width", naive.width, segment.width);
  out->expect(what + " max_query_len", naive.max_query_len, segment.max_query_len);
  out->expect(what + " min_query_len", naive.min_query_len, segment.min_query_len);
  out->expect(what + " max_seq_len", naive.max_seq_len, segment.max_seq_len);
  out->expect(what + " min_seq_len", naive.min_seq_len, segment.min_seq_len);
  out->expect(what + " sum_seq_lens", naive.sum_seq_lens, segment.sum_seq_lens);
  out->expect(what + " max_context_len", naive.max_context_len, segment.max_context_len);
  out->expect(what + " min_context_len", naive.min_context_len, segment.min_context_len);
  out->expect(what + " sum_context_lens", naive.sum_context_lens, segment.sum_context_lens);
  out->expect(what + " num_live", naive.num_live, segment.num_live);
  out->expect(what + " page_size", naive.page_size, segment.page_size);
  out->expect(what + " label", naive.label, segment.label);
  out->expect(what + " exact query lengths", naive.exact_query_lens,
              (segment.flags & ATTNPLAN_SEGMENT_EXACT_QUERY_LENS) != 0);
  out->expect(what + " exact sequence lengths", naive.exact_seq_lens,
              (segment.flags & ATTNPLAN_SEGMENT_EXACT_SEQ_LENS) != 0);
}

void compare_section(const NaiveSection& naive, int32_t id, int32_t extent, const char* what,
                     const attnplan_config& config, const Buffer& plan, Differences* out) {
  const attnplan_section_view view = section_of(plan, id);
  if (((config.sections >> id) & 1u) == 0) {
    out->expect(std::string(what) + " not asked for, type", 0, view.type);
    return;
  }
  out->expect(std::string(what) + " type", ATTNPLAN_TYPE_INT32, view.type);
  out->expect(std::string(what) + " extent", extent, view.extent);
  out->expect(std::string(what) + " validity", naive.validity, view.validity);
  out->expect(std::string(what) + " count", naive.values.size(), view.count);
  if (out->any() || naive.validity == ATTNPLAN_VALIDITY_DEVICE) return;
  out->expect_list(what, naive.values, int32_section(plan, id));
}

void compare_query_start_loc(const NaivePlan& naive, const attnplan_config& config,
                             const Buffer& plan, Differences* out) {
  NaiveSection flat{{}, naive.sections.query_start_loc_validity};
  const auto segments = segments_of(plan);
  for (size_t i = 0; i < naive.segments.size(); ++i) {
    if (((config.sections >> ATTNPLAN_SECTION_QUERY_START_LOC) & 1u) != 0) {
      out->expect("segment " + std::to_string(i) + " query_start_loc_begin", flat.values.size(),
                  segments[i].query_start_loc_begin);
    }
    const auto& offsets = naive.sections.query_start_loc[i];
    flat.values.insert(flat.values.end(), offsets.begin(), offsets.end());
  }
  compare_section(flat, ATTNPLAN_SECTION_QUERY_START_LOC, ATTNPLAN_EXTENT_REQUESTS,
                  "query_start_loc", config, plan, out);
}

void compare_sections(const NaivePlan& naive, const attnplan_config& config, const Buffer& plan,
                      Differences* out) {
  compare_query_start_loc(naive, config, plan, out);
  compare_section(naive.sections.seq_lens, ATTNPLAN_SECTION_SEQ_LENS, ATTNPLAN_EXTENT_REQUESTS,
                  "seq_lens", config, plan, out);
  compare_section(naive.sections.context_lens, ATTNPLAN_SECTION_CONTEXT_LENS,
                  ATTNPLAN_EXTENT_REQUESTS, "context_lens", config, plan, out);
  compare_section(naive.sections.row_request, ATTNPLAN_SECTION_ROW_REQUEST, ATTNPLAN_EXTENT_ROWS,
                  "row_request", config, plan, out);
  compare_section(naive.sections.row_position, ATTNPLAN_SECTION_ROW_POSITION, ATTNPLAN_EXTENT_ROWS,
                  "row_position", config, plan, out);
}

void compare_warnings(const NaivePlan& naive, const Buffer& plan, Differences* out) {
  const attnplan_section_view view = section_of(plan, ATTNPLAN_SECTION_WARNINGS);
  out->expect("warnings", naive.warnings.size(), view.count);
  if (out->any()) return;
  const auto* warnings = static_cast<const attnplan_warning*>(view.data);
  for (size_t i = 0; i < naive.warnings.size(); ++i) {
    const std::string what = "warning " + std::to_string(i);
    out->expect(what + " code", naive.warnings[i].code, warnings[i].code);
    out->expect(what + " request", naive.warnings[i].request, warnings[i].request);
    out->expect(what + " value", naive.warnings[i].value, warnings[i].value);
    out->expect(what + " limit", naive.warnings[i].limit, warnings[i].limit);
  }
}

void compare_plan(const NaivePlan& naive, const attnplan_config& config, const attnplan_step& step,
                  const Buffer& plan, Differences* out) {
  compare_header(naive, config, header_of(plan), out);
  const auto segments = segments_of(plan);
  out->expect("segments readable", naive.segments.size(), segments.size());
  for (size_t i = 0; i < naive.segments.size() && !out->any(); ++i) {
    const std::string what = "segment " + std::to_string(i);
    compare_segment(naive.segments[i], segments[i], what, out);
    out->expect_refusals(what, naive.segments[i].refusals, refusals_of(plan, segments[i]));
  }
  if (out->any()) return;
  std::vector<int32_t> routes(naive.routes.size());
  attnplan_plan_get_routes(plan.data(), plan.size(), &step, routes.data(), nullptr);
  out->expect_list("routes", naive.routes, routes);
  if (config.order == ATTNPLAN_ORDER_SORT) {
    out->expect_list("order", naive.order, int32_section(plan, ATTNPLAN_SECTION_ORDER));
  }
  compare_sections(naive, config, plan, out);
  compare_warnings(naive, plan, out);
}

void compare_view(const attnplan_kv_view& naive, const attnplan_planner* planner,
                  Differences* out) {
  attnplan_kv_view view = ATTNPLAN_KV_VIEW_INIT;
  out->expect("kv_view status", ATTNPLAN_OK, attnplan_planner_kv_view(planner, &view, nullptr));
  out->expect("kv_view k_pages", naive.k_pages, view.k_pages);
  out->expect("kv_view v_pages", naive.v_pages, view.v_pages);
  out->expect("kv_view pages", naive.pages, view.pages);
  out->expect("kv_view dropped_k_pages", naive.dropped_k_pages, view.dropped_k_pages);
  out->expect("kv_view k_scale_pages", naive.k_scale_pages, view.k_scale_pages);
  out->expect("kv_view v_scale_pages", naive.v_scale_pages, view.v_scale_pages);
  out->expect("kv_view max_page_id", naive.max_page_id, view.max_page_id);
  out->expect("kv_view block_page_stride", naive.block_page_stride, view.block_page_stride);
  out->expect("kv_view pages_per_block", naive.pages_per_block, view.pages_per_block);
  out->expect("kv_view block_stride", naive.block_stride, view.block_stride);
  out->expect("kv_view last_offset", naive.last_offset, view.last_offset);
  out->expect("kv_view label", naive.label, view.label);
  out->expect("kv_view storage_dtype", naive.storage_dtype, view.storage_dtype);
  out->expect("kv_view view_dtype", naive.view_dtype, view.view_dtype);
  out->expect("kv_view packed", naive.packed, view.packed);
  out->expect("kv_view needs_64bit", naive.needs_64bit, view.needs_64bit);
  out->expect("kv_view page_size", naive.page_size, view.page_size);
}

void compare_planner(const NaivePlan& naive, const attnplan_planner* planner, Differences* out) {
  const int32_t count = attnplan_planner_num_kernels(planner);
  out->expect("kernels", naive.kernels.size(), count);
  for (int32_t k = 0; k < count && !out->any(); ++k) {
    const std::string name = attnplan_planner_kernel_name(planner, k);
    if (name != naive.kernels[static_cast<size_t>(k)]) out->fail("kernel name " + name);
  }
  if (naive.kv_view) compare_view(*naive.kv_view, planner, out);
}

}  // namespace

std::string first_difference(const NaivePlan& naive, const attnplan_config& config,
                             const attnplan_step& step, const attnplan_planner* planner,
                             const Buffer& plan, const Error& error) {
  Differences out;
  out.expect("planner created", !(naive.error && naive.error->of_setup), planner != nullptr);
  if (planner != nullptr) compare_planner(naive, planner, &out);
  if (out.any()) return out.first();
  if (naive.error) {
    compare_error(*naive.error, error, &out);
    out.expect("planned", 0, plan.size());
  } else {
    out.expect("error code", 0, error.raw().code);
    out.expect("planned", true, plan.size() > 0);
    if (!out.any()) compare_plan(naive, config, step, plan, &out);
  }
  return out.first();
}

}  // namespace attnplan::property
