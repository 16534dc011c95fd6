/* The batch that these tests plan: the verify step of 30 requests with three drafts each and one
 * newcomer without drafts, 121 rows under threshold 4. */
#ifndef ATTNPLAN_TESTS_CAPI_VERIFY_BATCH_H_
#define ATTNPLAN_TESTS_CAPI_VERIFY_BATCH_H_

#include <stdlib.h>

#include "attnplan.h"
#include "check.h"

enum { VERIFY_REQUESTS = 31, VERIFY_ROWS = 121, VERIFY_CONTEXT = 1000 };

typedef struct verify_batch {
  int32_t query_lens[VERIFY_REQUESTS];
  int32_t seq_lens[VERIFY_REQUESTS];
} verify_batch;

static inline attnplan_step verify_step(verify_batch* batch) {
  attnplan_step step = ATTNPLAN_STEP_INIT;
  int i;
  for (i = 0; i < VERIFY_REQUESTS; ++i) {
    batch->query_lens[i] = i < VERIFY_REQUESTS - 1 ? 4 : 1;
    batch->seq_lens[i] = VERIFY_CONTEXT + batch->query_lens[i];
  }
  step.query_lens = batch->query_lens;
  step.seq_lens = batch->seq_lens;
  step.num_reqs = VERIFY_REQUESTS;
  return step;
}

static inline attnplan_config verify_config(const char* profile) {
  attnplan_config config = ATTNPLAN_CONFIG_INIT;
  config.profile = profile;
  config.decode_threshold = 4;
  return config;
}

/* Room for any plan of these tests, at the alignment that a plan wants. */
typedef struct plan_buffer {
  void* memory;
  unsigned char* data;
  size_t capacity;
} plan_buffer;

static inline plan_buffer plan_buffer_create(size_t capacity) {
  plan_buffer buffer;
  buffer.memory = malloc(capacity + ATTNPLAN_PLAN_ALIGNMENT);
  if (buffer.memory == NULL) exit(3);
  buffer.data = (unsigned char*)(((uintptr_t)buffer.memory + ATTNPLAN_PLAN_ALIGNMENT - 1) /
                                 ATTNPLAN_PLAN_ALIGNMENT * ATTNPLAN_PLAN_ALIGNMENT);
  buffer.capacity = capacity;
  return buffer;
}

#endif /* ATTNPLAN_TESTS_CAPI_VERIFY_BATCH_H_ */
