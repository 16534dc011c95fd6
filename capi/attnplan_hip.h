/* attnplan_hip: the kernels that run a plan of attnplan.h. C ABI of libattnplan_hip.so, which has
 * its own version and needs a GPU runtime; libattnplan.so is not needed to load it.
 *
 * The rules of attnplan.h hold: struct_size first, *_INIT macros, zero is absent or default, a
 * status and an optional attnplan_error. Calls that take a stream check their arguments, enqueue
 * and return: they never allocate and never wait, so they can be captured in a graph. What a
 * captured call reads on the device is found by addresses that are the same for every plan of fixed
 * layout: a replay serves a new step once its plan has been copied over the old one.
 *
 * Pointers called "device" are read and written by the GPU alone. A stream is the runtime's own
 * (hipStream_t, cudaStream_t) as void*; NULL is its default stream. Work goes to the current
 * device.
 */
#ifndef ATTNPLAN_HIP_H_
#define ATTNPLAN_HIP_H_

#include <stddef.h>
#include <stdint.h>

#include "attnplan_types.h"

#ifdef __cplusplus
extern "C" {
#endif

#if defined(ATTNPLAN_HIP_STATIC)
#define ATTNPLAN_HIP_API
#else
#define ATTNPLAN_HIP_API __attribute__((visibility("default")))
#endif

/* Major in the upper 16 bits, minor in the lower. Bindings refuse another major. */
#define ATTNPLAN_HIP_ABI_VERSION 0x00000001u

ATTNPLAN_HIP_API uint32_t attnplan_hip_abi_version(void);

/* ---------------------------------------------------------------- device */

typedef struct attnplan_hip_device_info {
  size_t struct_size;
  char name[128];
  char arch[32]; /* for attnplan_config.arch: "gfx942", "sm_90" */
  int64_t memory_bytes;
  int64_t l2_bytes;
  int32_t compute_units;
  int32_t wave_size;
  int32_t num_workers; /* for attnplan_config.num_workers: compute units x resident blocks */
  int32_t reserved0;   /* 0 */
} attnplan_hip_device_info;
#define ATTNPLAN_HIP_DEVICE_INFO_INIT \
  { sizeof(attnplan_hip_device_info), {0}, {0}, 0, 0, 0, 0, 0, 0 }

/* INVALID_ARGUMENT: no such device, or no device or driver at all; the message has the runtime's
 * words. UNIMPLEMENTED: the library has no code for its architecture. */
ATTNPLAN_HIP_API attnplan_status attnplan_hip_device(int32_t ordinal,
                                                     attnplan_hip_device_info* device,
                                                     attnplan_error* error);

/* ---------------------------------------------------------------- what is attended */

/* One attention layer of a KV group: what attnplan_config says about it, and what only kernels
 * need. The same defaults hold. */
typedef struct attnplan_hip_attention {
  size_t struct_size;
  const attnplan_kv_cache* kv_cache;
  const char* arch;       /* NULL: "gfx950", as in attnplan_config */
  attnplan_dtype q_dtype; /* of the query and the output: bf16 or fp16; 0: bf16 */
  int32_t num_q_heads;    /* 0: 16 */
  int32_t num_kv_heads;   /* 0: 1 */
  int32_t head_size;      /* 0: 128 */
  int32_t v_head_size;    /* 0: head_size */
  attnplan_mask mask;
  int32_t sliding_window; /* tokens a query may see, itself included; 0: all */
  int32_t top_k;          /* MiniMax-M3: blocks of 128 tokens that a row attends; 0: all of them */
  float softmax_scale;    /* 0: head_size^-0.5 */
  float soft_cap;         /* scores become cap * tanh(score / cap); 0: none */
  float k_scale; /* ATTNPLAN_SCALE_TENSOR: a value is what its bytes say times this; 0: 1 */
  float v_scale;
} attnplan_hip_attention;
#define ATTNPLAN_HIP_ATTENTION_INIT \
  { sizeof(attnplan_hip_attention), NULL, NULL, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/* The module's kernels for such a layer, for attnplan_config.contracts: *contracts points to *count
 * of them, in order of preference, and stays as long as the library is loaded. A planner with them
 * refuses, with a reason, whatever attnplan_hip_launch would not run. kv_cache may be NULL: any. */
ATTNPLAN_HIP_API attnplan_status attnplan_hip_contracts(const attnplan_hip_attention* attention,
                                                        const attnplan_contract* const** contracts,
                                                        size_t* count, attnplan_error* error);

/* float32 scales of single tokens and heads; strides in elements. All strides 0: dense, pages of
 * [num_kv_heads][page_size] by page id. */
typedef struct attnplan_hip_token_scales {
  float* data; /* device; NULL: none */
  int64_t page_stride;
  int64_t head_stride;
  int64_t token_stride;
} attnplan_hip_token_scales;

/* The memory of a cache. What lies where in it is attnplan_kv_cache's to say. */
typedef struct attnplan_hip_kv {
  size_t struct_size;
  void* k; /* device, first byte of K's page 0; 16-byte aligned, likewise v */
  void* v; /* device, first byte of V's page 0; NULL: where docs/kv-cache.md puts it behind K */
  attnplan_hip_token_scales k_scales; /* for ATTNPLAN_SCALE_TOKEN_HEAD */
  attnplan_hip_token_scales v_scales;
} attnplan_hip_kv;
#define ATTNPLAN_HIP_KV_INIT                                                \
  {                                                                         \
    sizeof(attnplan_hip_kv), NULL, NULL, {NULL, 0, 0, 0}, { NULL, 0, 0, 0 } \
  }

/* A plan on the host, to be checked and for its offsets, and its copy on the device. The host's
 * copy is read during the call only. */
typedef struct attnplan_hip_plan {
  size_t struct_size;
  const void* host; /* bytes of attnplan_plan_build */
  void* device;     /* 64-byte aligned */
  size_t bytes;     /* of both */
} attnplan_hip_plan;
#define ATTNPLAN_HIP_PLAN_INIT \
  { sizeof(attnplan_hip_plan), NULL, NULL, 0 }

#define ATTNPLAN_HIP_VERIFY 1u /* page ids are checked on the device before use: debugging */

/* What was wrong on the device, to be copied back and looked at by the caller, who clears it. */
typedef struct attnplan_hip_report {
  int32_t
      bad_pages; /* 1: page ids outside the cache; page 0 was read, or nothing written, instead */
  uint32_t refresh; /* ATTNPLAN_HIP_REFRESH_* bits of the last refresh */
  int32_t reserved[14];
} attnplan_hip_report; /* 64 bytes */

/* ---------------------------------------------------------------- running a segment */

typedef struct attnplan_hip_launch_args {
  size_t struct_size;
  const attnplan_hip_attention* attention;
  const attnplan_hip_kv* kv;
  const attnplan_hip_plan* plan;
  const void* q;   /* device [num_rows, num_q_heads, head_size]; 16-byte aligned */
  void* out;       /* device [rows, num_q_heads, v_head_size], in q_dtype; 16-byte aligned. Rows:
                      the plan's num_rows, or its graph_rows where graph_kind is full */
  float* lse;      /* device [rows, num_q_heads], natural logarithm; NULL: not wanted */
  void* workspace; /* device, 16-byte aligned; attnplan_hip_workspace_size says how much */
  size_t workspace_bytes;
  attnplan_hip_report* report; /* device; with ATTNPLAN_HIP_VERIFY */
  const int32_t* selected;     /* device; with attention.top_k, as attnplan_hip_select writes it */
  int64_t q_row_stride; /* elements; 0: dense, likewise below. The last dimension is contiguous */
  int64_t q_head_stride;
  int64_t out_row_stride;
  int64_t out_head_stride;
  int64_t lse_row_stride;
  int64_t selected_head_stride;
  int32_t segment; /* of the plan; 0 even where it has none */
  uint32_t flags;  /* ATTNPLAN_HIP_VERIFY */
} attnplan_hip_launch_args;
#define ATTNPLAN_HIP_LAUNCH_ARGS_INIT                                                             \
  {                                                                                               \
    sizeof(attnplan_hip_launch_args), NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, 0, \
        0, 0, 0, 0, 0, 0, 0                                                                       \
  }

/* Bytes of workspace for any segment of this plan; with a fixed layout, for those of every plan of
 * its planner. */
ATTNPLAN_HIP_API attnplan_status
attnplan_hip_workspace_size(const attnplan_hip_attention* attention, const void* plan,
                            size_t plan_bytes, size_t* bytes, attnplan_error* error);

/* Attention of one segment, its partial outputs merged. Rows that attend nothing get zeros and a
 * log-sum-exp of minus infinity; the launch of segment 0 writes those that a full graph adds behind
 * the batch, so a plan without segments wants that launch, too. A captured launch whose segment the
 * plan does not have at replay writes nothing else. PLAN_ERROR: the plan cannot be run as it is (a
 * section is missing, it was made for other heads or another cache, ...); INVALID_ARGUMENT: what an
 * argument has to be; UNIMPLEMENTED: no such kernel. INTERNAL: the runtime refused, with its words.
 */
ATTNPLAN_HIP_API attnplan_status attnplan_hip_launch(const attnplan_hip_launch_args* args,
                                                     void* stream, attnplan_error* error);

/* ---------------------------------------------------------------- MiniMax-M3: which blocks */

/* The index: one K head a token, token-major, block by block, under the page ids of the cache. */
typedef struct attnplan_hip_index {
  size_t struct_size;
  void* k;              /* device; 16-byte aligned */
  int64_t block_stride; /* elements; 0: block_size * head_size */
  attnplan_dtype dtype; /* what its bytes are; 0: as the cache's */
  int32_t head_size;    /* 0: 128 */
  int32_t init_blocks;  /* first blocks, always taken */
  int32_t local_blocks; /* last live blocks, always taken; 0: 1 */
  float k_scale;        /* a value is what its bytes say times this; 0: 1 */
  int32_t reserved0;    /* 0 */
} attnplan_hip_index;
#define ATTNPLAN_HIP_INDEX_INIT \
  { sizeof(attnplan_hip_index), NULL, 0, 0, 0, 0, 0, 0, 0 }

typedef struct attnplan_hip_select_args {
  size_t struct_size;
  const attnplan_hip_attention* attention; /* top_k at least 1 */
  const attnplan_hip_index* index;
  const attnplan_hip_plan* plan;
  const void* q;     /* device [num_rows, num_kv_heads, index.head_size], in q_dtype */
  int32_t* selected; /* device, out: [num_kv_heads, rows, top_k] blocks of 128 tokens, in order of
                        rank, -1 behind the last; rows as of attnplan_hip_launch_args.out, those
                        that attend nothing have no block */
  void* workspace;   /* device, 16-byte aligned */
  size_t workspace_bytes;
  attnplan_hip_report* report; /* device; with ATTNPLAN_HIP_VERIFY */
  /* For kernels that read pages of 16 tokens, both or neither: [rows * num_kv_heads, top_k * 8]
   * pages * num_kv_heads + head, 0 behind the last, and [rows * num_kv_heads] tokens. */
  int32_t* sparse_table;   /* device */
  int32_t* sparse_context; /* device */
  int64_t q_row_stride;    /* elements; 0: dense, likewise below */
  int64_t q_head_stride;
  int64_t selected_head_stride;
  int32_t max_seq_len; /* tokens of the longest request there may be; 0: of the segment */
  int32_t segment;     /* of the plan; 0 even where it has none */
  uint32_t flags;      /* ATTNPLAN_HIP_VERIFY */
  int32_t reserved0;   /* 0 */
} attnplan_hip_select_args;
#define ATTNPLAN_HIP_SELECT_ARGS_INIT                                                             \
  {                                                                                               \
    sizeof(attnplan_hip_select_args), NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, 0, \
        0, 0, 0, 0, 0, 0                                                                          \
  }

/* max_seq_len as in attnplan_hip_select_args; 0: of the plan's longest segment. */
ATTNPLAN_HIP_API attnplan_status attnplan_hip_select_workspace_size(
    const attnplan_hip_attention* attention, const void* plan, size_t plan_bytes,
    int32_t max_seq_len, size_t* bytes, attnplan_error* error);

/* Scores of the index and the selection from them, for one segment. The plan needs ROW_REQUEST and
 * ROW_POSITION, which attnplan_hip_launch with top_k needs too. Statuses as of attnplan_hip_launch;
 * init_blocks + local_blocks beyond top_k are an INVALID_ARGUMENT. */
ATTNPLAN_HIP_API attnplan_status attnplan_hip_select(const attnplan_hip_select_args* args,
                                                     void* stream, attnplan_error* error);

/* ---------------------------------------------------------------- filling the cache */

typedef struct attnplan_hip_kv_write_args {
  size_t struct_size;
  const attnplan_hip_attention* attention;
  const attnplan_hip_kv* kv;       /* scales of tokens are computed and written */
  const attnplan_hip_index* index; /* with index_k */
  const void* k; /* device [num_rows, num_kv_heads, head_size] in q_dtype; NULL: not written */
  const void* v; /* device [num_rows, num_kv_heads, v_head_size]; NULL: not written */
  const void* index_k;  /* device [num_rows, index.head_size]; NULL: not written */
  const int64_t* slots; /* device [num_rows], as section SLOTS; negative: no row is written */
  attnplan_hip_report* report; /* device; with ATTNPLAN_HIP_VERIFY */
  int64_t k_row_stride;        /* elements; 0: dense, likewise below */
  int64_t k_head_stride;
  int64_t v_row_stride;
  int64_t v_head_stride;
  int64_t index_k_row_stride;
  int32_t num_rows;
  uint32_t flags; /* ATTNPLAN_HIP_VERIFY */
} attnplan_hip_kv_write_args;
#define ATTNPLAN_HIP_KV_WRITE_ARGS_INIT                                                          \
  {                                                                                              \
    sizeof(attnplan_hip_kv_write_args), NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 0, 0, \
        0, 0, 0, 0                                                                               \
  }

/* New rows into the cache, as they are or as fp8: value / k_scale, rounded to nearest even, or with
 * scales of tokens by the largest magnitude of each token and head. INVALID_ARGUMENT: what an
 * argument has to be; UNIMPLEMENTED: no such kernel. INTERNAL: the runtime refused. */
ATTNPLAN_HIP_API attnplan_status attnplan_hip_kv_write(const attnplan_hip_kv_write_args* args,
                                                       void* stream, attnplan_error* error);

/* ---------------------------------------------------------------- lengths of the device */

#define ATTNPLAN_HIP_REFRESH_ROWS_INT64 1u  /* table_rows has 64-bit entries */
#define ATTNPLAN_HIP_REFRESH_SLOTS_INT64 2u /* slot_mapping likewise */
#define ATTNPLAN_HIP_REFRESH_DRAFT 4u /* a draft step: lengths beyond the limit are cut, no fault \
                                       */
#define ATTNPLAN_HIP_REFRESH_FULL_WIDTH_PADS 8u /* the contract's pads are full_width */

enum { /* attnplan_hip_report.refresh: what was wrong with the lengths; each was clamped */
       ATTNPLAN_HIP_REFRESH_BAD_STARTS = 1,  /* query_start_loc does not ascend from 0 */
       ATTNPLAN_HIP_REFRESH_ROW_COUNT = 2,   /* its rows are not those of the plan */
       ATTNPLAN_HIP_REFRESH_BAD_SEQ_LEN = 4, /* negative, or below the rows under a causal mask */
       ATTNPLAN_HIP_REFRESH_TOO_LONG = 8,    /* beyond table or model, and not a draft step */
       ATTNPLAN_HIP_REFRESH_CAPACITY = 16,   /* lists are longer than their sections */
       ATTNPLAN_HIP_REFRESH_CHUNKS = 32,     /* a context passes the chunks that the host cut */
       ATTNPLAN_HIP_REFRESH_OTHER_PLAN =
           64 /* not a plan of num_reqs requests: nothing was written */
};

/* Requests are in the order of the step. At most one of block_ids and token_slots. */
typedef struct attnplan_hip_refresh_args {
  size_t struct_size;
  const attnplan_hip_attention* attention; /* cache, mask, window and heads, as planned */
  const attnplan_hip_plan* plan;
  const int32_t* query_start_loc; /* device [n + 1] rows */
  const int32_t* seq_lens;        /* device [n] tokens, this step's rows included */
  const int32_t* block_ids;       /* device: logical blocks, [row * row_stride + block] or CSR */
  const int32_t* block_indptr;    /* device [n + 1] into block_ids: CSR */
  const int32_t* token_slots;     /* device: slots of tokens, [row * row_stride + position] */
  const void* table_rows;   /* device [n]: the request's row of the table; NULL: its own number */
  const void* slot_mapping; /* device [rows] token slots; NULL: by table */
  attnplan_hip_report* report; /* device; NULL: not wanted */
  int64_t row_stride;          /* ids; 0: columns */
  uint64_t sections;           /* bits 1 << ATTNPLAN_SECTION_*; 0: all that the plan has */
  int32_t columns;             /* ids in a row of the table */
  int32_t num_reqs;            /* that the tensors are for; 0: as the plan at replay */
  int32_t max_model_len;       /* tokens; 0: unlimited. The rest as in attnplan_config */
  int32_t local_attention_chunk;
  int32_t context_parallel_world;
  int32_t context_parallel_rank;
  int32_t context_parallel_interleave;
  uint32_t flags; /* ATTNPLAN_HIP_REFRESH_* */
} attnplan_hip_refresh_args;
#define ATTNPLAN_HIP_REFRESH_ARGS_INIT                                                             \
  {                                                                                                \
    sizeof(attnplan_hip_refresh_args), NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, \
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0                                                               \
  }

/* Makes the device's copy of a plan that was built from upper bounds one of the true lengths.
 * docs/kernels.md says what holds of each section. PLAN_ERROR: the plan is of another layer;
 * INVALID_ARGUMENT: what an argument has to be, a bit of a section that the plan lacks included.
 * INTERNAL: the runtime refused. */
ATTNPLAN_HIP_API attnplan_status attnplan_hip_refresh(const attnplan_hip_refresh_args* args,
                                                      void* stream, attnplan_error* error);

/* Draft steps 2 to k: every live request of query_start_loc (device [n + 1], NULL: all) is one
 * token longer in seq_lens (device [n]). max_model_len 0: unlimited. INVALID_ARGUMENT or INTERNAL
 * as above. */
ATTNPLAN_HIP_API attnplan_status attnplan_hip_advance(const int32_t* query_start_loc,
                                                      int32_t* seq_lens, int32_t num_reqs,
                                                      int32_t max_model_len, void* stream,
                                                      attnplan_error* error);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* ATTNPLAN_HIP_H_ */
