/* What a caller reads after a failure, and that nothing else was touched. */
#include "verify_batch.h"

static attnplan_planner* planner_of(const attnplan_config* config) {
  attnplan_planner* planner = NULL;
  CHECK_INT(attnplan_planner_create(config, &planner, NULL), ATTNPLAN_OK);
  if (planner == NULL) exit(1);
  return planner;
}

static int is_filled_with(const unsigned char* bytes, size_t count, unsigned char value) {
  size_t i;
  for (i = 0; i < count; ++i) {
    if (bytes[i] != value) return 0;
  }
  return 1;
}

/* Builds a step that must fail; buffer and size have to stay as they were. */
static attnplan_status build_failing(const attnplan_planner* planner, attnplan_scratch* scratch,
                                     const attnplan_step* step, size_t capacity,
                                     attnplan_error* error) {
  plan_buffer buffer = plan_buffer_create(1 << 14);
  size_t bytes = 77;
  attnplan_status status;
  memset(buffer.data, 0xa5, buffer.capacity);
  status = attnplan_plan_build(planner, scratch, step, NULL, buffer.data, capacity, &bytes, error);
  CHECK(status != ATTNPLAN_OK);
  CHECK_INT(bytes, 77);
  CHECK(is_filled_with(buffer.data, buffer.capacity, 0xa5));
  if (error != NULL) {
    CHECK_INT(error->status, status);
    CHECK(strlen(error->message) > 0);
    CHECK(strchr(error->message, '\n') == NULL);
  }
  free(buffer.memory);
  return status;
}

static void a_short_sequence_names_request_value_and_limit(attnplan_scratch* scratch) {
  const attnplan_config config = verify_config("aiter_mha");
  attnplan_planner* planner = planner_of(&config);
  verify_batch batch;
  attnplan_step step = verify_step(&batch);
  attnplan_error error = ATTNPLAN_ERROR_INIT;
  batch.seq_lens[17] = 3;
  CHECK_INT(build_failing(planner, scratch, &step, 1 << 14, &error), ATTNPLAN_PLAN_ERROR);
  CHECK_INT(error.code, ATTNPLAN_CODE_SEQ_SHORTER_THAN_QUERY);
  CHECK_TEXT(attnplan_code_name(error.code), "SEQ_SHORTER_THAN_QUERY");
  CHECK_INT(error.request, 17);
  CHECK_INT(error.value, 3);
  CHECK_INT(error.limit, 4);
  CHECK_CONTAINS(error.message, "request 17");
  CHECK_CONTAINS(error.message, "3");
  CHECK_CONTAINS(error.message, "4");
  puts(error.message);
  /* Nobody has to ask for the reason. */
  CHECK_INT(build_failing(planner, scratch, &step, 1 << 14, NULL), ATTNPLAN_PLAN_ERROR);
  attnplan_planner_destroy(planner);
}

static void a_small_buffer_is_told_the_need(attnplan_scratch* scratch) {
  const attnplan_config config = verify_config("aiter_mha");
  attnplan_planner* planner = planner_of(&config);
  verify_batch batch;
  const attnplan_step step = verify_step(&batch);
  attnplan_error error = ATTNPLAN_ERROR_INIT;
  size_t size = 0;
  CHECK_INT(attnplan_plan_size(planner, scratch, &step, NULL, &size, NULL), ATTNPLAN_OK);
  CHECK(size > sizeof(attnplan_plan_header) && size <= 1 << 14);
  CHECK_INT(build_failing(planner, scratch, &step, size - 1, &error), ATTNPLAN_BUFFER_TOO_SMALL);
  CHECK_INT(error.value, size);
  CHECK_INT(error.limit, size - 1);
  CHECK_INT(build_failing(planner, scratch, &step, 0, &error), ATTNPLAN_BUFFER_TOO_SMALL);
  CHECK_INT(error.value, size);
  attnplan_planner_destroy(planner);
}

