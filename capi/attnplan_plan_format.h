/* The plan blob: the one thing that the planner and the kernels both include.
 *
 *   header | section table | sections, each 64-byte aligned
 *
 * Relocatable: no pointers, offsets count bytes from the first byte of the header. Readers skip
 * section ids that they do not know. Integers are little-endian, as on every supported host.
 * Request indices are in plan order: with ATTNPLAN_PLAN_SORTED section ORDER maps a plan position
 * to the request of the step, else both are the same.
 *
 * With ATTNPLAN_PLAN_FIXED_LAYOUT offsets and capacities depend on the planner alone, so that device
 * addresses can be captured; only the byte ranges that the header lists are written, and only they
 * have to be copied. Elements of a graph's pads, behind `count`, hold a defined fill: 0 for lengths,
 * the last value for starts and indptr, -1 for indices, positions and slots. Pads of full width are
 * requests of `width` rows and one KV token each instead: starts and indptr go on, their rows name
 * them at position 0, their one page is page 0 of the cache, only slots are -1; those that the batch
 * brings itself, behind its last live request, stand inside `count`. Bytes behind all pads, up to
 * the next multiple of 64, are 0.
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
  ATTNPLAN_SECTION_ROW_POSITION = 12,   /* [rows] absolute position; -1 behind a clamp */
  ATTNPLAN_SECTION_PAGE_INDPTR = 13,    /* [n + 1] into PAGE_INDICES */
  ATTNPLAN_SECTION_PAGE_INDICES = 14,   /* kernel pages of every request, ceil(seq_len / page_size) */
  ATTNPLAN_SECTION_LAST_PAGE_LEN = 15,  /* [n] tokens on the last page; 0 without pages */
  ATTNPLAN_SECTION_PAGE_TABLE = 16,     /* [n, page_table_width] kernel pages; -1 behind the live */
  ATTNPLAN_SECTION_SLOTS = 17,          /* [rows] int64 token address in the cache; -1: no slot */
  ATTNPLAN_SECTION_CHUNKS = 18, /* attnplan_chunk_set, one per extend segment; brings 19 to 21 */
  ATTNPLAN_SECTION_CHUNK_LIST = 19,       /* attnplan_chunk */
  ATTNPLAN_SECTION_CHUNK_CU_LENS = 20,    /* per chunk [requests of the segment + 1] tokens */
  ATTNPLAN_SECTION_CHUNK_SKIP_MERGE = 21, /* [n] 1: no context, so nothing to merge */
  ATTNPLAN_SECTION_CHUNK_TOKEN_TO_REQUEST = 22, /* per chunk [total] plan position; asked for alone */
  ATTNPLAN_SECTION_WINDOW = 23,        /* one attnplan_window; brings 24 and 25 */
  ATTNPLAN_SECTION_WINDOW_START = 24,  /* [extend requests] first token to fetch */
  ATTNPLAN_SECTION_WINDOW_CU_LEN = 25, /* [extend requests + 1] tokens */
  ATTNPLAN_SECTION_LOCAL = 26,         /* attnplan_local_batch */
  ATTNPLAN_SECTION_CONTEXT_PARALLEL = 27, /* [rows] tokens of this rank that the row may see */
  ATTNPLAN_SECTION_LAUNCH = 28,           /* attnplan_launch, one per segment */
  ATTNPLAN_SECTION_WORK = 29, /* one attnplan_work; with config.work, brings 30 to 34 */
  ATTNPLAN_SECTION_WORK_ITEMS = 30,    /* attnplan_work_item */
  ATTNPLAN_SECTION_WORKER_INDPTR = 31, /* [workers + 1] into WORK_ITEMS */
  ATTNPLAN_SECTION_MERGE_TILES = 32,   /* attnplan_merge_tile */
  ATTNPLAN_SECTION_MERGE_INDPTR = 33,  /* [merge tiles + 1] into MERGE_SLOTS */
  ATTNPLAN_SECTION_MERGE_SLOTS = 34,   /* partial slots of each tile in KV order */
  ATTNPLAN_SECTION_END = 35
};

