/* Arguments that a caller gets wrong: every one is answered, none crashes. */
#include "verify_batch.h"

static void nothing_to_destroy_is_fine(void) {
  attnplan_planner_destroy(NULL);
  attnplan_scratch_destroy(NULL);
}

static void the_library_is_the_one_of_the_header(void) {
  CHECK_INT(attnplan_abi_version(), ATTNPLAN_ABI_VERSION);
  CHECK(strlen(attnplan_version_string()) >= 5);
}

static void create_refuses_what_it_cannot_use(void) {
  attnplan_planner* planner = NULL;
  attnplan_config config = ATTNPLAN_CONFIG_INIT;
  attnplan_error error = ATTNPLAN_ERROR_INIT;
  CHECK_INT(attnplan_planner_create(NULL, &planner, &error), ATTNPLAN_INVALID_ARGUMENT);
  CHECK_INT(attnplan_planner_create(&config, &planner, &error), ATTNPLAN_INVALID_ARGUMENT);
  config.profile = "aiter_mha";
  CHECK_INT(attnplan_planner_create(&config, NULL, &error), ATTNPLAN_INVALID_ARGUMENT);
  config.profile = "no such profile";
  CHECK_INT(attnplan_planner_create(&config, &planner, &error), ATTNPLAN_INVALID_ARGUMENT);
  CHECK_CONTAINS(error.message, "no such profile");
  config.profile = "aiter_mha";
  config.num_contracts = 1; /* but no array */
  CHECK_INT(attnplan_planner_create(&config, &planner, &error), ATTNPLAN_INVALID_ARGUMENT);
  CHECK(planner == NULL);
  CHECK_INT(attnplan_scratch_create(NULL, NULL, &error), ATTNPLAN_INVALID_ARGUMENT);
}

/* What this version does not know is refused, never ignored. */
static void unknown_values_are_unimplemented(void) {
  attnplan_planner* planner = NULL;
  attnplan_config config = verify_config("aiter_mha");
  config.flags = 1u << 31;
  CHECK_INT(attnplan_planner_create(&config, &planner, NULL), ATTNPLAN_UNIMPLEMENTED);
  config = verify_config("aiter_mha");
  config.mask = 17;
  CHECK_INT(attnplan_planner_create(&config, &planner, NULL), ATTNPLAN_UNIMPLEMENTED);
  config = verify_config("aiter_mha");
  config.ragged = 17;
  CHECK_INT(attnplan_planner_create(&config, &planner, NULL), ATTNPLAN_UNIMPLEMENTED);
  config = verify_config("aiter_mha");
  config.sections = (uint64_t)1 << 63;
  CHECK_INT(attnplan_planner_create(&config, &planner, NULL), ATTNPLAN_UNIMPLEMENTED);
  config = verify_config("aiter_mha");
  config.features = 1u << 30;
  CHECK_INT(attnplan_planner_create(&config, &planner, NULL), ATTNPLAN_UNIMPLEMENTED);
  CHECK(planner == NULL);
}

