/* All memory comes from the caller's hook and goes back to it; any allocation may fail. */
#include "verify_batch.h"

typedef struct counter {
  int64_t live_bytes;
  int64_t live_blocks;
  int64_t allocations;
  int64_t fail_at; /* the allocation with this number fails; -1: none */
  int64_t mismatches;
} counter;

/* The block's own size and alignment stand before it, to hold the deallocation against them. */
typedef struct block_head {
  void* memory;
  size_t bytes;
  size_t alignment;
} block_head;

static void* counted_allocate(void* context, size_t bytes, size_t alignment) {
  counter* count = (counter*)context;
  char *memory, *block;
  block_head head;
  if (count->allocations++ == count->fail_at) return NULL;
  if (alignment < sizeof(void*)) alignment = sizeof(void*);
  memory = (char*)malloc(bytes + alignment + sizeof head);
  if (memory == NULL) return NULL;
  block = (char*)(((uintptr_t)memory + sizeof head + alignment - 1) / alignment * alignment);
  head.memory = memory;
  head.bytes = bytes;
  head.alignment = alignment;
  memcpy(block - sizeof head, &head, sizeof head);
  count->live_bytes += (int64_t)bytes;
  ++count->live_blocks;
  return block;
}

static void counted_deallocate(void* context, void* pointer, size_t bytes, size_t alignment) {
  counter* count = (counter*)context;
  block_head head;
  if (pointer == NULL) return;
  if (alignment < sizeof(void*)) alignment = sizeof(void*);
  memcpy(&head, (char*)pointer - sizeof head, sizeof head);
  if (head.bytes != bytes || head.alignment != alignment) ++count->mismatches;
  count->live_bytes -= (int64_t)head.bytes;
  --count->live_blocks;
  free(head.memory);
}

static attnplan_allocator hook(counter* count, int64_t fail_at) {
  attnplan_allocator allocator;
  memset(count, 0, sizeof *count);
  count->fail_at = fail_at;
  allocator.allocate = counted_allocate;
  allocator.deallocate = counted_deallocate;
  allocator.context = count;
  return allocator;
}

/* The whole life of a planner and its scratch; the status of the first call that failed. */
static attnplan_status plan_once(const attnplan_allocator* allocator) {
  attnplan_config config = verify_config("aiter_mha");
  attnplan_planner* planner = NULL;
  attnplan_scratch* scratch = NULL;
  verify_batch batch;
  const attnplan_step step = verify_step(&batch);
  plan_buffer buffer = plan_buffer_create(1 << 14);
  attnplan_status status;
  size_t bytes = 0;
  config.allocator = allocator;
  config.order = ATTNPLAN_ORDER_SORT;
  config.ragged = ATTNPLAN_RAGGED_SPLIT_RUNS;
  status = attnplan_planner_create(&config, &planner, NULL);
  if (status == ATTNPLAN_OK) status = attnplan_scratch_create(allocator, &scratch, NULL);
  if (status == ATTNPLAN_OK) {
    status = attnplan_plan_build(planner, scratch, &step, NULL, buffer.data, buffer.capacity,
                                 &bytes, NULL);
  }
  attnplan_scratch_destroy(scratch);
  attnplan_planner_destroy(planner);
  free(buffer.memory);
  return status;
}

static void everything_goes_back(void) {
  counter count;
  const attnplan_allocator allocator = hook(&count, -1);
  CHECK_INT(plan_once(&allocator), ATTNPLAN_OK);
  CHECK(count.allocations > 0);
  CHECK_INT(count.live_blocks, 0);
  CHECK_INT(count.live_bytes, 0);
  CHECK_INT(count.mismatches, 0);
}

static void any_allocation_may_fail(void) {
  counter count;
  attnplan_allocator allocator = hook(&count, -1);
  int64_t total, i;
  CHECK_INT(plan_once(&allocator), ATTNPLAN_OK);
  total = count.allocations;
  for (i = 0; i < total; ++i) {
    allocator = hook(&count, i);
    CHECK_INT(plan_once(&allocator), ATTNPLAN_OUT_OF_MEMORY);
    CHECK_INT(count.live_blocks, 0);
    CHECK_INT(count.mismatches, 0);
  }
}

static void half_a_hook_is_refused(void) {
  counter count;
  attnplan_allocator allocator = hook(&count, -1);
  attnplan_config config = verify_config("aiter_mha");
  attnplan_planner* planner = NULL;
  attnplan_scratch* scratch = NULL;
  config.allocator = &allocator;
  allocator.deallocate = NULL;
  CHECK_INT(attnplan_planner_create(&config, &planner, NULL), ATTNPLAN_INVALID_ARGUMENT);
  CHECK_INT(attnplan_scratch_create(&allocator, &scratch, NULL), ATTNPLAN_INVALID_ARGUMENT);
  allocator = hook(&count, -1);
  allocator.allocate = NULL;
  CHECK_INT(attnplan_planner_create(&config, &planner, NULL), ATTNPLAN_INVALID_ARGUMENT);
  CHECK_INT(attnplan_scratch_create(&allocator, &scratch, NULL), ATTNPLAN_INVALID_ARGUMENT);
}

/* A scratch grows to the largest step it has seen; after that, plans of any mix allocate nothing.
 */
static void repeated_plans_allocate_nothing(void) {
  counter count;
  const attnplan_allocator allocator = hook(&count, -1);
  attnplan_config config = verify_config("aiter_mha");
  attnplan_planner* planner = NULL;
  attnplan_scratch* scratch = NULL;
  verify_batch batch;
  attnplan_step step = verify_step(&batch);
  plan_buffer buffer = plan_buffer_create(1 << 14);
  size_t bytes = 0;
  int64_t before;
  int32_t n;
  config.allocator = &allocator;
  config.order = ATTNPLAN_ORDER_SORT;
  config.ragged = ATTNPLAN_RAGGED_SPLIT_RUNS;
  config.sections = 1u << ATTNPLAN_SECTION_QUERY_START_LOC | 1u << ATTNPLAN_SECTION_ROW_REQUEST;
  CHECK_INT(attnplan_planner_create(&config, &planner, NULL), ATTNPLAN_OK);
  CHECK_INT(attnplan_scratch_create(&allocator, &scratch, NULL), ATTNPLAN_OK);
  CHECK_INT(attnplan_plan_build(planner, scratch, &step, NULL, buffer.data, buffer.capacity, &bytes,
                                NULL),
            ATTNPLAN_OK);
  before = count.allocations;
  for (n = VERIFY_REQUESTS; n >= 0; --n) {
    step.num_reqs = n;
    CHECK_INT(attnplan_plan_build(planner, scratch, &step, NULL, buffer.data, buffer.capacity,
                                  &bytes, NULL),
              ATTNPLAN_OK);
  }
  CHECK_INT(count.allocations, before);
  attnplan_scratch_destroy(scratch);
  attnplan_planner_destroy(planner);
  free(buffer.memory);
}

int main(void) {
  everything_goes_back();
  any_allocation_may_fail();
  half_a_hook_is_refused();
  repeated_plans_allocate_nothing();
  return check_report();
}
