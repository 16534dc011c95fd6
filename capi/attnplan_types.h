/* attnplan: the types of the C ABI that describe things: statuses and codes, enumerators, contracts
 * of kernels, KV caches and their views. Include attnplan.h, which has the rules and the calls.
 */
#ifndef ATTNPLAN_TYPES_H_
#define ATTNPLAN_TYPES_H_

#include <stddef.h>
#include <stdint.h>

#include "attnplan_plan_format.h"

/* ---------------------------------------------------------------- status and codes */

typedef int32_t attnplan_status;
enum {
  ATTNPLAN_OK = 0,
  ATTNPLAN_PLAN_ERROR = 1,       /* the batch cannot be planned: error.code says why */
  ATTNPLAN_INVALID_ARGUMENT = 2, /* a NULL or contradictory argument of the call itself */
  ATTNPLAN_UNIMPLEMENTED = 3,    /* a value or a struct tail that this version does not know */
  ATTNPLAN_BUFFER_TOO_SMALL = 4, /* error.value: bytes needed, error.limit: bytes given */
  ATTNPLAN_OUT_OF_MEMORY = 5,
  ATTNPLAN_INTERNAL = 6
};

/* Planner codes, in the order in which the checks run (docs/errors.md). */
typedef int32_t attnplan_code;
enum {
  ATTNPLAN_CODE_NONE = 0,
  ATTNPLAN_CODE_QUERY_START_LOC_INVALID = 1,
  ATTNPLAN_CODE_VALUE_OUT_OF_RANGE = 2,
  ATTNPLAN_CODE_SEQ_SHORTER_THAN_QUERY = 3,
  ATTNPLAN_CODE_SEQ_MISMATCH = 4,
  ATTNPLAN_CODE_ROW_COUNT_MISMATCH = 5,
  ATTNPLAN_CODE_QUERY_LEN_BOUND_TOO_SMALL = 6,
  ATTNPLAN_CODE_QUERY_DRAFT_MISMATCH = 7,
  ATTNPLAN_CODE_BLOCK_TABLE_TOO_NARROW = 8,
  ATTNPLAN_CODE_PAGE_OUT_OF_RANGE = 9,
  ATTNPLAN_CODE_NEED_EXACT_SEQ_LENS = 10,
  ATTNPLAN_CODE_NO_ROUTE = 11,
  ATTNPLAN_CODE_CAPACITY_EXCEEDED = 12,
  ATTNPLAN_CODE_KV_ROWS_UNADDRESSABLE = 13,
  ATTNPLAN_CODE_DTYPE_MISMATCH = 14,
  ATTNPLAN_CODE_OFFSET_OVERFLOW = 15,
  ATTNPLAN_CODE_LAYOUT_UNSUPPORTED = 16,
  ATTNPLAN_CODE_BLOCK_SIZE_UNSUPPORTED = 17,
  ATTNPLAN_CODE_PAGE_SIZE_MISMATCH = 18,
  ATTNPLAN_CODE_SEQ_LEN_CLAMPED = 19, /* a warning, never an error */
  ATTNPLAN_CODE_BAD_DOCUMENT = 20     /* batch documents only */
};

/* Why a kernel was refused: bit numbers of a refusal's mask, in the order of the contract table. */
typedef int32_t attnplan_reason;
enum {
  ATTNPLAN_REASON_RAGGED = 0,
  ATTNPLAN_REASON_INTERIOR_PAD = 1,
  ATTNPLAN_REASON_QUERY_LENS_NOT_EXACT = 2,
  ATTNPLAN_REASON_WIDTH_UNSUPPORTED = 3,
  ATTNPLAN_REASON_GROUP_TOO_WIDE = 4,
  ATTNPLAN_REASON_GROUP_UNSUPPORTED = 5,
  ATTNPLAN_REASON_CONTEXT_UNSUPPORTED = 6,
  ATTNPLAN_REASON_SEQ_LENS_NOT_EXACT = 7,
  ATTNPLAN_REASON_TOO_FEW_REQUESTS = 8,
  ATTNPLAN_REASON_TOO_MANY_REQUESTS = 9,
  ATTNPLAN_REASON_SEQ_TOO_LONG = 10,
  ATTNPLAN_REASON_HEAD_SIZE_UNSUPPORTED = 11,
  ATTNPLAN_REASON_ARCH_UNSUPPORTED = 12,
  ATTNPLAN_REASON_MASK_UNSUPPORTED = 13,
  ATTNPLAN_REASON_WINDOW_UNSUPPORTED = 14,
  ATTNPLAN_REASON_FEATURE_UNSUPPORTED = 15,
  ATTNPLAN_REASON_BLOCK_SIZE_UNSUPPORTED = 16,
  ATTNPLAN_REASON_PAGE_SIZE_UNSUPPORTED = 17,
  ATTNPLAN_REASON_DTYPE_UNSUPPORTED = 18,
  ATTNPLAN_REASON_LAYOUT_UNSUPPORTED = 19,
  ATTNPLAN_REASON_TILE_MISALIGNED = 20,
  ATTNPLAN_REASON_OFFSET_OVERFLOW = 21,
  ATTNPLAN_NUM_REASONS = 22
};