static void build_refuses_missing_arguments(const attnplan_planner* planner,
                                            attnplan_scratch* scratch) {
  plan_buffer buffer = plan_buffer_create(1 << 14);
  verify_batch batch;
  const attnplan_step good = verify_step(&batch);
  attnplan_step step = good;
  size_t bytes = 0;
  const size_t room = buffer.capacity;
  unsigned char* out = buffer.data;
  attnplan_error error = ATTNPLAN_ERROR_INIT;
#define BUILD(planner_, scratch_, step_, out_, bytes_) \
  attnplan_plan_build(planner_, scratch_, step_, NULL, out_, room, bytes_, &error)
  CHECK_INT(BUILD(NULL, scratch, &good, out, &bytes), ATTNPLAN_INVALID_ARGUMENT);
  CHECK_INT(BUILD(planner, NULL, &good, out, &bytes), ATTNPLAN_INVALID_ARGUMENT);
  CHECK_INT(BUILD(planner, scratch, NULL, out, &bytes), ATTNPLAN_INVALID_ARGUMENT);
  CHECK_INT(BUILD(planner, scratch, &good, NULL, &bytes), ATTNPLAN_INVALID_ARGUMENT);
  CHECK_INT(BUILD(planner, scratch, &good, out, NULL), ATTNPLAN_INVALID_ARGUMENT);
  CHECK_INT(BUILD(planner, scratch, &good, out + 4, &bytes), ATTNPLAN_INVALID_ARGUMENT);
  CHECK(strlen(error.message) > 0);
  CHECK_INT(attnplan_plan_size(planner, scratch, &good, NULL, NULL, NULL),
            ATTNPLAN_INVALID_ARGUMENT);

  step.query_lens = NULL; /* neither spelling of the lengths */
  CHECK_INT(BUILD(planner, scratch, &step, out, &bytes), ATTNPLAN_INVALID_ARGUMENT);
  step = good;
  step.query_start_loc = batch.seq_lens; /* both */
  CHECK_INT(BUILD(planner, scratch, &step, out, &bytes), ATTNPLAN_INVALID_ARGUMENT);
  step = good;
  step.seq_lens = NULL; /* and nothing to compute them from */
  CHECK_INT(BUILD(planner, scratch, &step, out, &bytes), ATTNPLAN_INVALID_ARGUMENT);
  step = good;
  step.phase = 17;
  CHECK_INT(BUILD(planner, scratch, &step, out, &bytes), ATTNPLAN_UNIMPLEMENTED);
  step = good;
  step.flags = 1u << 31;
  CHECK_INT(BUILD(planner, scratch, &step, out, &bytes), ATTNPLAN_UNIMPLEMENTED);
  step = good;
  step.num_reqs = -1;
  CHECK(BUILD(planner, scratch, &step, out, &bytes) != ATTNPLAN_OK);
#undef BUILD
  free(buffer.memory);
}

static void an_empty_step_needs_no_arrays(const attnplan_planner* planner,
                                          attnplan_scratch* scratch) {
  plan_buffer buffer = plan_buffer_create(1 << 12);
  const int32_t nothing[1] = {0};
  attnplan_step step = ATTNPLAN_STEP_INIT;
  size_t bytes = 0;
  const attnplan_plan_header* header;
  step.query_start_loc = nothing;
  step.seq_lens = nothing;
  CHECK_INT(attnplan_plan_build(planner, scratch, &step, NULL, buffer.data, buffer.capacity, &bytes,
                                NULL),
            ATTNPLAN_OK);
  header = attnplan_plan_get_header(buffer.data, bytes);
  CHECK(header != NULL && header->num_segments == 0 && header->num_rows == 0);
  CHECK(attnplan_plan_get_segments(buffer.data, bytes) == NULL);
  free(buffer.memory);
}

