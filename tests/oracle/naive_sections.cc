#include "naive_sections.h"

#include <algorithm>

#include "naive_sections_parts.h"

namespace attnplan::oracle {
namespace {

void settle(int64_t query_len_bound, NaiveRequest* request) {
  request->min_query = request->max_query = request->query;
  request->min_seq = request->max_seq = request->seq;
  if (request->exact_query) return;
  request->min_query = 1;
  request->max_query = query_len_bound;
  request->min_seq = request->context + 1;
  request->max_seq = request->context + query_len_bound;
  if (request->clamp) request->max_seq = std::min(request->max_seq, *request->clamp);
}

// The step as naive_plan() saw it. It has already been found valid.
SectionInputs read_inputs(const attnplan_config& config, const attnplan_step& in,
                          const attnplan_group* group, const NaivePlan& plan) {
  SectionInputs out;
  out.config = &config;
  out.group = group;
  out.plan = &plan;
  read_setup(config, &out.setup);
  NaiveStep step;
  read_step(in, &step);
  classify(out.setup, &step);
  std::vector<NaiveWarning> warnings;
  validate_blocks(out.setup, group, &step, &warnings);
  std::vector<int64_t> first_row = {0};
  for (NaiveRequest& request : step.requests) {
    settle(step.query_len_bound, &request);
    first_row.push_back(first_row.back() + request.query);
  }
  for (int32_t input : plan.order) {
    out.requests.push_back(step.requests[static_cast<size_t>(input)]);
    out.step_row.push_back(first_row[static_cast<size_t>(input)]);
  }
  return out;
}

int64_t num_inexact(const SectionInputs& in, int64_t begin, int64_t end) {
  return std::count_if(in.requests.begin() + begin, in.requests.begin() + end,
                       [](const NaiveRequest& request) { return !request.exact_query; });
}

void add_query_start_loc(const SectionInputs& in, SectionMap* out) {
  NaiveList list;
  list.extent = ATTNPLAN_EXTENT_REQUESTS;
  const int64_t all = num_inexact(in, 0, static_cast<int64_t>(in.requests.size()));
  for (const NaiveSegment& segment : in.plan->segments) {
    int64_t rows = 0;
    list.values.push_back(0);
    for (int64_t i = segment.req_begin; i < segment.req_end; ++i) {
      rows += in.requests[static_cast<size_t>(i)].query;
      // The rows of all inexact requests together are known, those of some of them are not.
      const int64_t some = num_inexact(in, segment.req_begin, i + 1);
      list.values.push_back(some == 0 || some == all ? rows : kOnlyTheDeviceKnows);
    }
  }
  if (in.any_inexact_query()) list.validity = ATTNPLAN_VALIDITY_DEVICE;
  (*out)[ATTNPLAN_SECTION_QUERY_START_LOC] = list;
}

void add_request_lengths(const SectionInputs& in, SectionMap* out) {
  NaiveList seq, context;
  seq.extent = context.extent = ATTNPLAN_EXTENT_REQUESTS;
  for (const NaiveRequest& request : in.requests) {
    seq.values.push_back(request.live() ? request.max_seq : 0);
    if (!request.exact_seq) seq.validity = ATTNPLAN_VALIDITY_BOUND;
    if (request.exact_context) {
      context.values.push_back(request.live() ? request.context : 0);
    } else {
      context.values.push_back(kOnlyTheDeviceKnows);
      context.validity = ATTNPLAN_VALIDITY_DEVICE;
    }
  }
  if (in.wants(ATTNPLAN_SECTION_SEQ_LENS)) (*out)[ATTNPLAN_SECTION_SEQ_LENS] = seq;
  if (in.wants(ATTNPLAN_SECTION_CONTEXT_LENS)) (*out)[ATTNPLAN_SECTION_CONTEXT_LENS] = context;
}

void add_rows(const SectionInputs& in, SectionMap* out) {
  NaiveList owner, position;
  owner.extent = position.extent = ATTNPLAN_EXTENT_ROWS;
  if (in.any_inexact_query()) owner.validity = ATTNPLAN_VALIDITY_DEVICE;
  if (!in.all_exact()) position.validity = ATTNPLAN_VALIDITY_DEVICE;
  for (size_t i = 0; i < in.requests.size(); ++i) {
    const NaiveRequest& request = in.requests[i];
    for (int64_t row = 0; row < request.query; ++row) {
      const int64_t at = request.context + row;
      const bool unknown = in.rows_unknown(i);
      owner.values.push_back(unknown ? kOnlyTheDeviceKnows : static_cast<int64_t>(i));
      if (unknown || !request.exact_context) {
        position.values.push_back(kOnlyTheDeviceKnows);
      } else {
        position.values.push_back(request.clamp && at >= *request.clamp ? -1 : at);
      }
    }
  }
  if (in.wants(ATTNPLAN_SECTION_ROW_REQUEST)) (*out)[ATTNPLAN_SECTION_ROW_REQUEST] = owner;
  if (in.wants(ATTNPLAN_SECTION_ROW_POSITION)) (*out)[ATTNPLAN_SECTION_ROW_POSITION] = position;
}

}  // namespace

bool SectionInputs::graph() const {
  return config->graph_full.count > 0 || config->graph_piecewise.count > 0;
}

bool SectionInputs::fixed_layout() const {
  if (config->section_layout == ATTNPLAN_SECTIONS_AUTO) return graph();
  return config->section_layout == ATTNPLAN_SECTIONS_FIXED;
}

bool SectionInputs::any_inexact_query() const {
  return std::any_of(requests.begin(), requests.end(),
                     [](const NaiveRequest& request) { return !request.exact_query; });
}

bool SectionInputs::all_exact() const {
  return std::all_of(requests.begin(), requests.end(), [](const NaiveRequest& request) {
    return request.exact_query && request.exact_seq;
  });
}

bool SectionInputs::rows_unknown(size_t request) const {
  bool before = false, behind = false;
  for (size_t i = 0; i < requests.size(); ++i) {
    if (requests[i].exact_query) continue;
    before |= i <= request;
    behind |= i >= request;
  }
  return before && behind;
}

int64_t SectionInputs::context_in_table(const NaiveRequest& request) const {
  return request.clamp ? std::min(request.context, *request.clamp) : request.context;
}

const int32_t* SectionInputs::blocks(size_t request) const {
  if (group == nullptr || group->block_ids == nullptr) return nullptr;
  const int64_t input = requests[request].input;
  if (group->block_indptr != nullptr) return group->block_ids + group->block_indptr[input];
  const int64_t stride = group->row_stride > 0 ? group->row_stride : group->columns;
  return group->block_ids + input * stride;
}

void add_length_lists(const SectionInputs& in, SectionMap* out) {
  if (in.wants(ATTNPLAN_SECTION_QUERY_START_LOC)) add_query_start_loc(in, out);
  add_request_lengths(in, out);
  add_rows(in, out);
}

namespace {

bool wants_pages(const SectionInputs& in) {
  bool wanted = in.wants(ATTNPLAN_SECTION_SLOTS);
  for (int section = ATTNPLAN_SECTION_PAGE_INDPTR; section <= ATTNPLAN_SECTION_PAGE_TABLE;
       ++section) {
    wanted |= in.wants(section);
  }
  return wanted;
}

// Lists and tables of pages need the ids of live blocks; slots do where they are not given.
bool lacks_ids(const SectionInputs& in) {
  const bool ids = in.group != nullptr && in.group->block_ids != nullptr;
  const bool slots = in.group != nullptr && in.group->slot_mapping != nullptr;
  const bool any_live = std::any_of(in.requests.begin(), in.requests.end(),
                                    [](const NaiveRequest& request) { return request.live(); });
  return any_live && !ids &&
         (in.wants(ATTNPLAN_SECTION_PAGE_INDICES) || in.wants(ATTNPLAN_SECTION_PAGE_TABLE) ||
          (in.wants(ATTNPLAN_SECTION_SLOTS) && !slots));
}

// A section without what it is made of is a fault of the call, not of the batch.
bool incomplete(const SectionInputs& in) {
  if (wants_pages(in) && (!in.setup.cache || lacks_ids(in))) return true;
  return in.wants(ATTNPLAN_SECTION_LOCAL) && in.config->local_attention_chunk == 0;
}

}  // namespace

NaiveSectionsResult naive_sections(const attnplan_config& config, const attnplan_step& step,
                                   const attnplan_group* group, const NaivePlan& plan) {
  NaiveSectionsResult out;
  const SectionInputs in = read_inputs(config, step, group, plan);
  const int64_t chunk = in.config->local_attention_chunk;
  if (in.wants(ATTNPLAN_SECTION_LOCAL) && in.setup.cache &&
      chunk % in.setup.cache->given.block_size != 0) {
    out.error =
        plan_error(ATTNPLAN_CODE_VALUE_OUT_OF_RANGE, -1, chunk, in.setup.cache->given.block_size);
    return out;
  }
  if (incomplete(in)) {
    out.error = call_error(ATTNPLAN_INVALID_ARGUMENT);
    return out;
  }
  add_length_lists(in, &out.lists);
  if ((out.error = add_page_lists(in, &out.lists))) return out;
  if (in.wants(ATTNPLAN_SECTION_PAGE_TABLE)) {
    out.page_table_width = page_table_width(in);
    add_page_table(in, &out.lists);
  }
  if (in.wants(ATTNPLAN_SECTION_SLOTS)) add_slots(in, &out.lists);
  if ((out.error = add_chunks(in, &out.lists))) return out;
  if (in.wants(ATTNPLAN_SECTION_WINDOW)) add_window(in, &out.lists);
  if (in.wants(ATTNPLAN_SECTION_LOCAL)) add_local(in, &out.lists);
  if (in.wants(ATTNPLAN_SECTION_CONTEXT_PARALLEL)) add_context_parallel(in, &out.lists);
  if (in.wants(ATTNPLAN_SECTION_LAUNCH)) add_launch(in, &out.lists);
  return out;
}

}  // namespace attnplan::oracle
