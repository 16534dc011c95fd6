#include "cpu/refresh.h"

#include "cpu/refresh_parts.h"

namespace attnplan::cpu {
namespace {

int32_t narrow(int64_t value) { return static_cast<int32_t>(value); }

int64_t table_row(const DeviceStep& step, int64_t input) {
  return step.table_rows.empty() ? input : step.table_rows[static_cast<size_t>(input)];
}

int64_t block_of(const RefreshPlan& plan, int64_t input, int64_t block) {
  const DeviceStep& step = plan.step;
  const int64_t row = table_row(step, input) * step.stride;
  if (!step.block_indptr.empty()) {
    return step
        .block_list[static_cast<size_t>(step.block_indptr[static_cast<size_t>(input)] + block)];
  }
  if (!step.block_rows.empty()) return step.block_rows[static_cast<size_t>(row + block)];
  const int64_t first = block * plan.rules.block_size;
  const int64_t slot = step.token_slots[static_cast<size_t>(row + first)];
  return slot < 0 ? -1 : slot / plan.rules.block_size;
}

bool has_table(const DeviceStep& step) {
  return !step.block_rows.empty() || !step.block_indptr.empty() || !step.token_slots.empty();
}

// Block b of a packed cache starts where 2 b blocks would.
int64_t in_storage(const RefreshRules& rules, int64_t slot) {
  if (slot < 0 || !rules.packed) return slot;
  const auto address = static_cast<uint64_t>(slot), size = static_cast<uint64_t>(rules.block_size);
  return static_cast<int64_t>(address / size * 2 * size + address % size);
}

int64_t slot_of(const RefreshPlan& plan, const RefreshRequest& request, int64_t number) {
  const DeviceStep& step = plan.step;
  const RefreshRules& rules = plan.rules;
  const int64_t position = request.context + number;
  const bool outside = position >= request.tokens;
  if (!step.slot_mapping.empty()) {
    const int64_t at = step.query_start_loc[static_cast<size_t>(request.input)] + number;
    const bool inside = 0 <= at && at < plan.num_rows;
    if (!inside || (request.cut && outside)) return -1;
    return in_storage(rules, step.slot_mapping[static_cast<size_t>(at)]);
  }
  if (outside) return -1;
  if (!step.token_slots.empty()) {
    const int64_t row = table_row(step, request.input) * step.stride;
    return in_storage(rules, step.token_slots[static_cast<size_t>(row + position)]);
  }
  const int64_t block = block_of(plan, request.input, position / rules.block_size);
  return in_storage(rules, block * rules.block_size + position % rules.block_size);
}

// Of `seen` tokens, those that lie on this rank: whole turns first, then the last one's share.
int64_t on_this_rank(const RefreshRules& rules, int64_t seen) {
  int64_t count = 0;
  const int64_t run = rules.context_interleave, turn = run * rules.context_world;
  count += seen / turn * run;
  const int64_t rest = seen % turn, own = rules.context_rank * run;
  if (rest > own) count += std::min(rest - own, run);
  return count;
}

void refresh_rows(RefreshPlan* plan) {
  const auto owners = plan->room<int32_t>(ATTNPLAN_SECTION_ROW_REQUEST);
  const auto positions = plan->room<int32_t>(ATTNPLAN_SECTION_ROW_POSITION);
  const auto ranks = plan->room<int32_t>(ATTNPLAN_SECTION_CONTEXT_PARALLEL);
  auto slots = plan->room<int64_t>(ATTNPLAN_SECTION_SLOTS);
  const bool can_tell = has_table(plan->step) || !plan->step.slot_mapping.empty();
  int64_t row = 0;
  for (size_t p = 0; p < plan->requests.size(); ++p) {
    const RefreshRequest& request = plan->requests[p];
    for (int64_t number = 0; number < request.rows && row < plan->num_rows; ++number, ++row) {
      const int64_t position = request.context + number;
      const bool lost = request.cut && position >= request.tokens;
      int64_t seen = request.tokens;
      if (plan->rules.causal) seen = std::min(seen, position + 1);
      RefreshPlan::put(owners, row, static_cast<int32_t>(p));
      RefreshPlan::put(positions, row, lost ? -1 : narrow(position));
      RefreshPlan::put(ranks, row, narrow(on_this_rank(plan->rules, seen)));
      if (can_tell && !slots.empty()) RefreshPlan::put(slots, row, slot_of(*plan, request, number));
    }
  }
  for (; row < plan->num_rows; ++row) {  // rows that nobody claims
    RefreshPlan::put(owners, row, -1);
    RefreshPlan::put(positions, row, -1);
    RefreshPlan::put(ranks, row, -1);
    RefreshPlan::put(slots, row, int64_t{-1});
  }
}

void refresh_starts(RefreshPlan* plan) {
  const auto out = plan->room<int32_t>(ATTNPLAN_SECTION_QUERY_START_LOC);
  for (const attnplan_segment& s : plan->segments) {
    const int64_t rows = s.row_end - s.row_begin;
    for (int64_t p = s.req_begin; p < s.req_end; ++p) {
      const RefreshRequest& request = plan->requests[static_cast<size_t>(p)];
      const int64_t begin = request.first_row - s.row_begin, end = begin + request.rows;
      const int64_t at = s.query_start_loc_begin + p - s.req_begin;
      RefreshPlan::put(out, at, narrow(std::clamp<int64_t>(begin, 0, rows)));
      if (p + 1 < s.req_end) continue;
      RefreshPlan::put(out, at + 1, narrow(std::clamp<int64_t>(end, 0, rows)));
    }
  }
}

}  // namespace

RefreshPlan::RefreshPlan(std::span<std::byte> plan, const DeviceStep& device_step,
                         const RefreshRules& device_rules)
    : step(device_step), rules(device_rules), plan_(plan) {
  num_rows = header().num_rows;
  segments = values<attnplan_segment>(ATTNPLAN_SECTION_SEGMENTS);
  read_requests();
  find_pads();
}

attnplan_section* RefreshPlan::find(int32_t id) const {
  auto* table = reinterpret_cast<attnplan_section*>(plan_.data() + header().header_bytes);
  for (int32_t i = 0; i < header().num_sections; ++i) {
    if (table[i].id == id) return &table[i];
  }
  return nullptr;
}

void RefreshPlan::set_count(int32_t id, int64_t count) {
  attnplan_section* section = find(id);
  if (section == nullptr || section->capacity == 0) return;
  findings.capacity |= count > section->capacity;
  section->count = std::min(count, section->capacity);
}

int64_t RefreshPlan::most_tokens(int64_t input) const {
  int64_t most = rules.max_model_len > 0 ? rules.max_model_len : INT32_MAX;
  if (!step.block_rows.empty()) most = std::min(most, step.columns * rules.block_size);
  if (!step.token_slots.empty()) most = std::min(most, step.columns);
  if (!step.block_indptr.empty()) {
    const auto at = static_cast<size_t>(input);
    const int64_t blocks = int64_t{step.block_indptr[at + 1]} - step.block_indptr[at];
    most = std::min(most, std::max<int64_t>(blocks, 0) * rules.block_size);
  }
  return most;
}

void RefreshPlan::read_requests() {
  const auto order = values<int32_t>(ATTNPLAN_SECTION_ORDER);
  int64_t next_row = 0;
  for (int32_t p = 0; p < header().num_reqs; ++p) {
    RefreshRequest request;
    request.input = order.empty() ? p : order[static_cast<size_t>(p)];
    const auto at = static_cast<size_t>(request.input);
    const int64_t begin = step.query_start_loc[at];
    const int64_t rows = step.query_start_loc[at + 1] - begin;
    findings.bad_starts |= rows < 0 || (request.input == 0 && begin != 0);
    findings.row_count |= rows > num_rows;
    request.rows = std::clamp<int64_t>(rows, 0, num_rows);
    request.first_row = std::min<int64_t>(next_row, INT32_MAX);
    next_row += request.rows;
    if (request.live()) {
      const int64_t given = step.seq_lens[at], total = std::max<int64_t>(given, 0);
      findings.bad_seq_len |= given < 0 || (rules.causal && given < request.rows);
      const int64_t most = most_tokens(request.input);
      request.cut = total > most;
      findings.too_long |= request.cut && !rules.draft;
      request.tokens = std::min(total, most);
      request.context = std::max<int64_t>(total - request.rows, 0);
    }
    requests.push_back(request);
  }
  findings.row_count |= next_row != num_rows;
}

void RefreshPlan::find_pads() {
  const attnplan_plan_header& h = header();
  const int64_t begin = segments.empty() ? 0 : segments.front().req_begin;
  const bool uniform = (h.flags & ATTNPLAN_PLAN_HAS_GRAPH) != 0 && h.graph_width > 0;
  const int64_t graph_end = uniform ? begin + h.graph_requests : 0;
  first_pad = segments.empty() ? 0 : segments.back().req_end;
  padded_requests = std::max<int64_t>(h.num_reqs, graph_end);
  end_of_full_pads = rules.full_width_pads ? std::max(graph_end, first_pad) : first_pad;
}

void refresh_requests(RefreshPlan* plan) {
  const auto tokens = plan->room<int32_t>(ATTNPLAN_SECTION_SEQ_LENS);
  const auto contexts = plan->room<int32_t>(ATTNPLAN_SECTION_CONTEXT_LENS);
  for (size_t p = 0; p < plan->requests.size(); ++p) {
    const RefreshRequest& request = plan->requests[p];
    const auto at = static_cast<int64_t>(p);
    const bool pad = !request.live() && plan->full_pad(at);
    RefreshPlan::put(tokens, at, pad ? 1 : narrow(request.tokens));
    RefreshPlan::put(contexts, at, narrow(request.context));
  }
  refresh_starts(plan);
  refresh_rows(plan);
}

void refresh_pages(RefreshPlan* plan) {
  const RefreshRules& rules = plan->rules;
  if (rules.page_size == 0) return;
  const int64_t per_block = rules.block_size / rules.page_size;
  const int64_t stride = rules.packed ? 2 * per_block : per_block;
  const auto page_of = [&](int64_t input, int64_t page) {
    return narrow(block_of(*plan, input, page / per_block) * stride + page % per_block);
  };
  const bool ids = has_table(plan->step);
  const auto indptr = plan->room<int32_t>(ATTNPLAN_SECTION_PAGE_INDPTR);
  const auto list = plan->room<int32_t>(ATTNPLAN_SECTION_PAGE_INDICES);
  const auto last = plan->room<int32_t>(ATTNPLAN_SECTION_LAST_PAGE_LEN);
  const auto table = plan->room<int32_t>(ATTNPLAN_SECTION_PAGE_TABLE);
  const attnplan_section* const list_section = plan->find(ATTNPLAN_SECTION_PAGE_INDICES);
  const bool listed = ids && !list.empty();
  const bool bounded = list_section != nullptr && list_section->capacity > 0;
  const int64_t most = bounded ? list_section->capacity : INT32_MAX;
  const int64_t width = plan->header().page_table_width;
  const auto n = static_cast<int64_t>(plan->requests.size());
  int64_t total = 0;
  RefreshPlan::put(indptr, 0, 0);
  for (int64_t p = 0; p < plan->padded_requests; ++p) {
    const RefreshRequest request =
        p < n ? plan->requests[static_cast<size_t>(p)] : RefreshRequest{};
    const bool pad = !request.live() && plan->full_pad(p);
    const int64_t tokens = pad ? 1 : request.tokens;
    const int64_t pages = (tokens + rules.page_size - 1) / rules.page_size;
    for (int64_t page = 0; listed && page < pages && total + page < most; ++page) {
      RefreshPlan::put(list, total + page, pad ? 0 : page_of(request.input, page));
    }
    total += pages;
    RefreshPlan::put(indptr, p + 1, narrow(std::min(total, most)));
    if (p + 1 == n && listed) {
      plan->set_count(ATTNPLAN_SECTION_PAGE_INDICES, total);
    }
    if (p >= n) continue;
    RefreshPlan::put(last, p, tokens > 0 ? narrow((tokens - 1) % rules.page_size + 1) : 0);
    if (!ids || table.empty()) continue;
    const int64_t live = (request.tokens + rules.block_size - 1) / rules.block_size * per_block;
    for (int64_t page = 0; page < width; ++page) {
      const int32_t behind = pad && page == 0 ? 0 : -1;
      RefreshPlan::put(table, p * width + page,
                       page < live ? page_of(request.input, page) : behind);
    }
  }
  if (n == 0 && listed) plan->set_count(ATTNPLAN_SECTION_PAGE_INDICES, 0);
}

RefreshFindings refresh(std::span<std::byte> bytes, const DeviceStep& step,
                        const RefreshRules& rules) {
  RefreshPlan plan(bytes, step, rules);
  refresh_requests(&plan);
  refresh_pages(&plan);
  refresh_segments(&plan);
  refresh_chunks(&plan);
  refresh_windows(&plan);
  refresh_work(&plan);
  return plan.findings;
}

}  // namespace attnplan::cpu
