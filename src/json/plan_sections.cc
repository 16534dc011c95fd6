#include "json/plan_sections.h"

#include "json/vocabulary.h"

namespace attnplan::json {
namespace {

// One list per segment.
void write_query_start_loc(const PlanReader& plan, JsonWriter& writer) {
  const auto offsets = plan.section<int32_t>(ATTNPLAN_SECTION_QUERY_START_LOC);
  writer.begin_array();
  for (const attnplan_segment& segment : plan.segments()) {
    writer.list(offsets.subspan(static_cast<size_t>(segment.query_start_loc_begin),
                                static_cast<size_t>(segment.req_end - segment.req_begin) + 1));
  }
  writer.end_array();
}

// One row of pages per request.
void write_page_table(const PlanReader& plan, JsonWriter& writer) {
  const auto pages = plan.section<int32_t>(ATTNPLAN_SECTION_PAGE_TABLE);
  const auto width = static_cast<size_t>(plan.header->page_table_width);
  writer.begin_array();
  for (int32_t i = 0; i < plan.header->num_reqs; ++i) {
    writer.list(pages.subspan(static_cast<size_t>(i) * width, width));
  }
  writer.end_array();
}

// Lengths of one chunk, from the starts that the plan holds.
void write_chunk_lens(std::span<const int32_t> cu_lens, size_t requests, JsonWriter& writer) {
  writer.begin_array();
  for (size_t i = 0; i < requests; ++i) writer.value(cu_lens[i + 1] - cu_lens[i]);
  writer.end_array();
}

void write_chunk_set(const PlanReader& plan, const attnplan_chunk_set& set, JsonWriter& writer) {
  const attnplan_segment& segment = plan.segments()[static_cast<size_t>(set.segment)];
  const auto requests = static_cast<size_t>(segment.req_end - segment.req_begin);
  const auto chunks = plan.section<attnplan_chunk>(ATTNPLAN_SECTION_CHUNK_LIST)
                          .subspan(static_cast<size_t>(set.chunk_begin),
                                   static_cast<size_t>(set.num_chunks));
  const auto cu_lens = plan.section<int32_t>(ATTNPLAN_SECTION_CHUNK_CU_LENS);
  const auto skip = plan.section<int32_t>(ATTNPLAN_SECTION_CHUNK_SKIP_MERGE);
  writer.begin_object();
  writer.member("chunk_tokens", set.chunk_tokens);
  writer.member("num_chunks", set.num_chunks);
  writer.key("lens");
  writer.begin_array();
  for (const attnplan_chunk& chunk : chunks) {
    write_chunk_lens(cu_lens.subspan(static_cast<size_t>(chunk.cu_lens_begin), requests + 1),
                     requests, writer);
  }
  writer.end_array();
  writer.key("totals");
  writer.begin_array();
  for (const attnplan_chunk& chunk : chunks) writer.value(chunk.total);
  writer.end_array();
  writer.key("max_lens");
  writer.begin_array();
  for (const attnplan_chunk& chunk : chunks) writer.value(chunk.max_len);
  writer.end_array();
  writer.key("skip_merge");
  writer.begin_array();
  for (int32_t i = segment.req_begin; i < segment.req_end; ++i) {
    writer.value(skip[static_cast<size_t>(i)] != 0);
  }
  writer.end_array();
  writer.end_object();
}

void write_chunks(const PlanReader& plan, JsonWriter& writer) {
  writer.begin_array();
  for (const auto& set : plan.section<attnplan_chunk_set>(ATTNPLAN_SECTION_CHUNKS)) {
    write_chunk_set(plan, set, writer);
  }
  writer.end_array();
}

void write_window(const PlanReader& plan, JsonWriter& writer) {
  const attnplan_window& window = plan.section<attnplan_window>(ATTNPLAN_SECTION_WINDOW)[0];
  const auto cu_len = plan.section<int32_t>(ATTNPLAN_SECTION_WINDOW_CU_LEN);
  writer.begin_object();
  writer.key("start");
  writer.list(plan.section<int32_t>(ATTNPLAN_SECTION_WINDOW_START));
  writer.key("len");
  write_chunk_lens(cu_len, static_cast<size_t>(window.num_requests), writer);
  writer.key("cu_len");
  writer.list(cu_len);
  writer.member("max_len", window.max_len);
  writer.end_object();
}

void write_local(const PlanReader& plan, JsonWriter& writer) {
  using Batch = attnplan_local_batch;
  const auto batches = plan.section<Batch>(ATTNPLAN_SECTION_LOCAL);
  const auto column = [&](const char* name, int32_t Batch::*member) {
    writer.key(name);
    writer.begin_array();
    for (const Batch& batch : batches) writer.value(batch.*member);
    writer.end_array();
  };
  writer.begin_object();
  column("query_lens", &Batch::query_len);
  column("seq_lens", &Batch::seq_len);
  column("request", &Batch::request);
  column("first_block", &Batch::first_block);
  writer.end_object();
}

void write_launch(const PlanReader& plan, JsonWriter& writer) {
  writer.begin_array();
  for (const auto& launch : plan.section<attnplan_launch>(ATTNPLAN_SECTION_LAUNCH)) {
    writer.begin_object();
    writer.member("segment", launch.segment);
    writer.member("query_tiles", launch.query_tiles);
    writer.member("num_splits", launch.num_splits);
    writer.member("scratch_bytes", launch.scratch_bytes);
    writer.member("launch_max_seq_len", launch.max_seq_len);
    writer.member("requests", launch.requests);
    writer.member("rows", launch.rows);
    writer.end_object();
  }
  writer.end_array();
}

// Plain lists of int32 need no writer of their own.
void write_section(const PlanReader& plan, int32_t id, JsonWriter& writer) {
  switch (id) {
    case ATTNPLAN_SECTION_QUERY_START_LOC:
      return write_query_start_loc(plan, writer);
    case ATTNPLAN_SECTION_PAGE_TABLE:
      return write_page_table(plan, writer);
    case ATTNPLAN_SECTION_SLOTS:
      return writer.list(plan.section<int64_t>(id));
    case ATTNPLAN_SECTION_CHUNKS:
      return write_chunks(plan, writer);
    case ATTNPLAN_SECTION_WINDOW:
      return write_window(plan, writer);
    case ATTNPLAN_SECTION_LOCAL:
      return write_local(plan, writer);
    case ATTNPLAN_SECTION_CONTEXT_PARALLEL:
      writer.begin_object();
      writer.key("row_bounds");
      writer.list(plan.section<int32_t>(id));
      return writer.end_object();
    case ATTNPLAN_SECTION_LAUNCH:
      return write_launch(plan, writer);
    default:
      return writer.list(plan.section<int32_t>(id));
  }
}

}  // namespace

void write_sections(const PlanReader& plan, uint64_t sections, JsonWriter& writer) {
  writer.key("sections");
  writer.begin_object();
  for (const Word& section : kSections) {
    if ((sections >> section.value & 1) == 0) continue;
    writer.key(section.text);
    write_section(plan, section.value, writer);
  }
  writer.end_object();
}

}  // namespace attnplan::json