static void readers_refuse_what_is_no_plan(const attnplan_planner* planner,
                                           attnplan_scratch* scratch) {
  plan_buffer buffer = plan_buffer_create(1 << 14);
  verify_batch batch;
  const attnplan_step step = verify_step(&batch);
  attnplan_section_view view = ATTNPLAN_SECTION_VIEW_INIT;
  int32_t routes[VERIFY_REQUESTS];
  size_t bytes = 0, cut, text_bytes = 0;
  CHECK_INT(attnplan_plan_build(planner, scratch, &step, NULL, buffer.data, buffer.capacity, &bytes,
                                NULL),
            ATTNPLAN_OK);
  CHECK(attnplan_plan_get_header(NULL, bytes) == NULL);
  CHECK(attnplan_plan_get_segments(NULL, bytes) == NULL);
  for (cut = 0; cut < bytes; cut += 8) {
    CHECK(attnplan_plan_get_header(buffer.data, cut) == NULL);
    CHECK(attnplan_plan_get_segments(buffer.data, cut) == NULL);
    CHECK_INT(attnplan_plan_get_section(buffer.data, cut, ATTNPLAN_SECTION_SEGMENTS, &view, NULL),
              ATTNPLAN_INVALID_ARGUMENT);
  }
  CHECK_INT(attnplan_plan_get_section(buffer.data, bytes, ATTNPLAN_SECTION_SEGMENTS, NULL, NULL),
            ATTNPLAN_INVALID_ARGUMENT);
  CHECK_INT(attnplan_plan_get_section(buffer.data, bytes, 4711, &view, NULL),
            ATTNPLAN_INVALID_ARGUMENT);
  CHECK_INT(attnplan_plan_get_routes(buffer.data, bytes, NULL, routes, NULL),
            ATTNPLAN_INVALID_ARGUMENT);
  CHECK_INT(attnplan_plan_get_routes(buffer.data, bytes, &step, NULL, NULL),
            ATTNPLAN_INVALID_ARGUMENT);
  CHECK_INT(attnplan_plan_explain(NULL, &step, buffer.data, bytes, NULL, &text_bytes, NULL),
            ATTNPLAN_INVALID_ARGUMENT);
  CHECK_INT(attnplan_plan_explain(planner, NULL, buffer.data, bytes, NULL, &text_bytes, NULL),
            ATTNPLAN_INVALID_ARGUMENT);
  CHECK_INT(attnplan_plan_explain(planner, &step, NULL, bytes, NULL, &text_bytes, NULL),
            ATTNPLAN_INVALID_ARGUMENT);
  CHECK_INT(attnplan_plan_explain(planner, &step, buffer.data, bytes, NULL, NULL, NULL),
            ATTNPLAN_INVALID_ARGUMENT);
  buffer.data[0] ^= 1; /* the magic */
  CHECK(attnplan_plan_get_header(buffer.data, bytes) == NULL);
  free(buffer.memory);
}

static void planners_answer_about_themselves(const attnplan_planner* planner) {
  attnplan_kv_view view = ATTNPLAN_KV_VIEW_INIT;
  CHECK_INT(attnplan_planner_num_kernels(planner), 3);
  CHECK_TEXT(attnplan_planner_kernel_name(planner, 0), "pa_decode_gluon");
  CHECK(attnplan_planner_kernel_name(planner, 3) == NULL);
  CHECK(attnplan_planner_kernel_name(planner, -1) == NULL);
  CHECK_INT(attnplan_planner_num_kernels(NULL), 0);
  CHECK(attnplan_planner_kernel_name(NULL, 0) == NULL);
  CHECK_INT(attnplan_planner_kv_view(planner, &view, NULL), ATTNPLAN_INVALID_ARGUMENT);
  CHECK_INT(attnplan_planner_kv_view(NULL, &view, NULL), ATTNPLAN_INVALID_ARGUMENT);
  CHECK_INT(attnplan_planner_kv_view(planner, NULL, NULL), ATTNPLAN_INVALID_ARGUMENT);
}

int main(void) {
  const attnplan_config config = verify_config("aiter_mha");
  attnplan_planner* planner = NULL;
  attnplan_scratch* scratch = NULL;
  nothing_to_destroy_is_fine();
  the_library_is_the_one_of_the_header();
  create_refuses_what_it_cannot_use();
  unknown_values_are_unimplemented();
  CHECK_INT(attnplan_planner_create(&config, &planner, NULL), ATTNPLAN_OK);
  CHECK_INT(attnplan_scratch_create(NULL, &scratch, NULL), ATTNPLAN_OK);
  build_refuses_missing_arguments(planner, scratch);
  an_empty_step_needs_no_arrays(planner, scratch);
  readers_refuse_what_is_no_plan(planner, scratch);
  planners_answer_about_themselves(planner);
  attnplan_scratch_destroy(scratch);
  attnplan_planner_destroy(planner);
  return check_report();
}
