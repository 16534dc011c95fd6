/* attnplan_hip: the kernels that run a plan of attnplan.h. C ABI of libattnplan_hip.so, which has
 * its own version and needs a GPU runtime; libattnplan.so is not needed to load it.
 *
 * The rules of attnplan.h hold: struct_size first, *_INIT macros, zero is absent or default, a status
 * and an optional attnplan_error. Calls that take a stream check their arguments, enqueue and return:
 * they never allocate and never wait, so they can be captured in a graph. What a captured call reads
 * on the device is found by addresses that are the same for every plan of fixed layout: a replay
 * serves a new step once its plan has been copied over the old one.
 *
 * Pointers called "device" are read and written by the GPU alone. A stream is the runtime's own
 * (hipStream_t, cudaStream_t) as void*; NULL is its default stream. Work goes to the current device.
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

/* One attention layer of a KV group: what attnplan_config says about it, and what only kernels need.
 * The same defaults hold. */
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
  float k_scale;          /* ATTNPLAN_SCALE_TENSOR: a value is what its bytes say times this; 0: 1 */
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
#define ATTNPLAN_HIP_KV_INIT \
  { sizeof(attnplan_hip_kv), NULL, NULL, {NULL, 0, 0, 0}, {NULL, 0, 0, 0} }

/* A plan on the host, to be checked and for its offsets, and its copy on the device. The host's copy
 * is read during the call only. */
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
  int32_t bad_pages; /* 1: page ids outside the cache; page 0 was read, or nothing written, instead */
  uint32_t refresh;  /* ATTNPLAN_HIP_REFRESH_* bits of the last refresh */
  int32_t reserved[14];
} attnplan_hip_report; /* 64 bytes */

/* ---------------------------------------------------------------- running a segment */

typedef struct attnplan_hip_launch_args {
  size_t struct_size;
  const attnplan_hip_attention* attention;
  const attnplan_hip_kv* kv;
  const attnplan_hip_plan* plan;
  const void* q;   /* device [rows of the plan, num_q_heads, head_size]; 16-byte aligned */
  void* out;       /* device [rows, num_q_heads, v_head_size], in q_dtype; 16-byte aligned */
  float* lse;      /* device [rows, num_q_heads], natural logarithm; NULL: not wanted */
  void* workspace; /* device, 16-byte aligned; attnplan_hip_workspace_size says how much */
  size_t workspace_bytes;
  attnplan_hip_report* report; /* device; with ATTNPLAN_HIP_VERIFY */
  /* With attention.top_k: int32 [num_kv_heads, rows, top_k], blocks of 128 tokens, -1 behind the
   * last, as attnplan_hip_select writes them. */
  const int32_t* selected; /* device */
  int64_t q_row_stride;    /* elements; 0: dense, likewise below. The last dimension is contiguous */
  int64_t q_head_stride;
  int64_t out_row_stride;
  int64_t out_head_stride;
  int64_t lse_row_stride;
  int64_t selected_head_stride;
  int32_t segment; /* of the plan */
  uint32_t flags;  /* ATTNPLAN_HIP_VERIFY */
} attnplan_hip_launch_args;
#define ATTNPLAN_HIP_LAUNCH_ARGS_INIT                                                             \
  {                                                                                               \
    sizeof(attnplan_hip_launch_args), NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, 0, \
        0, 0, 0, 0, 0, 0, 0                                                                       \
  }

/* Bytes of workspace for any segment of this plan; with a fixed layout, for those of every plan of
 * its planner. */
ATTNPLAN_HIP_API attnplan_status attnplan_hip_workspace_size(
    const attnplan_hip_attention* attention, const void* plan, size_t plan_bytes, size_t* bytes,
    attnplan_error* error);

/* Attention of one segment, its partial outputs merged. PLAN_ERROR: the plan cannot be run as it
 * is (a section is missing, another page size, ...); INVALID_ARGUMENT: what an argument has to be;
 * UNIMPLEMENTED: no such kernel. INTERNAL: the runtime refused, with its words. */
ATTNPLAN_HIP_API attnplan_status attnplan_hip_launch(const attnplan_hip_launch_args* args,
                                                     void* stream, attnplan_error* error);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* ATTNPLAN_HIP_H_ */
