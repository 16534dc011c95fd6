#include "batch_json.h"
#include "names.h"

namespace attnplan::oracle {
namespace {

Json reason_strings(const std::vector<NaiveRefusal>& refusals,
                    const std::vector<std::string>& kernels) {
  Json out = Json::array();
  for (const NaiveRefusal& refusal : refusals) {
    for (size_t bit = 0; bit < kReasons.size(); ++bit) {
      if (((refusal.reasons >> bit) & 1u) == 0) continue;
      out.push_back(kernels[static_cast<size_t>(refusal.kernel)] + ": " + kReasons[bit]);
    }
  }
  return out;
}

Json error_json(const NaiveError& error, const std::vector<std::string>& kernels) {
  Json out = {{"code", name_of(kCodes, error.code)}, {"request", nullptr}};
  if (error.request >= 0) out["request"] = error.request;
  out["value"] = error.value;
  out["limit"] = error.limit;
  out["reasons"] = reason_strings(error.refusals, kernels);
  out["requests"] = error.requests;
  return out;
}

Json segment_json(const NaiveSegment& in, const NaivePlan& plan) {
  Json out = {{"route", name_of(kRoutes, in.route)},
              {"kernel", plan.kernels[static_cast<size_t>(in.kernel)]},
              {"req_begin", in.req_begin},
              {"req_end", in.req_end},
              {"row_begin", in.row_begin},
              {"row_end", in.row_end},
              {"width", in.width},
              {"max_query_len", in.max_query_len},
              {"min_query_len", in.min_query_len},
              {"max_seq_len", in.max_seq_len},
              {"min_seq_len", in.min_seq_len},
              {"sum_seq_lens", in.sum_seq_lens},
              {"max_context_len", in.max_context_len},
              {"min_context_len", in.min_context_len},
              {"sum_context_lens", in.sum_context_lens},
              {"exact_query_lens", in.exact_query_lens},
              {"exact_seq_lens", in.exact_seq_lens},
              {"page_size", nullptr},
              {"label", nullptr},
              {"reasons", reason_strings(in.refusals, plan.kernels)}};
  if (plan.kv_view) {
    out["page_size"] = in.page_size;
    out["label"] = name_of(kDtypes, in.label);
  }
  return out;
}

Json view_json(const attnplan_kv_view& view) {
  return {{"k_pages", view.k_pages},
          {"v_pages", view.v_pages},
          {"pages", view.pages},
          {"dropped_k_pages", view.dropped_k_pages},
          {"k_scale_pages", view.k_scale_pages},
          {"v_scale_pages", view.v_scale_pages},
          {"max_page_id", view.max_page_id},
          {"block_page_stride", view.block_page_stride},
          {"pages_per_block", view.pages_per_block},
          {"packed", view.packed != 0},
          {"label", name_of(kDtypes, view.label)},
          {"storage_dtype", name_of(kDtypes, view.storage_dtype)},
          {"view_dtype", name_of(kDtypes, view.view_dtype)},
          {"block_stride", view.block_stride},
          {"last_offset", view.last_offset},
          {"needs_64bit", view.needs_64bit != 0}};
}

Json sections_json(const NaiveSections& sections, uint64_t mask) {
  Json out = Json::object();
  const auto asked = [mask](int id) { return ((mask >> id) & 1u) != 0; };
  if (asked(ATTNPLAN_SECTION_QUERY_START_LOC)) out["query_start_loc"] = sections.query_start_loc;
  if (asked(ATTNPLAN_SECTION_SEQ_LENS)) out["seq_lens"] = sections.seq_lens.values;
  if (asked(ATTNPLAN_SECTION_CONTEXT_LENS)) out["context_lens"] = sections.context_lens.values;
  if (asked(ATTNPLAN_SECTION_ROW_REQUEST)) out["row_request"] = sections.row_request.values;
  if (asked(ATTNPLAN_SECTION_ROW_POSITION)) out["row_position"] = sections.row_position.values;
  return out;
}

void put_counts(const NaivePlan& plan, Json* out) {
  (*out)["num_decodes"] = plan.decode.requests;
  (*out)["num_extends"] = plan.extend.requests;
  (*out)["num_prefills"] = plan.prefill.requests;
  (*out)["num_pads"] = plan.num_pads;
  (*out)["num_decode_tokens"] = plan.decode.rows;
  (*out)["num_extend_tokens"] = plan.extend.rows;
  (*out)["num_prefill_tokens"] = plan.prefill.rows;
  (*out)["max_query_len"] = {{"decode", plan.decode.max_query_len},
                             {"extend", plan.extend.max_query_len},
                             {"prefill", plan.prefill.max_query_len}};
}

}  // namespace

Json plan_to_json(const NaivePlan& plan, const attnplan_config& config) {
  if (plan.error) return {{"error", error_json(*plan.error, plan.kernels)}};
  Json out = {{"error", nullptr}, {"routes", Json::array()}};
  for (attnplan_route route : plan.routes) out["routes"].push_back(name_of(kRoutes, route));
  if (config.order == ATTNPLAN_ORDER_SORT) out["order"] = plan.order;
  out["segments"] = Json::array();
  for (const NaiveSegment& segment : plan.segments) {
    out["segments"].push_back(segment_json(segment, plan));
  }
  put_counts(plan, &out);
  out["ragged_policy"] = nullptr;
  if (plan.ragged_policy != ATTNPLAN_RAGGED_DEFAULT) {
    out["ragged_policy"] = name_of(kPolicies, plan.ragged_policy);
  }
  out["warnings"] = Json::array();
  for (const NaiveWarning& warning : plan.warnings) {
    out["warnings"].push_back({{"code", name_of(kCodes, warning.code)},
                               {"request", warning.request},
                               {"value", warning.value},
                               {"limit", warning.limit}});
  }
  if (plan.kv_view) out["kv_view"] = view_json(*plan.kv_view);
  out["sections"] = sections_json(plan.sections, config.sections);
  return out;
}

std::string first_difference(const Json& expected, const Json& actual, const std::string& path) {
  if (expected.is_object() && actual.is_object()) {
    for (const auto& [key, value] : expected.items()) {
      const std::string inner = path + "/" + key;
      if (!actual.contains(key)) return inner + " is missing";
      const std::string difference = first_difference(value, actual.at(key), inner);
      if (!difference.empty()) return difference;
    }
    return "";
  }
  const bool item_by_item =
      expected.is_array() && !expected.empty() && expected.front().is_object();
  if (item_by_item && actual.is_array() && expected.size() == actual.size()) {
    for (size_t i = 0; i < expected.size(); ++i) {
      const std::string inner = path + "/" + std::to_string(i);
      const std::string difference = first_difference(expected[i], actual[i], inner);
      if (!difference.empty()) return difference;
    }
    return "";
  }
  if (expected == actual && expected.is_boolean() == actual.is_boolean()) return "";
  return path + ": expected " + expected.dump() + ", got " + actual.dump();
}

}  // namespace attnplan::oracle
