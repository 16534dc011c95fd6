#include "planner/write.h"

#include <algorithm>
#include <cstring>

#include "planner/overflow.h"
#include "planner/sections.h"

namespace attnplan {
namespace {

// Bytes before the first section: header, section table, byte ranges.
size_t front_bytes(int num_sections, bool fixed) {
  const auto count = static_cast<size_t>(num_sections);
  const size_t most_ranges = fixed ? count + 1 : 1;
  return sizeof(attnplan_plan_header) + count * sizeof(attnplan_section) +
         most_ranges * sizeof(attnplan_byte_range);
}

// What has to be copied: all of it, or under a fixed layout the part of each section in use,
// neighbours joined. Returns the number of ranges.
int write_ranges(SectionList& sections, size_t front, bool fixed, attnplan_byte_range* ranges) {
  if (!fixed) {
    ranges[0] = {0, static_cast<int64_t>(sections.total_bytes())};
    return 1;
  }
  int last = 0;
  ranges[0] = {0, static_cast<int64_t>(align_section(front))};
  for (const SectionSpec& spec : sections) {
    if (spec.used == 0) continue;
    const auto end = static_cast<int64_t>(
        align_section(static_cast<size_t>(spec.offset + spec.used * spec.element_bytes)));
    if (ranges[last].offset + ranges[last].bytes == spec.offset) {
      ranges[last].bytes = end - ranges[last].offset;
    } else {
      ranges[++last] = {spec.offset, end - spec.offset};
    }
  }
  return last + 1;
}

// Counts per route, and the maxima that engines ask for per route.
void count(const attnplan_segment& s, attnplan_plan_header* h) {
  const int32_t rows = s.row_end - s.row_begin;
  struct Totals {
    int32_t* requests;
    int32_t* rows;
    int32_t* max_query_len;
  };
  const Totals totals =
      s.route == static_cast<int32_t>(Route::kDecode)
          ? Totals{&h->num_decodes, &h->num_decode_tokens, &h->max_decode_query_len}
      : s.route == static_cast<int32_t>(Route::kExtend)
          ? Totals{&h->num_extends, &h->num_extend_tokens, &h->max_extend_query_len}
          : Totals{&h->num_prefills, &h->num_prefill_tokens, &h->max_prefill_query_len};
  *totals.requests += s.num_live;
  *totals.rows += rows;
  *totals.max_query_len = std::max(*totals.max_query_len, s.max_query_len);
}

void fill_graph(const Graph& graph, attnplan_plan_header* h) {
  h->flags |= ATTNPLAN_PLAN_HAS_GRAPH;
  h->graph_kind = static_cast<int32_t>(graph.kind);
  h->graph_rows = graph.rows;
  h->graph_requests = graph.requests;
  h->graph_pad_rows = graph.pad_rows;
  h->graph_pad_requests = graph.pad_requests;
  h->graph_width = graph.width;
}

// What readers on the far side compare with the layer that they are to run.
void fill_model(const Config& config, attnplan_plan_header* h) {
  h->num_q_heads = config.num_q_heads;
  h->num_kv_heads = config.num_kv_heads;
  h->head_size = config.head_size;
  h->v_head_size = config.v_head_size;
  h->mask = static_cast<int32_t>(config.mask);
  h->sliding_window = config.sliding_window;
  if (!config.kv_cache) return;
  const KvCache& cache = *config.kv_cache;
  h->num_blocks = cache.num_blocks;
  h->block_size = cache.block_size;
  h->layout = static_cast<int32_t>(cache.layout);
  if (cache.packed) h->cache_flags |= ATTNPLAN_PLAN_CACHE_PACKED;
  if (cache.shuffle) h->cache_flags |= ATTNPLAN_PLAN_CACHE_SHUFFLE;
  if (cache.typed) h->cache_flags |= ATTNPLAN_PLAN_CACHE_TYPED;
}

// All but the sizes.
void fill_header(const Plan& plan, attnplan_plan_header* header) {
  *header = {};
  attnplan_plan_header& h = *header;
  const Lanes& lanes = *plan.lanes;
  h.magic = ATTNPLAN_PLAN_MAGIC;
  h.major = ATTNPLAN_PLAN_MAJOR;
  h.minor = ATTNPLAN_PLAN_MINOR;
  h.header_bytes = sizeof h;
  if (lanes.order != nullptr) h.flags |= ATTNPLAN_PLAN_SORTED;
  if (plan.state->fixed_layout) h.flags |= ATTNPLAN_PLAN_FIXED_LAYOUT;
  h.step_hash = plan.step_hash;
  h.planner_hash = plan.state->hash;
  h.num_segments = static_cast<int32_t>(plan.parts->segments.size());
  h.num_reqs = lanes.n;
  h.num_rows = static_cast<int32_t>(lanes.rows);
  for (const attnplan_segment& segment : plan.parts->segments) count(segment, &h);
  h.num_pads = lanes.n - h.num_decodes - h.num_extends - h.num_prefills;
  h.ragged_policy = static_cast<int32_t>(plan.resolution.policy);
  h.decode_req_begin = plan.decode.begin;
  h.decode_req_end = plan.decode.end;
  h.query_len_bound = lanes.query_bound;
  for (int i = 0; i < 3; ++i) h.policy_costs[i] = plan.resolution.costs[i];
  h.page_table_width = plan.page_table_width;
  if (plan.state->config.graph.enabled) fill_graph(plan.graph, &h);
  fill_model(plan.state->config, &h);
}

void write_section(const Plan& plan, const SectionSpec& spec, std::byte* out) {
  if (spec.id < ATTNPLAN_SECTION_QUERY_START_LOC) return write_records(plan, spec, out);
  if (spec.id < ATTNPLAN_SECTION_PAGE_INDPTR) return write_requests(plan, spec, out);
  if (spec.id < ATTNPLAN_SECTION_CHUNKS) return write_pages(plan, spec, out);
  if (spec.id < ATTNPLAN_SECTION_WINDOW) return write_chunks(plan, spec, out);
  if (spec.id < ATTNPLAN_SECTION_CONTEXT_PARALLEL) return write_windows(plan, spec, out);
  if (spec.id == ATTNPLAN_SECTION_CONTEXT_PARALLEL) return write_requests(plan, spec, out);
  if (spec.id == ATTNPLAN_SECTION_LAUNCH) return write_launch(plan, spec, out);
  write_work(plan, spec, out);
}

void write_front(const Plan& plan, SectionList& sections, size_t front, bool fixed,
                 std::byte* out) {
  auto* header = reinterpret_cast<attnplan_plan_header*>(out);
  fill_header(plan, header);
  header->total_bytes = sections.total_bytes();
  header->num_sections = sections.size();
  auto* table = reinterpret_cast<attnplan_section*>(header + 1);
  for (const SectionSpec& s : sections) {
    *table++ = {s.id, s.type, s.extent, s.validity, s.offset, s.count, s.capacity};
  }
  auto* ranges = reinterpret_cast<attnplan_byte_range*>(table);
  header->num_byte_ranges = write_ranges(sections, front, fixed, ranges);
  auto* end = reinterpret_cast<std::byte*>(ranges + header->num_byte_ranges);
  std::memset(end, 0, static_cast<size_t>(out + align_section(front) - end));
}

}  // namespace

Status write_plan(const Plan& plan, std::byte* out, size_t capacity, size_t* bytes, Error* error) {
  const bool fixed = plan.state->fixed_layout;
  const size_t front = front_bytes(plan.state->num_sections, fixed);
  SectionList sections(front, fixed);
  describe_sections(&plan, *plan.state, &sections);
  if (const Status status = check_capacities(plan, sections, error); status != Status::kOk) {
    return status;
  }
  const size_t total = sections.total_bytes();
  *bytes = total;
  if (out == nullptr) return Status::kOk;
  if (total > capacity) {
    return error->set(Status::kBufferTooSmall, Code::kCapacityExceeded, -1,
                      static_cast<int64_t>(total), static_cast<int64_t>(capacity),
                      "the plan takes %zu bytes, the buffer has %zu", total, capacity);
  }
  write_front(plan, sections, front, fixed, out);
  for (const SectionSpec& spec : sections) {
    if (spec.used == 0) continue;
    std::byte* const begin = out + spec.offset;
    const auto used = static_cast<size_t>(spec.used * spec.element_bytes);
    write_section(plan, spec, begin);
    std::memset(begin + used, 0, align_section(used) - used);
  }
  return Status::kOk;
}

int count_sections(const Planner::State& state) {
  SectionList sections(0, true);
  describe_sections(nullptr, state, &sections);
  return sections.size();
}

size_t plan_bound(const Planner::State& state) {
  SectionList sections(front_bytes(state.num_sections, true), true);
  describe_sections(nullptr, state, &sections);
  return sections.total_bytes();
}

}  // namespace attnplan
