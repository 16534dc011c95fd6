/* The plan blob: the one thing that the planner and the kernels both include.
 *
 *   header | section table | sections, each 64-byte aligned
 *
 * Relocatable: no pointers, offsets count bytes from the first byte of the header. Readers skip
 * section ids that they do not know. Integers are little-endian, as on every supported host.
 * Request indices are in plan order: with ATTNPLAN_PLAN_SORTED section ORDER maps a plan position
 * to the request of the step, else both are the same.
 */
#ifndef ATTNPLAN_PLAN_FORMAT_H_
#define ATTNPLAN_PLAN_FORMAT_H_

#include <stdint.h>

#define ATTNPLAN_PLAN_MAGIC 0x4c505441u /* "ATPL" */
#define ATTNPLAN_PLAN_MAJOR 0
#define ATTNPLAN_PLAN_MINOR 1
#define ATTNPLAN_PLAN_ALIGNMENT 64

enum { /* section ids; attnplan_config.sections asks for one with bit 1 << id */
  ATTNPLAN_SECTION_SEGMENTS = 1, /* always there; attnplan_segment */
  ATTNPLAN_SECTION_REFUSALS = 2, /* always; attnplan_refusal, segments name their range */
  ATTNPLAN_SECTION_WARNINGS = 3, /* always; attnplan_warning */
  ATTNPLAN_SECTION_ORDER = 4,    /* with order: sort; [n] plan position -> request of the step */
  ATTNPLAN_SECTION_QUERY_START_LOC = 8, /* per segment [its requests + 1], rebased to its first row;
                                           begins at attnplan_segment.query_start_loc_begin */
  ATTNPLAN_SECTION_SEQ_LENS = 9,        /* [n] tokens */
  ATTNPLAN_SECTION_CONTEXT_LENS = 10,   /* [n] tokens */
  ATTNPLAN_SECTION_ROW_REQUEST = 11,    /* [rows] plan position of the request */
  ATTNPLAN_SECTION_ROW_POSITION = 12    /* [rows] absolute position; -1 behind a clamp */
};

enum { /* attnplan_section.type */
  ATTNPLAN_TYPE_INT32 = 1,
  ATTNPLAN_TYPE_INT64 = 2,
  ATTNPLAN_TYPE_SEGMENT = 3,
  ATTNPLAN_TYPE_REFUSAL = 4,
  ATTNPLAN_TYPE_WARNING = 5
};

enum { /* attnplan_section.extent */
  ATTNPLAN_EXTENT_OTHER = 0,
  ATTNPLAN_EXTENT_REQUESTS = 1,
  ATTNPLAN_EXTENT_ROWS = 2,
  ATTNPLAN_EXTENT_PAGES = 3
};

enum { /* attnplan_section.validity */
  ATTNPLAN_VALIDITY_EXACT = 0,
  ATTNPLAN_VALIDITY_BOUND = 1, /* upper bounds: never below the truth */
  ATTNPLAN_VALIDITY_DEVICE = 2 /* host values would be wrong: filled, to be written on the device */
};

enum { /* attnplan_plan_header.flags */
  ATTNPLAN_PLAN_SORTED = 1,
  ATTNPLAN_PLAN_FIXED_LAYOUT = 2,
  ATTNPLAN_PLAN_HAS_GRAPH = 4
};

enum { /* attnplan_segment.flags */
  ATTNPLAN_SEGMENT_EXACT_QUERY_LENS = 1,
  ATTNPLAN_SEGMENT_EXACT_SEQ_LENS = 2
};

typedef struct attnplan_section {
  int32_t id;
  uint16_t type;
  uint8_t extent;
  uint8_t validity;
  int64_t offset;   /* bytes */
  int64_t count;    /* elements in use */
  int64_t capacity; /* elements there is room for */
} attnplan_section; /* 32 bytes */

/* Every figure is measured over the segment's live requests, pads excluded. */
typedef struct attnplan_segment {
  int32_t route;  /* attnplan_route */
  int32_t kernel; /* index in the planner's profile */
  int32_t req_begin;
  int32_t req_end;
  int32_t row_begin;
  int32_t row_end;
  int32_t width; /* the one query_len of all its requests, no pad between them; else 0 */
  int32_t max_query_len; /* rows; the bound where query lengths are inexact */
  int32_t min_query_len;
  int32_t max_seq_len; /* tokens; an upper bound where lengths are inexact */
  int32_t min_seq_len;
  int32_t max_context_len; /* tokens */
  int32_t min_context_len;
  int32_t num_live;  /* requests that are no pads */
  int32_t page_size; /* tokens a page of this kernel; 0 without a cache */
  int32_t label;     /* attnplan_dtype its cache argument must carry; 0 without a cache */
  uint32_t flags;    /* ATTNPLAN_SEGMENT_* */
  int32_t refusal_begin; /* into section REFUSALS */
  int32_t refusal_end;
  int32_t query_start_loc_begin; /* element of section QUERY_START_LOC */
  int64_t sum_seq_lens;          /* tokens */
  int64_t sum_context_lens;
} attnplan_segment; /* 96 bytes */

/* Why one kernel was refused. */
typedef struct attnplan_refusal {
  int32_t kernel;   /* index in the planner's profile */
  uint32_t reasons; /* bit r for every attnplan_reason r */
} attnplan_refusal; /* 8 bytes */

typedef struct attnplan_warning {
  int32_t code;    /* attnplan_code */
  int32_t request; /* of the step */
  int64_t value;
  int64_t limit;
} attnplan_warning; /* 24 bytes */

typedef struct attnplan_plan_header {
  uint32_t magic;
  uint16_t major;
  uint16_t minor;
  uint32_t header_bytes; /* of this struct: the section table follows */
  uint32_t flags;        /* ATTNPLAN_PLAN_* */
  uint64_t total_bytes;
  uint64_t step_hash;
  uint64_t planner_hash;
  int32_t num_sections;
  int32_t num_segments;
  int32_t num_reqs; /* n, pads included */
  int32_t num_rows;
  int32_t num_decodes; /* requests per final route */
  int32_t num_extends;
  int32_t num_prefills;
  int32_t num_pads;
  int32_t num_decode_tokens; /* rows per final route */
  int32_t num_extend_tokens;
  int32_t num_prefill_tokens;
  int32_t ragged_policy; /* attnplan_ragged_policy in effect; 0: D empty or admitted whole */
  int32_t max_decode_query_len; /* the segments' maxima, 0 where absent */
  int32_t max_extend_query_len;
  int32_t max_prefill_query_len;
  int32_t decode_req_begin; /* D of docs/planning.md: what a decode kernel was tried on */
  int32_t decode_req_end;
  int32_t query_len_bound; /* of inexact verify rows; 0 where all query lengths are exact */
  int32_t graph_kind;      /* with HAS_GRAPH: 0 none, 1 piecewise, 2 full */
  int32_t graph_rows;
  int32_t graph_requests; /* -1: not determined by the graph */
  int32_t graph_pad_rows;
  int32_t graph_pad_requests;
  int32_t graph_width;
  int64_t policy_costs[3]; /* under auto: demote, uniform_prefix, split_runs; nanoseconds */
} attnplan_plan_header;    /* 160 bytes */

#endif /* ATTNPLAN_PLAN_FORMAT_H_ */
