/* The calls around a plan: bounds, several groups, checks of plans and launches, dummy batches. */
#include "verify_batch.h"

static attnplan_planner* planner_of(const attnplan_config* config) {
  attnplan_planner* planner = NULL;
  attnplan_error error = ATTNPLAN_ERROR_INIT;
  if (attnplan_planner_create(config, &planner, &error) != ATTNPLAN_OK) {
    fprintf(stderr, "%s\n", error.message);
    exit(1);
  }
  return planner;
}

static void a_bound_needs_limits_and_holds_every_plan(attnplan_scratch* scratch) {
  attnplan_config config = verify_config("aiter_mha");
  attnplan_planner* planner = planner_of(&config);
  attnplan_error error = ATTNPLAN_ERROR_INIT;
  verify_batch batch;
  attnplan_step step = verify_step(&batch);
  size_t bound = 77, bytes = 0;
  CHECK_INT(attnplan_plan_bound(planner, &bound, &error), ATTNPLAN_INVALID_ARGUMENT);
  CHECK_CONTAINS(error.message, "max_num_seqs");
  CHECK_INT(bound, 77);
  attnplan_planner_destroy(planner);

  config.max_num_seqs = VERIFY_REQUESTS;
  config.max_num_batched_tokens = VERIFY_ROWS;
  config.sections = 1u << ATTNPLAN_SECTION_ROW_REQUEST | 1u << ATTNPLAN_SECTION_QUERY_START_LOC;
  config.ragged = ATTNPLAN_RAGGED_SPLIT_RUNS;
  planner = planner_of(&config);
  CHECK_INT(attnplan_plan_bound(planner, &bound, NULL), ATTNPLAN_OK);
  CHECK_INT(attnplan_plan_bound(planner, NULL, NULL), ATTNPLAN_INVALID_ARGUMENT);
  CHECK_INT(attnplan_plan_bound(NULL, &bound, NULL), ATTNPLAN_INVALID_ARGUMENT);
  for (; step.num_reqs >= 0; --step.num_reqs) {
    CHECK_INT(attnplan_plan_size(planner, scratch, &step, NULL, &bytes, NULL), ATTNPLAN_OK);
    CHECK(bytes <= bound);
  }
  attnplan_planner_destroy(planner);
}

static void many_groups_get_the_bytes_of_one(attnplan_scratch* scratch) {
  const char* profiles[] = {"aiter_mha", "minimax_m3_sparse", "unified"};
  enum { GROUPS = 3 };
  attnplan_planner* owned[GROUPS];
  const attnplan_planner* planners[GROUPS];
  plan_buffer buffers[GROUPS], alone = plan_buffer_create(1 << 14);
  void* outputs[GROUPS];
  size_t capacities[GROUPS], bytes[GROUPS] = {0, 0, 0}, bytes_alone = 0, failed = 77;
  verify_batch batch;
  attnplan_step step = verify_step(&batch);
  int i;
  for (i = 0; i < GROUPS; ++i) {
    const attnplan_config config = verify_config(profiles[i]);
    planners[i] = owned[i] = planner_of(&config);
    buffers[i] = plan_buffer_create(1 << 14);
    outputs[i] = buffers[i].data;
    capacities[i] = buffers[i].capacity;
  }
  CHECK_INT(attnplan_plan_build_many(planners, GROUPS, scratch, &step, NULL, outputs, capacities,
                                     bytes, &failed, NULL),
            ATTNPLAN_OK);
  CHECK_INT(failed, 77);
  for (i = 0; i < GROUPS; ++i) {
    CHECK_INT(attnplan_plan_build(planners[i], scratch, &step, NULL, alone.data, alone.capacity,
                                  &bytes_alone, NULL),
              ATTNPLAN_OK);
    CHECK_INT(bytes[i], bytes_alone);
    CHECK_INT(memcmp(outputs[i], alone.data, bytes_alone), 0);
  }
  capacities[1] = 8;
  bytes[0] = 77;
  CHECK_INT(attnplan_plan_build_many(planners, GROUPS, scratch, &step, NULL, outputs, capacities,
                                     bytes, &failed, NULL),
            ATTNPLAN_BUFFER_TOO_SMALL);
  CHECK_INT(failed, 1);
  CHECK_INT(bytes[0], 77);
  CHECK_INT(attnplan_plan_build_many(NULL, GROUPS, scratch, &step, NULL, outputs, capacities, bytes,
                                     &failed, NULL),
            ATTNPLAN_INVALID_ARGUMENT);
  CHECK_INT(attnplan_plan_build_many(NULL, 0, scratch, &step, NULL, NULL, NULL, NULL, NULL, NULL),
            ATTNPLAN_OK);
  for (i = 0; i < GROUPS; ++i) {
    attnplan_planner_destroy(owned[i]);
    free(buffers[i].memory);
  }
  free(alone.memory);
}

