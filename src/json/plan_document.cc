#include "json/plan_document.h"

#include <fmt/format.h>

#include <vector>

#include "json/plan_sections.h"

namespace attnplan::json {
namespace {

// "kernel: REASON" for every bit, kernels in profile order.
void write_reasons(const attnplan_planner* planner, std::span<const attnplan_refusal> refusals,
                   JsonWriter& writer) {
  writer.begin_array();
  for (const attnplan_refusal& refusal : refusals) {
    const std::string kernel = attnplan_planner_kernel_name(planner, refusal.kernel);
    for (attnplan_reason reason = 0; reason < ATTNPLAN_NUM_REASONS; ++reason) {
      if ((refusal.reasons >> reason & 1u) == 0) continue;
      writer.value(kernel + ": " + attnplan_reason_name(reason));
    }
  }
  writer.end_array();
}

void write_error(const Outcome& outcome, JsonWriter& writer) {
  writer.key("error");
  writer.begin_object();
  writer.member("code", std::string_view{outcome.code});
  writer.key("request");
  outcome.request < 0 ? writer.null() : writer.value(outcome.request);
  writer.member("value", outcome.value);
  writer.member("limit", outcome.limit);
  writer.member("message", std::string_view{outcome.message});
  writer.key("reasons");
  write_reasons(outcome.planner, outcome.refusals, writer);
  writer.key("requests");
  writer.list(outcome.requests);
  writer.end_object();
}

void write_segment(const PlanReader& plan, const attnplan_segment& segment, JsonWriter& writer) {
  writer.begin_object();
  writer.member("route", attnplan_route_name(segment.route));
  writer.member("kernel", attnplan_planner_kernel_name(plan.planner, segment.kernel));
  writer.member("req_begin", segment.req_begin);
  writer.member("req_end", segment.req_end);
  writer.member("row_begin", segment.row_begin);
  writer.member("row_end", segment.row_end);
  writer.member("width", segment.width);
  writer.member("max_query_len", segment.max_query_len);
  writer.member("min_query_len", segment.min_query_len);
  writer.member("max_seq_len", segment.max_seq_len);
  writer.member("min_seq_len", segment.min_seq_len);
  writer.member("sum_seq_lens", segment.sum_seq_lens);
  writer.member("max_context_len", segment.max_context_len);
  writer.member("min_context_len", segment.min_context_len);
  writer.member("sum_context_lens", segment.sum_context_lens);
  writer.member("exact_query_lens", (segment.flags & ATTNPLAN_SEGMENT_EXACT_QUERY_LENS) != 0);
  writer.member("exact_seq_lens", (segment.flags & ATTNPLAN_SEGMENT_EXACT_SEQ_LENS) != 0);
  writer.key("page_size");
  segment.page_size == 0 ? writer.null() : writer.value(segment.page_size);
  writer.key("label");
  segment.label == ATTNPLAN_DTYPE_NONE ? writer.null()
                                       : writer.value(attnplan_dtype_name(segment.label));
  writer.key("reasons");
  write_reasons(plan.planner, plan.refusals_of(segment), writer);
  writer.end_object();
}

void write_counts(const attnplan_plan_header& header, JsonWriter& writer) {
  writer.member("num_decodes", header.num_decodes);
  writer.member("num_extends", header.num_extends);
  writer.member("num_prefills", header.num_prefills);
  writer.member("num_pads", header.num_pads);
  writer.member("num_decode_tokens", header.num_decode_tokens);
  writer.member("num_extend_tokens", header.num_extend_tokens);
  writer.member("num_prefill_tokens", header.num_prefill_tokens);
  writer.key("max_query_len");
  writer.begin_object();
  writer.member("decode", header.max_decode_query_len);
  writer.member("extend", header.max_extend_query_len);
  writer.member("prefill", header.max_prefill_query_len);
  writer.end_object();
}

void write_ragged_policy(const attnplan_plan_header& header, JsonWriter& writer) {
  constexpr const char* kNames[] = {nullptr, "demote", "uniform_prefix", "split_runs"};
  const char* name = kNames[header.ragged_policy];
  writer.key("ragged_policy");
  name == nullptr ? writer.null() : writer.value(name);
}

// By policy; null: it leaves requests without a kernel.
void write_policy_costs(const attnplan_plan_header& header, JsonWriter& writer) {
  constexpr const char* kNames[] = {"demote", "uniform_prefix", "split_runs"};
  writer.key("policy_costs");
  writer.begin_object();
  for (size_t i = 0; i < 3; ++i) {
    writer.key(kNames[i]);
    header.policy_costs[i] < 0 ? writer.null() : writer.value(header.policy_costs[i]);
  }
  writer.end_object();
}

void write_graph(const attnplan_plan_header& header, JsonWriter& writer) {
  constexpr const char* kKinds[] = {"none", "piecewise", "full"};
  writer.key("graph");
  writer.begin_object();
  writer.member("kind", kKinds[header.graph_kind]);
  writer.member("rows", header.graph_rows);
  writer.key("requests");
  header.graph_requests < 0 ? writer.null() : writer.value(header.graph_requests);
  writer.member("pad_rows", header.graph_pad_rows);
  writer.member("pad_requests", header.graph_pad_requests);
  writer.member("width", header.graph_width);
  writer.end_object();
}

bool plans_under_auto(const attnplan_config& config) {
  const attnplan_ragged_policy policy =
      config.ragged != ATTNPLAN_RAGGED_DEFAULT ? config.ragged : config.profile_ragged;
  return policy == ATTNPLAN_RAGGED_AUTO;
}

void write_warnings(const PlanReader& plan, JsonWriter& writer) {
  writer.key("warnings");
  writer.begin_array();
  for (const attnplan_warning& warning :
       plan.section<attnplan_warning>(ATTNPLAN_SECTION_WARNINGS)) {
    writer.begin_object();
    writer.member("code", attnplan_code_name(warning.code));
    writer.member("request", warning.request);
    writer.member("value", warning.value);
    writer.member("limit", warning.limit);
    writer.end_object();
  }
  writer.end_array();
}

void write_kv_view(const attnplan_planner* planner, JsonWriter& writer) {
  attnplan_kv_view view = ATTNPLAN_KV_VIEW_INIT;
  if (attnplan_planner_kv_view(planner, &view, nullptr) != ATTNPLAN_OK) return;
  writer.key("kv_view");
  writer.begin_object();
  write_kv_view_members(view, writer);
  writer.end_object();
}

void write_routes(const BatchDocument& batch, const PlanReader& plan, JsonWriter& writer) {
  std::vector<attnplan_route> routes(static_cast<size_t>(plan.header->num_reqs));
  attnplan_plan_get_routes(plan.bytes.data(), plan.bytes.size(), &batch.step(), routes.data(),
                           nullptr);
  writer.key("routes");
  writer.begin_array();
  for (const attnplan_route route : routes) writer.value(attnplan_route_name(route));
  writer.end_array();
}

}  // namespace

void write_plan_members(const BatchDocument& batch, const Outcome& outcome, JsonWriter& writer) {
  writer.member("name", std::string_view{batch.name()});
  if (!outcome.planned()) return write_error(outcome, writer);
  const PlanReader plan(outcome);
  writer.null_member("error");
  write_routes(batch, plan, writer);
  if ((plan.header->flags & ATTNPLAN_PLAN_SORTED) != 0) {
    writer.key("order");
    writer.list(plan.section<int32_t>(ATTNPLAN_SECTION_ORDER));
  }
  writer.key("segments");
  writer.begin_array();
  for (const attnplan_segment& segment : plan.segments()) write_segment(plan, segment, writer);
  writer.end_array();
  write_counts(*plan.header, writer);
  write_ragged_policy(*plan.header, writer);
  if (plans_under_auto(batch.config())) write_policy_costs(*plan.header, writer);
  write_warnings(plan, writer);
  if (batch.has_kv_cache()) write_kv_view(outcome.planner, writer);
  if ((plan.header->flags & ATTNPLAN_PLAN_HAS_GRAPH) != 0) write_graph(*plan.header, writer);
  writer.member("hash", std::string_view{fmt::format("{:016x}{:016x}", plan.header->step_hash,
                                                     plan.header->planner_hash)});
  if (batch.config().sections != 0) write_sections(plan, batch.config().sections, writer);
  if (batch.config().work != ATTNPLAN_WORK_NONE) write_work(plan, writer);
}

void write_kv_view_members(const attnplan_kv_view& view, JsonWriter& writer) {
  writer.member("k_pages", view.k_pages);
  writer.member("v_pages", view.v_pages);
  writer.member("pages", view.pages);
  writer.member("dropped_k_pages", view.dropped_k_pages);
  writer.member("k_scale_pages", view.k_scale_pages);
  writer.member("v_scale_pages", view.v_scale_pages);
  writer.member("max_page_id", view.max_page_id);
  writer.member("block_page_stride", view.block_page_stride);
  writer.member("pages_per_block", view.pages_per_block);
  writer.member("packed", view.packed != 0);
  writer.member("label", attnplan_dtype_name(view.label));
  writer.member("storage_dtype", attnplan_dtype_name(view.storage_dtype));
  writer.member("view_dtype", attnplan_dtype_name(view.view_dtype));
  writer.member("block_stride", view.block_stride);
  writer.member("last_offset", view.last_offset);
  writer.member("needs_64bit", view.needs_64bit != 0);
}

void append_plan_document(const BatchDocument& batch, const Outcome& outcome, std::string& out) {
  JsonWriter writer(out);
  writer.begin_object();
  write_plan_members(batch, outcome, writer);
  writer.end_object();
}

}  // namespace attnplan::json