enum { /* attnplan_section.type */
  ATTNPLAN_TYPE_INT32 = 1,
  ATTNPLAN_TYPE_INT64 = 2,
  ATTNPLAN_TYPE_SEGMENT = 3,
  ATTNPLAN_TYPE_REFUSAL = 4,
  ATTNPLAN_TYPE_WARNING = 5,
  ATTNPLAN_TYPE_CHUNK_SET = 6,
  ATTNPLAN_TYPE_CHUNK = 7,
  ATTNPLAN_TYPE_WINDOW = 8,
  ATTNPLAN_TYPE_LOCAL_BATCH = 9,
  ATTNPLAN_TYPE_LAUNCH = 10,
  ATTNPLAN_TYPE_WORK = 11,
  ATTNPLAN_TYPE_WORK_ITEM = 12,
  ATTNPLAN_TYPE_MERGE_TILE = 13
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

enum { /* attnplan_plan_header.cache_flags: bits of attnplan_kv_cache.flags */
  ATTNPLAN_PLAN_CACHE_PACKED = 1,
  ATTNPLAN_PLAN_CACHE_SHUFFLE = 2,
  ATTNPLAN_PLAN_CACHE_TYPED = 4
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

/* Context chunks of one extend segment. Chunk k of a request covers its context tokens
 * [k * chunk_tokens, min((k + 1) * chunk_tokens, context)). */
typedef struct attnplan_chunk_set {
  int32_t segment;
  int32_t chunk_tokens; /* a multiple of the page size; 0 where nothing has context */
  int32_t num_chunks;
  int32_t chunk_begin; /* into CHUNK_LIST */
} attnplan_chunk_set;  /* 16 bytes */

typedef struct attnplan_chunk {
  int32_t total;         /* tokens of all requests in this chunk */
  int32_t max_len;       /* tokens */
  int32_t cu_lens_begin; /* element of CHUNK_CU_LENS */
  int32_t token_begin;   /* element of CHUNK_TOKEN_TO_REQUEST */
} attnplan_chunk;        /* 16 bytes */

/* What extend requests fetch under a sliding window. */
typedef struct attnplan_window {
  int32_t num_requests; /* of all extend segments, interior pads included */
  int32_t max_len;      /* tokens */
  int64_t total;        /* tokens */
} attnplan_window;      /* 16 bytes */

/* A piece of a request that attends inside one chunk of local attention. Rows that the clamp of a
 * draft step leaves without keys are a piece of seq_len 0, whose first_block means nothing. */
typedef struct attnplan_local_batch {
  int32_t query_len;
  int32_t seq_len; /* tokens, counted from the start of the chunk */
  int32_t request;
  int32_t first_block; /* of the request's table, in logical blocks: the chunk starts with it */
} attnplan_local_batch; /* 16 bytes */

/* Scalars for the launch of one segment's kernel: measured, but under a full graph from the graph
 * and the planner's limits alone. A piecewise graph leaves attention outside. */
typedef struct attnplan_launch {
  int32_t segment;
  int32_t query_tiles;  /* per KV head: tiles of query_tile packed rows (rows x group) */
  int32_t num_splits;   /* of a kernel with a fixed split; 0: none */
  int32_t max_seq_len;  /* tokens; under a full graph max_model_len, where that is given */
  int32_t requests;     /* extents of the grid, pads included */
  int32_t rows;
  int64_t scratch_bytes; /* float32 partial outputs and log-sum-exps of the splits */
} attnplan_launch;       /* 32 bytes */

enum { /* attnplan_work.policy */
  ATTNPLAN_WORK_LIST_STREAM_K = 2,
  ATTNPLAN_WORK_LIST_EQUAL_CHUNKS = 3,
  ATTNPLAN_WORK_LIST_FIXED = 4
};

typedef struct attnplan_work {
  int32_t policy;
  int32_t workers;
  int32_t query_tile; /* packed rows (rows x group) of a tile */
  int32_t kv_tile;    /* tokens: KV ranges are cut at its multiples */
  int32_t num_slots;  /* partial outputs in use */
  int32_t max_slots;  /* never more, whatever the batch: sizes the workspace. 0 with fixed chunks
                         where the planner has no limits to derive it from */
  int64_t makespan;   /* load of the longest worker: tokens, with the overhead of each item */
  double mean;        /* of all workers */
} attnplan_work;      /* 40 bytes */

enum { /* attnplan_work_item.flags */
  ATTNPLAN_ITEM_CAUSAL_MASK = 1, /* some row may not see all of the item's KV */
  ATTNPLAN_ITEM_WINDOW_MASK = 2  /* some row's window starts inside the item's KV */
};

/* Rows count from the first row of the request. Ranges are half-open. */
typedef struct attnplan_work_item {
  int32_t request; /* plan position */
  int32_t kv_head; /* -1: every head */
  int32_t row_begin;
  int32_t row_end;
  int32_t kv_begin; /* tokens */
  int32_t kv_end;
  int32_t slot; /* partial output; -1: writes the final output */
  uint32_t flags;
} attnplan_work_item; /* 32 bytes */

/* An output tile that several items share. */
typedef struct attnplan_merge_tile {
  int32_t request;
  int32_t kv_head;
  int32_t row_begin;
  int32_t row_end;
} attnplan_merge_tile; /* 16 bytes */

typedef struct attnplan_byte_range {
  int64_t offset;
  int64_t bytes;
} attnplan_byte_range; /* 16 bytes */

enum { /* attnplan_plan_header.graph_kind */
  ATTNPLAN_GRAPH_NONE = 0,
  ATTNPLAN_GRAPH_PIECEWISE = 1,
  ATTNPLAN_GRAPH_FULL = 2
};

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
  int32_t graph_kind;      /* with HAS_GRAPH: ATTNPLAN_GRAPH_* */
  int32_t graph_rows;
  int32_t graph_requests; /* -1: not determined by the graph */
  int32_t graph_pad_rows;
  int32_t graph_pad_requests;
  int32_t graph_width;
  int32_t page_table_width; /* pages in a row of PAGE_TABLE */
  int32_t num_byte_ranges;  /* attnplan_byte_range, behind the section table */
  int64_t policy_costs[3];  /* under auto: demote, uniform_prefix, split_runs; nanoseconds by the
                               model of docs/planning.md; -1: cannot be routed */
  int32_t num_q_heads;      /* what the plan was made for, likewise below: attnplan_config's */
  int32_t num_kv_heads;     /* figures, with defaults filled in */
  int32_t head_size;
  int32_t v_head_size;
  int32_t mask;           /* attnplan_mask */
  int32_t sliding_window; /* tokens; 0: none */
  int32_t num_blocks;     /* of the cache; 0: planned without one */
  int32_t block_size;     /* tokens of a logical block; 0 likewise */
  int32_t layout;         /* attnplan_layout */
  uint32_t cache_flags;   /* ATTNPLAN_PLAN_CACHE_* */
} attnplan_plan_header;   /* 208 bytes */

#endif /* ATTNPLAN_PLAN_FORMAT_H_ */
