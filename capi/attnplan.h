/* attnplan: plans attention for LLM inference engines. C ABI of libattnplan.so.
 *
 * One planner per KV group (layers that share one KV-cache geometry, window, mask and decode
 * threshold), created once. Every step the engine calls attnplan_plan_build() with the step's host
 * arrays; the answer is one relocatable blob in the caller's memory (attnplan_plan_format.h).
 *
 * Rules that hold everywhere
 *  - Zero means "absent" or "default" in every optional field.
 *  - struct_size comes first in every struct that may grow: set it with the *_INIT macro. A struct
 *    shorter than the library's is read as if its tail were zero; the extra bytes of a longer one
 *    must be zero, else the call fails with ATTNPLAN_UNIMPLEMENTED.
 *  - A fallible call returns a status and fills `error`, if given. On failure other outputs are
 *    untouched.
 *  - Arrays are borrowed for the call and are never written. The library keeps no pointer of a step.
 *  - No call exits, aborts, throws, locks, or writes to stdio.
 *  - A planner is immutable and may be shared by threads. A scratch belongs to one call at a time.
 *
 * Units: rows are query tokens of the flattened query tensor; tokens are KV positions; blocks are
 * logical KV blocks of block_size tokens; pages are kernel pages of page_size tokens.
 */
#ifndef ATTNPLAN_H_
#define ATTNPLAN_H_

#include <stddef.h>
#include <stdint.h>

#include "attnplan_plan_format.h"
#include "attnplan_types.h"