/* Caller-owned; nothing to free. The lists are optional: point them at your own arrays. */
typedef struct attnplan_error {
  size_t struct_size;
  attnplan_status status;
  attnplan_code code;
  int32_t request;   /* input request that fails first, -1 where none is to blame */
  int32_t reserved0; /* 0 */
  int64_t value;     /* what was found */
  int64_t limit;     /* what it was compared with */
  attnplan_refusal* refusals; /* [refusals_capacity] optional, for NO_ROUTE and NEED_EXACT_SEQ_LENS */
  int32_t* requests;          /* [requests_capacity] optional: the requests left without a kernel */
  int32_t refusals_capacity;
  int32_t requests_capacity;
  int32_t num_refusals; /* out: how many there are, which may exceed the capacity */
  int32_t num_requests; /* out, likewise */
  char message[512];    /* out: one NUL-terminated sentence */
} attnplan_error;
#define ATTNPLAN_ERROR_INIT \
  { sizeof(attnplan_error), 0, 0, -1, 0, 0, 0, NULL, NULL, 0, 0, 0, 0, {0} }

/* ---------------------------------------------------------------- vocabulary */

typedef int32_t attnplan_route;
enum {
  ATTNPLAN_ROUTE_PAD = 0,
  ATTNPLAN_ROUTE_DECODE = 1,
  ATTNPLAN_ROUTE_EXTEND = 2,
  ATTNPLAN_ROUTE_PREFILL = 3
};

typedef int32_t attnplan_phase;
enum {
  ATTNPLAN_PHASE_TARGET = 0,
  ATTNPLAN_PHASE_DRAFT = 1,
  ATTNPLAN_PHASE_CAPTURE = 2,
  ATTNPLAN_PHASE_IDLE = 3
};

typedef int32_t attnplan_mask;
enum { ATTNPLAN_MASK_CAUSAL = 0, ATTNPLAN_MASK_FULL = 1 };

/* Bits. */
typedef uint32_t attnplan_features;
#define ATTNPLAN_FEATURE_SINKS 1u
#define ATTNPLAN_FEATURE_SOFT_CAP 2u
#define ATTNPLAN_FEATURE_ALIBI 4u
#define ATTNPLAN_FEATURE_LSE 8u

typedef int32_t attnplan_dtype;
enum {
  ATTNPLAN_DTYPE_NONE = 0,
  ATTNPLAN_DTYPE_BF16 = 1,
  ATTNPLAN_DTYPE_FP16 = 2,
  ATTNPLAN_DTYPE_UINT8 = 3,
  ATTNPLAN_DTYPE_E4M3FN = 4,
  ATTNPLAN_DTYPE_E4M3FNUZ = 5,
  ATTNPLAN_DTYPE_E5M2 = 6,
  ATTNPLAN_DTYPE_E5M2FNUZ = 7
};

/* The cache dtype string of the engine, as an enum. */
typedef int32_t attnplan_cache_dtype;
enum {
  ATTNPLAN_CACHE_AUTO = 0, /* bf16 */
  ATTNPLAN_CACHE_BF16 = 1,
  ATTNPLAN_CACHE_FP16 = 2,
  ATTNPLAN_CACHE_FP8 = 3,
  ATTNPLAN_CACHE_FP8_E4M3 = 4,
  ATTNPLAN_CACHE_FP8_E5M2 = 5,
  ATTNPLAN_CACHE_FP8_INC = 6
};