static void plans_from_elsewhere_are_told_from_own_ones(attnplan_scratch* scratch) {
  const attnplan_config config = verify_config("aiter_mha");
  attnplan_planner* planner = planner_of(&config);
  plan_buffer buffer = plan_buffer_create(1 << 14);
  attnplan_error error = ATTNPLAN_ERROR_INIT;
  verify_batch batch;
  attnplan_step step = verify_step(&batch);
  const void* plan = buffer.data;
  size_t bytes = 0;
  CHECK_INT(attnplan_plan_build(planner, scratch, &step, NULL, buffer.data, buffer.capacity, &bytes,
                                NULL),
            ATTNPLAN_OK);
  CHECK_INT(attnplan_plan_verify(plan, bytes, NULL, NULL, NULL, NULL, &error), ATTNPLAN_OK);
  CHECK_INT(attnplan_plan_verify(plan, bytes, planner, scratch, &step, NULL, &error), ATTNPLAN_OK);
  CHECK_INT(attnplan_plan_verify(plan, bytes, planner, NULL, &step, NULL, &error),
            ATTNPLAN_INVALID_ARGUMENT);
  CHECK_INT(attnplan_plan_verify(NULL, bytes, NULL, NULL, NULL, NULL, &error),
            ATTNPLAN_INVALID_ARGUMENT);
  CHECK_INT(attnplan_plan_verify(plan, bytes - 1, NULL, NULL, NULL, NULL, &error),
            ATTNPLAN_INVALID_ARGUMENT);
  step.num_reqs -= 1; /* a plan, but of another step */
  CHECK_INT(attnplan_plan_verify(plan, bytes, planner, scratch, &step, NULL, &error),
            ATTNPLAN_INVALID_ARGUMENT);
  CHECK(strlen(error.message) > 0);
  attnplan_planner_destroy(planner);
  free(buffer.memory);
}

/* What the engine of the incident launched: one uniform decode of width 4 over 121 rows. */
static void a_wrong_launch_is_told_why(attnplan_scratch* scratch) {
  const attnplan_config config = verify_config("aiter_mha");
  attnplan_planner* planner = planner_of(&config);
  attnplan_error error = ATTNPLAN_ERROR_INIT;
  attnplan_dispatch dispatch = ATTNPLAN_DISPATCH_INIT;
  attnplan_refusal refusal = {-1, 0};
  verify_batch batch;
  attnplan_step step = verify_step(&batch);
  dispatch.req_end = VERIFY_REQUESTS;
  dispatch.row_end = VERIFY_ROWS;
  dispatch.max_query_len = 4;
  dispatch.max_seq_len = 1004;
  error.refusals = &refusal;
  error.refusals_capacity = 1;
  CHECK_INT(attnplan_dispatch_check(planner, scratch, &step, &dispatch, &error),
            ATTNPLAN_PLAN_ERROR);
  CHECK_INT(error.code, ATTNPLAN_CODE_NO_ROUTE);
  CHECK_INT(error.num_refusals, 1);
  CHECK_INT(refusal.kernel, 0);
  CHECK_INT(refusal.reasons, 1u << ATTNPLAN_REASON_RAGGED);
  CHECK_CONTAINS(error.message, "pa_decode_gluon");
  CHECK_CONTAINS(error.message, "request 30");
  puts(error.message);

  dispatch.req_end -= 1; /* without the newcomer it would have been right */
  dispatch.row_end -= 1;
  CHECK_INT(attnplan_dispatch_check(planner, scratch, &step, &dispatch, &error), ATTNPLAN_OK);
  dispatch.max_query_len = 3;
  CHECK_INT(attnplan_dispatch_check(planner, scratch, &step, &dispatch, &error),
            ATTNPLAN_PLAN_ERROR);
  CHECK_INT(attnplan_dispatch_check(planner, scratch, &step, NULL, &error),
            ATTNPLAN_INVALID_ARGUMENT);
  CHECK_INT(attnplan_dispatch_check(NULL, scratch, &step, &dispatch, &error),
            ATTNPLAN_INVALID_ARGUMENT);
  dispatch.kernel = 17;
  CHECK_INT(attnplan_dispatch_check(planner, scratch, &step, &dispatch, &error),
            ATTNPLAN_INVALID_ARGUMENT);
  attnplan_planner_destroy(planner);
}

static void dummy_batches_spread_the_remainder(void) {
  int32_t lens[4] = {-7, -7, -7, -7};
  CHECK_INT(attnplan_capture_query_lens(11, 3, lens, NULL), ATTNPLAN_OK);
  CHECK(lens[0] == 4 && lens[1] == 4 && lens[2] == 3 && lens[3] == -7);
  CHECK_INT(attnplan_capture_query_lens(0, 0, NULL, NULL), ATTNPLAN_OK);
  CHECK_INT(attnplan_capture_query_lens(1, 0, lens, NULL), ATTNPLAN_PLAN_ERROR);
  CHECK_INT(attnplan_capture_query_lens(-1, 2, lens, NULL), ATTNPLAN_PLAN_ERROR);
  CHECK_INT(attnplan_capture_query_lens(4, 2, NULL, NULL), ATTNPLAN_INVALID_ARGUMENT);
  CHECK_INT(lens[0], 4);
}

int main(void) {
  attnplan_scratch* scratch = NULL;
  CHECK_INT(attnplan_scratch_create(NULL, &scratch, NULL), ATTNPLAN_OK);
  a_bound_needs_limits_and_holds_every_plan(scratch);
  many_groups_get_the_bytes_of_one(scratch);
  plans_from_elsewhere_are_told_from_own_ones(scratch);
  a_wrong_launch_is_told_why(scratch);
  dummy_batches_spread_the_remainder();
  attnplan_scratch_destroy(scratch);
  return check_report();
}