#ifdef __cplusplus
extern "C" {
#endif

#if defined(ATTNPLAN_STATIC)
#define ATTNPLAN_API
#else
#define ATTNPLAN_API __attribute__((visibility("default")))
#endif

/* Major in the upper 16 bits, minor in the lower. Bindings refuse another major. */
#define ATTNPLAN_ABI_VERSION 0x00000001u

/* ---------------------------------------------------------------- planner */

/* Both functions or neither. They must be callable from any thread. */
typedef struct attnplan_allocator {
  void* (*allocate)(void* context, size_t bytes, size_t alignment);
  void (*deallocate)(void* context, void* pointer, size_t bytes, size_t alignment);
  void* context;
} attnplan_allocator;

#define ATTNPLAN_ORDER_AS_GIVEN 0
#define ATTNPLAN_ORDER_SORT 1
#define ATTNPLAN_CHUNKS_FILL 0
#define ATTNPLAN_CHUNKS_EQUAL 1
#define ATTNPLAN_SECTIONS_AUTO 0 /* fixed with graph sizes, else compact */
#define ATTNPLAN_SECTIONS_FIXED 1
#define ATTNPLAN_SECTIONS_COMPACT 2
#define ATTNPLAN_WORK_NONE 0
#define ATTNPLAN_WORK_AUTO 1
#define ATTNPLAN_WORK_STREAM_K 2
#define ATTNPLAN_WORK_EQUAL_CHUNKS 3
#define ATTNPLAN_WORK_FIXED 4

#define ATTNPLAN_CONFIG_SHORT_EXTEND_DECODE 1u /* a short chunk of a prompt may be a decode */
#define ATTNPLAN_CONFIG_GRAPH 2u               /* report a graph even where both lists are empty */

typedef struct attnplan_config {
  size_t struct_size;
  const char* profile;               /* name of a built-in profile, or a label with contracts */
  const attnplan_contract* const* contracts; /* own kernels in order of preference, or NULL */
  size_t num_contracts;
  const attnplan_kv_cache* kv_cache; /* NULL: nothing about the cache is known or checked */
  const attnplan_allocator* allocator; /* NULL: malloc and free */
  const char* arch;                    /* NULL: "gfx950" */
  uint64_t sections;                   /* bits 1 << ATTNPLAN_SECTION_*, attnplan_plan_format.h */
  attnplan_int32_list graph_full;      /* rows of the full graphs that were captured */
  attnplan_int32_list graph_piecewise;
  int64_t max_sections_bytes; /* 0: 1 GiB, or what a fixed layout takes */
  int32_t max_model_len;      /* tokens; 0: unlimited, likewise the next two */
  int32_t max_num_seqs;       /* requests */
  int32_t max_num_batched_tokens; /* rows */
  int32_t num_workers;            /* compute units x resident workgroups, to 65536; 0: 256 */
  int32_t num_q_heads;            /* 0: 16 */
  int32_t num_kv_heads;           /* 0: 1 */
  int32_t head_size;              /* 0: 128 */
  int32_t v_head_size;            /* 0: head_size */
  int32_t decode_threshold;       /* 0: 1. Widest query_len that may still be a decode */
  attnplan_mask mask;
  attnplan_features features;
  int32_t sliding_window; /* tokens a query may see, itself included; 0: all */
  uint32_t flags;         /* ATTNPLAN_CONFIG_* */
  int32_t order;          /* ATTNPLAN_ORDER_* */
  attnplan_ragged_policy ragged;
  int32_t max_segments; /* decode segments under split_runs; 0: 8 */
  int32_t chunk_policy;
  int32_t chunk_workspace_tokens; /* 0: 32768 */
  int32_t work;                   /* ATTNPLAN_WORK_* */
  int32_t work_fixed_tokens;      /* for ATTNPLAN_WORK_FIXED */
  int32_t section_layout;         /* ATTNPLAN_SECTIONS_* */
  int32_t graph_width;            /* 0: decode_threshold */
  int32_t graph_max_num_seqs;     /* 0: max_num_seqs */
  int32_t context_parallel_world; /* 0: 1 */
  int32_t context_parallel_rank;
  int32_t context_parallel_interleave; /* 0: 1 */
  int32_t local_attention_chunk;       /* tokens; 0: none */
  attnplan_ragged_policy profile_ragged; /* the policy that a custom profile prefers */
} attnplan_config;
#define ATTNPLAN_CONFIG_INIT                                                                    \
  {                                                                                             \
    sizeof(attnplan_config), NULL, NULL, 0, NULL, NULL, NULL, 0, {NULL, 0}, {NULL, 0}, 0, 0, 0, \
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0            \
  }

typedef struct attnplan_planner attnplan_planner;
typedef struct attnplan_scratch attnplan_scratch;

/* ---------------------------------------------------------------- one step */

#define ATTNPLAN_STEP_QUERY_LENS_INEXACT 1u /* the device redistributes verify rows */
#define ATTNPLAN_STEP_SEQ_LENS_INEXACT 2u   /* host lengths assume that every draft was accepted */

/* Lengths and state of one scheduler step, shared by all KV groups. n = num_reqs. */
typedef struct attnplan_step {
  size_t struct_size;
  const int32_t* query_lens;      /* [n] rows, or NULL with query_start_loc: exactly one of them */
  const int32_t* query_start_loc; /* [n + 1] rows */
  const int32_t* seq_lens;        /* [n] KV tokens, this step's rows included; NULL: computed + query */
  const int32_t* num_computed_tokens; /* [n] or NULL, likewise below */
  const int32_t* num_prompt_tokens;
  const int32_t* num_known_tokens; /* prompt plus accepted, never drafts */
  const int32_t* num_draft_tokens;
  const uint8_t* is_prefilling; /* 0 or 1 */
  const uint8_t* seq_len_exact; /* 0 or 1, overrides the flag and the rules */
  int32_t num_reqs;
  attnplan_phase phase;
  uint32_t flags;     /* ATTNPLAN_STEP_* */
  int32_t num_tokens; /* rows the engine believes in; 0: not checked */
  int32_t max_query_len;
  int32_t num_reqs_padded;
  int32_t num_tokens_padded;
  attnplan_graph_mode graph_allow; /* what the data-parallel ranks agreed on */
} attnplan_step;
#define ATTNPLAN_STEP_INIT                                                                     \
  {                                                                                            \
    sizeof(attnplan_step), NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 0, 0, 0, 0, \
        0, 0, 0                                                                                \
  }

#define ATTNPLAN_GROUP_SKIP_ID_CHECK 1u
#define ATTNPLAN_GROUP_SLOTS_INT64 2u

/* What belongs to one KV group in this step. Checked only where the planner knows the cache.
 * Dense table: block_ids[request * row_stride + column], columns > 0. CSR: block_indptr[n + 1]
 * into block_ids. Dense without ids: only the width is checked. Ids and slots beyond the cache are
 * PAGE_OUT_OF_RANGE, unless ATTNPLAN_GROUP_SKIP_ID_CHECK says that they are known to be right. */
typedef struct attnplan_group {
  size_t struct_size;
  const int32_t* block_ids;
  const int32_t* block_indptr;
  int64_t row_stride; /* ids; 0: columns */
  const void* slot_mapping; /* [rows] token slots, int32 or int64 by flag; negative: no slot */
  int32_t columns;
  uint32_t flags;          /* ATTNPLAN_GROUP_* */
  int32_t tokens_per_id;   /* the unit of block_ids; 0: block_size. Another is PAGE_SIZE_MISMATCH */
  int32_t reserved0;       /* 0 */
} attnplan_group;
#define ATTNPLAN_GROUP_INIT \
  { sizeof(attnplan_group), NULL, NULL, 0, NULL, 0, 0, 0, 0 }

/* ---------------------------------------------------------------- calls */

ATTNPLAN_API uint32_t attnplan_abi_version(void);
ATTNPLAN_API const char* attnplan_version_string(void);
/* Static strings; "?" for an unknown number. */
ATTNPLAN_API const char* attnplan_status_name(attnplan_status status);
ATTNPLAN_API const char* attnplan_code_name(attnplan_code code);
ATTNPLAN_API const char* attnplan_reason_name(attnplan_reason reason);
ATTNPLAN_API const char* attnplan_route_name(attnplan_route route);
ATTNPLAN_API const char* attnplan_dtype_name(attnplan_dtype dtype);

/* Resolves the cache and the contracts. Errors: the codes of the cache, VALUE_OUT_OF_RANGE,
 * INVALID_ARGUMENT (unknown profile, no kernel), UNIMPLEMENTED, OUT_OF_MEMORY. */
ATTNPLAN_API attnplan_status attnplan_planner_create(const attnplan_config* config,
                                                     attnplan_planner** planner,
                                                     attnplan_error* error);
ATTNPLAN_API void attnplan_planner_destroy(attnplan_planner* planner); /* NULL is fine */
ATTNPLAN_API int32_t attnplan_planner_num_kernels(const attnplan_planner* planner);
/* Valid as long as the planner; NULL out of range. */
ATTNPLAN_API const char* attnplan_planner_kernel_name(const attnplan_planner* planner,
                                                      int32_t kernel);
/* What a kernel of the profile is to this planner's group, whatever the batch. */
typedef struct attnplan_kernel_info {
  size_t struct_size;
  attnplan_route route;
  uint32_t reasons;     /* bits of attnplan_reason: why it can serve no batch of this group; 0: it can */
  int32_t page_size;    /* tokens a page it is handed; 0 without a cache, or where none fits */
  attnplan_dtype label; /* what its cache argument must carry; 0 without a cache */
} attnplan_kernel_info;
#define ATTNPLAN_KERNEL_INFO_INIT \
  { sizeof(attnplan_kernel_info), 0, 0, 0, 0 }

/* INVALID_ARGUMENT: no such kernel. */
ATTNPLAN_API attnplan_status attnplan_planner_kernel_info(const attnplan_planner* planner,
                                                          int32_t kernel,
                                                          attnplan_kernel_info* info,
                                                          attnplan_error* error);
/* INVALID_ARGUMENT where the planner was created without a cache. */
ATTNPLAN_API attnplan_status attnplan_planner_kv_view(const attnplan_planner* planner,
                                                      attnplan_kv_view* view,
                                                      attnplan_error* error);

/* allocator may be NULL. A scratch grows to the largest step it has seen and then stays. */
ATTNPLAN_API attnplan_status attnplan_scratch_create(const attnplan_allocator* allocator,
                                                     attnplan_scratch** scratch,
                                                     attnplan_error* error);
ATTNPLAN_API void attnplan_scratch_destroy(attnplan_scratch* scratch); /* NULL is fine */

/* Bytes that attnplan_plan_build will need for exactly this step. group may be NULL. */
ATTNPLAN_API attnplan_status attnplan_plan_size(const attnplan_planner* planner,
                                                attnplan_scratch* scratch,
                                                const attnplan_step* step,
                                                const attnplan_group* group, size_t* bytes,
                                                attnplan_error* error);
/* Plans the step into `buffer` (64-byte aligned, `capacity` bytes); *bytes is what was written.
 * BUFFER_TOO_SMALL: error.value says how much it takes, nothing was written.
 * PLAN_ERROR: error.code and the rest say why; hand the batch back to your own path. */
ATTNPLAN_API attnplan_status attnplan_plan_build(const attnplan_planner* planner,
                                                 attnplan_scratch* scratch,
                                                 const attnplan_step* step,
                                                 const attnplan_group* group, void* buffer,
                                                 size_t capacity, size_t* bytes,
                                                 attnplan_error* error);

/* Bytes that no plan of this planner exceeds, for any step within its limits (max_num_seqs,
 * max_num_batched_tokens, and max_model_len where a section follows the lengths).
 * INVALID_ARGUMENT where a limit that is needed is missing. */
ATTNPLAN_API attnplan_status attnplan_plan_bound(const attnplan_planner* planner, size_t* bytes,
                                                 attnplan_error* error);

/* Plans one step for several KV groups; lengths are scanned once for all planners that agree on
 * threshold, mask and order. Arrays have `count` entries; groups may be NULL, and so may its
 * entries. Stops at the first failure: *failed (optional) is its index, the buffers before it hold
 * complete plans, bytes is untouched. */
ATTNPLAN_API attnplan_status attnplan_plan_build_many(
    const attnplan_planner* const* planners, size_t count, attnplan_scratch* scratch,
    const attnplan_step* step, const attnplan_group* const* groups, void* const* buffers,
    const size_t* capacities, size_t* bytes, size_t* failed, attnplan_error* error);

/* Checks a plan from an untrusted place. Alone (planner, scratch, step and group NULL): that whoever
 * follows it stays inside it: every count, range, index, start and enumerator fits the header and
 * the other sections, every output is written once. What only the planner or the engine knows is
 * left out: whether a kernel index, a KV head or a graph's size exists, ids of pages and cache slots.
 * With a planner: also the first three, and that the plan is one of its plans by hash. With planner,
 * scratch and step: also that it is the plan of that step, by hash and by the bytes of a plan made
 * again. INVALID_ARGUMENT says what is wrong, in which section and at which index; error.value is
 * what was found, error.limit what it may be. Time follows the size of the plan. docs/abi.md. */
ATTNPLAN_API attnplan_status attnplan_plan_verify(const void* plan, size_t plan_bytes,
                                                  const attnplan_planner* planner,
                                                  attnplan_scratch* scratch,
                                                  const attnplan_step* step,
                                                  const attnplan_group* group,
                                                  attnplan_error* error);

/* What an engine is about to launch, in the order of the step. 0 or NONE: not declared, which for
 * rows means [0, 0); kernel and requests are always declared. */
typedef struct attnplan_dispatch {
  size_t struct_size;
  int32_t kernel; /* of the planner's profile */
  int32_t req_begin;
  int32_t req_end;
  int32_t row_begin;
  int32_t row_end;
  int32_t max_query_len; /* rows */
  int32_t max_seq_len;   /* tokens */
  attnplan_dtype label;  /* of the cache argument */
  int64_t k_pages;       /* of the views it is handed */
  int64_t v_pages;
  int64_t k_scale_pages;
  int64_t v_scale_pages;
} attnplan_dispatch;
#define ATTNPLAN_DISPATCH_INIT \
  { sizeof(attnplan_dispatch), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/* Judges a launch against the contract of its kernel; needs no plan. OK: nothing is wrong with what
 * was declared. Else PLAN_ERROR: error.code, the sentence, and for a contract that is not met
 * NO_ROUTE with the kernel's refusal in error.refusals; the sentence has every reason with its own
 * request or figure, the error's request, value and limit are those of the first. Each view has to
 * reach the largest page id, and no further than the cache that the planner knows. */
ATTNPLAN_API attnplan_status attnplan_dispatch_check(const attnplan_planner* planner,
                                                     attnplan_scratch* scratch,
                                                     const attnplan_step* step,
                                                     const attnplan_dispatch* dispatch,
                                                     attnplan_error* error);

/* Query lengths of a dummy batch for graph capture: num_tokens rows over num_reqs requests, the
 * remainder spread one each over the first requests. query_lens[num_reqs]. */
ATTNPLAN_API attnplan_status attnplan_capture_query_lens(int32_t num_tokens, int32_t num_reqs,
                                                         int32_t* query_lens,
                                                         attnplan_error* error);

/* ---------------------------------------------------------------- reading a plan */

typedef struct attnplan_section_view {
  size_t struct_size;
  const void* data; /* typed by `type`; inside the plan; NULL where count and capacity are 0 */
  int64_t count;    /* elements in use */
  int64_t capacity; /* elements there is room for */
  int32_t type;     /* ATTNPLAN_TYPE_* */
  int32_t extent;   /* ATTNPLAN_EXTENT_* */
  int32_t validity; /* ATTNPLAN_VALIDITY_* */
  int32_t reserved0;
} attnplan_section_view;
#define ATTNPLAN_SECTION_VIEW_INIT \
  { sizeof(attnplan_section_view), NULL, 0, 0, 0, 0, 0, 0 }

/* The header, or NULL where `plan` is no plan of this format version or is cut short. */
ATTNPLAN_API const attnplan_plan_header* attnplan_plan_get_header(const void* plan,
                                                                  size_t plan_bytes);
/* One section. INVALID_ARGUMENT: no plan, or a plan without that section. */
ATTNPLAN_API attnplan_status attnplan_plan_get_section(const void* plan, size_t plan_bytes,
                                                       int32_t section,
                                                       attnplan_section_view* view,
                                                       attnplan_error* error);
/* The segments: [attnplan_plan_header.num_segments], NULL where there are none. */
ATTNPLAN_API const attnplan_segment* attnplan_plan_get_segments(const void* plan,
                                                                size_t plan_bytes);
/* Final route of every request, in the step's order: routes[num_reqs] of attnplan_route. */
ATTNPLAN_API attnplan_status attnplan_plan_get_routes(const void* plan, size_t plan_bytes,
                                                      const attnplan_step* step, int32_t* routes,
                                                      attnplan_error* error);

/* The plan for a person: one line per segment, for every faster kernel refused the reason with the
 * request that caused it, and the graph or why there is none. Two-call string: *bytes in: capacity, out: bytes needed with the NUL;
 * text may be NULL to ask. Not for the hot path. */
ATTNPLAN_API attnplan_status attnplan_plan_explain(const attnplan_planner* planner,
                                                   const attnplan_step* step, const void* plan,
                                                   size_t plan_bytes, char* text, size_t* bytes,
                                                   attnplan_error* error);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* ATTNPLAN_H_ */