/* A head size that no kernel of the profile has: everything is refused, and said so. */
static void no_route_lists_what_fits(attnplan_scratch* scratch) {
  attnplan_config config = verify_config("minimax_m3_sparse");
  attnplan_planner* planner;
  verify_batch batch;
  const attnplan_step step = verify_step(&batch);
  attnplan_error error = ATTNPLAN_ERROR_INIT;
  attnplan_refusal refusals[4];
  int32_t requests[5] = {-7, -7, -7, -7, -7};
  int i;
  memset(refusals, 0, sizeof refusals);
  config.head_size = 64;
  planner = planner_of(&config);
  error.refusals = refusals;
  error.refusals_capacity = 4;
  error.requests = requests;
  error.requests_capacity = 4; /* of 31: the count tells the rest, the fifth stays as it was */
  CHECK_INT(build_failing(planner, scratch, &step, 1 << 14, &error), ATTNPLAN_PLAN_ERROR);
  CHECK_INT(error.code, ATTNPLAN_CODE_NO_ROUTE);
  CHECK_INT(error.request, 0);
  CHECK_INT(error.num_requests, VERIFY_REQUESTS);
  for (i = 0; i < 4; ++i) CHECK_INT(requests[i], i);
  CHECK_INT(requests[4], -7);
  CHECK_INT(error.num_refusals, 2);
  CHECK_TEXT(attnplan_planner_kernel_name(planner, refusals[0].kernel), "m3_decode");
  CHECK_INT(refusals[0].reasons,
            1u << ATTNPLAN_REASON_RAGGED | 1u << ATTNPLAN_REASON_HEAD_SIZE_UNSUPPORTED);
  CHECK_TEXT(attnplan_planner_kernel_name(planner, refusals[1].kernel), "m3_prefill");
  CHECK_INT(refusals[1].reasons, 1u << ATTNPLAN_REASON_HEAD_SIZE_UNSUPPORTED);

  error.refusals_capacity = 1;
  memset(refusals, 0x11, sizeof refusals);
  CHECK_INT(build_failing(planner, scratch, &step, 1 << 14, &error), ATTNPLAN_PLAN_ERROR);
  CHECK_INT(error.num_refusals, 2);
  CHECK_TEXT(attnplan_planner_kernel_name(planner, refusals[0].kernel), "m3_decode");
  CHECK_INT(refusals[1].kernel, 0x11111111);
  attnplan_planner_destroy(planner);
}

/* Bounds instead of lengths, and only kernels that read lengths on the host. */
static void inexact_lengths_name_the_requests_to_settle(attnplan_scratch* scratch) {
  attnplan_config config = verify_config("aiter_mha");
  attnplan_planner* planner;
  verify_batch batch;
  attnplan_step step = verify_step(&batch);
  attnplan_error error = ATTNPLAN_ERROR_INIT;
  int32_t requests[4] = {0, 0, 0, 0};
  config.decode_threshold = 9;
  planner = planner_of(&config);
  batch.query_lens[0] = 8;
  batch.query_lens[1] = 5;
  step.num_reqs = 2;
  step.flags = ATTNPLAN_STEP_SEQ_LENS_INEXACT;
  error.requests = requests;
  error.requests_capacity = 4;
  CHECK_INT(build_failing(planner, scratch, &step, 1 << 14, &error), ATTNPLAN_PLAN_ERROR);
  CHECK_INT(error.code, ATTNPLAN_CODE_NEED_EXACT_SEQ_LENS);
  CHECK_INT(error.num_requests, 2);
  CHECK_INT(requests[1], 1);
  attnplan_planner_destroy(planner);
}

static void names_are_the_documented_ones(void) {
  CHECK_TEXT(attnplan_status_name(ATTNPLAN_OK), "OK");
  CHECK_TEXT(attnplan_status_name(ATTNPLAN_UNIMPLEMENTED), "UNIMPLEMENTED");
  CHECK_TEXT(attnplan_status_name(ATTNPLAN_BUFFER_TOO_SMALL), "BUFFER_TOO_SMALL");
  CHECK_TEXT(attnplan_code_name(ATTNPLAN_CODE_QUERY_START_LOC_INVALID), "QUERY_START_LOC_INVALID");
  CHECK_TEXT(attnplan_code_name(ATTNPLAN_CODE_BAD_DOCUMENT), "BAD_DOCUMENT");
  CHECK_TEXT(attnplan_reason_name(ATTNPLAN_REASON_RAGGED), "RAGGED");
  CHECK_TEXT(attnplan_reason_name(ATTNPLAN_REASON_OFFSET_OVERFLOW), "OFFSET_OVERFLOW");
  CHECK_TEXT(attnplan_route_name(ATTNPLAN_ROUTE_PREFILL), "prefill");
  CHECK_TEXT(attnplan_dtype_name(ATTNPLAN_DTYPE_E4M3FNUZ), "e4m3fnuz");
  CHECK_TEXT(attnplan_status_name(-1), "?");
  CHECK_TEXT(attnplan_code_name(4711), "?");
  CHECK_TEXT(attnplan_reason_name(ATTNPLAN_NUM_REASONS), "?");
  CHECK_TEXT(attnplan_route_name(4), "?");
  CHECK_TEXT(attnplan_dtype_name(-1), "?");
}

int main(void) {
  attnplan_scratch* scratch = NULL;
  CHECK_INT(attnplan_scratch_create(NULL, &scratch, NULL), ATTNPLAN_OK);
  a_short_sequence_names_request_value_and_limit(scratch);
  a_small_buffer_is_told_the_need(scratch);
  no_route_lists_what_fits(scratch);
  inexact_lengths_name_the_requests_to_settle(scratch);
  names_are_the_documented_ones();
  attnplan_scratch_destroy(scratch);
  return check_report();
}