typedef int32_t attnplan_layout;
enum {
  ATTNPLAN_LAYOUT_LBNHC = 0, /* alias nhd: token-major */
  ATTNPLAN_LAYOUT_LBHNC = 1, /* alias hnd: head-major */
  ATTNPLAN_LAYOUT_LHBNC = 2, /* head-slot planes: K plane, then V plane */
  ATTNPLAN_LAYOUT_BLHNC = 3,
  ATTNPLAN_LAYOUT_BLNHC = 4,
  ATTNPLAN_LAYOUT_BHLNC = 5,
  ATTNPLAN_LAYOUT_MLA = 6
};

typedef int32_t attnplan_scale;
enum {
  ATTNPLAN_SCALE_NONE = 0,
  ATTNPLAN_SCALE_TENSOR = 1,
  ATTNPLAN_SCALE_HEAD = 2,
  ATTNPLAN_SCALE_TOKEN_HEAD = 3,  /* separate tensors */
  ATTNPLAN_SCALE_TOKEN_INLINE = 4 /* inside the row */
};

typedef int32_t attnplan_offset_unit;
enum { ATTNPLAN_OFFSET_NONE = 0, ATTNPLAN_OFFSET_ELEMENTS = 1, ATTNPLAN_OFFSET_BYTES = 2 };

typedef int32_t attnplan_graph_mode;
enum { /* the highest mode that is allowed */
  ATTNPLAN_GRAPH_ALLOW_FULL = 0,
  ATTNPLAN_GRAPH_ALLOW_PIECEWISE = 1,
  ATTNPLAN_GRAPH_ALLOW_NONE = 2
};

typedef int32_t attnplan_ragged_policy;
enum {
  ATTNPLAN_RAGGED_DEFAULT = 0, /* the profile's, else demote */
  ATTNPLAN_RAGGED_DEMOTE = 1,
  ATTNPLAN_RAGGED_UNIFORM_PREFIX = 2,
  ATTNPLAN_RAGGED_SPLIT_RUNS = 3,
  ATTNPLAN_RAGGED_AUTO = 4
};

/* ---------------------------------------------------------------- contracts (data, not code) */

/* data NULL: any value. data not NULL and count 0: the empty list, which admits nothing. */
typedef struct attnplan_int32_list {
  const int32_t* data;
  size_t count;
} attnplan_int32_list;
typedef struct attnplan_string_list {
  const char* const* data;
  size_t count;
} attnplan_string_list;

/* In the bit sets of a contract (1u << value): 0 is the default, this bit alone the empty list. */
#define ATTNPLAN_SET_EMPTY 0x80000000u

#define ATTNPLAN_CONTRACT_UNIFORM 1u             /* maps row / width to a request */
#define ATTNPLAN_CONTRACT_EXACT_SEQ_LENS 2u      /* reads lengths on the host */
#define ATTNPLAN_CONTRACT_NO_SLIDING_WINDOW 4u   /* refuses a group with a window */
#define ATTNPLAN_CONTRACT_EQUAL_KV_ROWS 8u       /* wants the trimmed K view */
#define ATTNPLAN_CONTRACT_EQUAL_SCALE_ROWS 16u

/* What one kernel demands of the metadata it is handed; every field is explained in
 * docs/planning.md, "Contracts". */
typedef struct attnplan_contract {
  size_t struct_size;
  const char* name;
  attnplan_route route;
  uint32_t flags;                  /* ATTNPLAN_CONTRACT_* */
  attnplan_int32_list query_lens;  /* allowed query_len */
  attnplan_int32_list groups;      /* allowed num_q_heads / num_kv_heads */
  attnplan_int32_list head_sizes;  /* K's and V's; with v_head_sizes K's */
  attnplan_int32_list block_sizes; /* tokens */
  attnplan_int32_list page_sizes;  /* tokens */
  attnplan_string_list archs;
  uint32_t masks;    /* bits of attnplan_mask; 0: causal */
  uint32_t features; /* what it can do; 0: none */
  uint32_t dtypes;   /* bits of attnplan_dtype (view labels); 0: any */
  uint32_t layouts;  /* bits of attnplan_layout; 0: any */
  int32_t max_query_len;         /* rows */
  int32_t max_query_len_x_group; /* rows x query heads per KV head */
  int32_t context;               /* 0 any, 1 none, 2 some */
  int32_t min_requests;
  int32_t max_requests;
  int32_t max_seq_len; /* tokens */
  int32_t tile_tokens;
  int32_t dtype_label; /* 0 view, 1 storage */
  int32_t pads;        /* 0 empty, 1 full_width */
  int32_t graph;       /* 0 default (decode: uniform, else never), 1 uniform, 2 always, 3 never */
  attnplan_offset_unit offset_unit;
  int32_t query_tile; /* packed rows (rows x group) of one query tile; 0: 64 */
  int64_t offset_max;
  int32_t kv_tile;    /* tokens of one KV tile; 0: 128 */
  int32_t num_splits; /* of a kernel that always splits KV so; 0: none */
  attnplan_int32_list v_head_sizes; /* pairs: each belongs to the head size at the same place */
  uint32_t scales;                  /* bits of attnplan_scale; 0: any */
  int32_t reserved0;                /* 0 */
} attnplan_contract;
#define ATTNPLAN_CONTRACT_INIT                                                              \
  {                                                                                         \
    sizeof(attnplan_contract), NULL, 0, 0, {NULL, 0}, {NULL, 0}, {NULL, 0}, {NULL, 0},      \
        {NULL, 0}, {NULL, 0}, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,      \
        {NULL, 0}, 0, 0                                                                     \
  }
enum {
  ATTNPLAN_CONTEXT_ANY = 0,
  ATTNPLAN_CONTEXT_NONE = 1,
  ATTNPLAN_CONTEXT_SOME = 2,
  ATTNPLAN_LABEL_VIEW = 0,
  ATTNPLAN_LABEL_STORAGE = 1,
  ATTNPLAN_PADS_EMPTY = 0,
  ATTNPLAN_PADS_FULL_WIDTH = 1,
  ATTNPLAN_CAPTURE_DEFAULT = 0,
  ATTNPLAN_CAPTURE_UNIFORM = 1,
  ATTNPLAN_CAPTURE_ALWAYS = 2,
  ATTNPLAN_CAPTURE_NEVER = 3
};

/* ---------------------------------------------------------------- KV cache */

#define ATTNPLAN_KV_PACKED 1u  /* inside one block all K pages come first, then all V pages */
#define ATTNPLAN_KV_SHUFFLE 2u /* page content reordered for 16-byte loads */
#define ATTNPLAN_KV_TYPED 4u   /* the consumer dispatches on dtype: kv_view.label is the view label */

typedef struct attnplan_kv_cache {
  size_t struct_size;
  attnplan_layout layout;
  uint32_t flags; /* ATTNPLAN_KV_* */
  int32_t num_blocks;
  int32_t block_size; /* tokens per logical block */
  int32_t page_size;  /* tokens per kernel page; 0: each kernel's own choice */
  attnplan_cache_dtype cache_dtype;
  attnplan_dtype storage_dtype; /* 0: from cache_dtype and arch */
  attnplan_dtype view_dtype;    /* 0: likewise */
  attnplan_scale scale;
  attnplan_offset_unit offset_unit;
  int64_t offset_max;
  int64_t k_pages; /* pages the K view really has; 0: derived, likewise below */
  int64_t v_pages;
  int64_t k_scale_pages;
  int64_t v_scale_pages;
  int64_t block_stride; /* elements */
} attnplan_kv_cache;
#define ATTNPLAN_KV_CACHE_INIT \
  { sizeof(attnplan_kv_cache), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/* The resolved views (docs/kv-cache.md). Pages are in units of page_size tokens. */
typedef struct attnplan_kv_view {
  size_t struct_size;
  int64_t k_pages; /* given or derived, untrimmed */
  int64_t v_pages;
  int64_t pages;           /* trimmed: what a kernel that wants equal lengths is handed */
  int64_t dropped_k_pages; /* k_pages - pages */
  int64_t k_scale_pages;   /* trimmed; 0 without per-token scales */
  int64_t v_scale_pages;
  int64_t max_page_id;       /* the largest id that any block can expand to */
  int64_t block_page_stride; /* pages between two blocks: from the layout, never from counts */
  int64_t pages_per_block;
  int64_t block_stride; /* elements */
  int64_t last_offset;  /* elements: the last one any kernel may touch */
  attnplan_dtype label; /* for the consumer: typed -> view, raw -> storage */
  attnplan_dtype storage_dtype;
  attnplan_dtype view_dtype;
  int32_t packed;
  int32_t needs_64bit;
  int32_t page_size; /* the unit of the counts: page_size, or block_size where that is absent */
} attnplan_kv_view;
#define ATTNPLAN_KV_VIEW_INIT \
  { sizeof(attnplan_kv_view), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

#endif /* ATTNPLAN_TYPES_H_ */
