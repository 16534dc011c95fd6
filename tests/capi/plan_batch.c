/* A C99 program plans a batch, prints what came back and holds it against the right answer. */
#include "verify_batch.h"

static attnplan_planner* create_planner(const attnplan_config* config) {
  attnplan_planner* planner = NULL;
  attnplan_error error = ATTNPLAN_ERROR_INIT;
  CHECK_INT(attnplan_planner_create(config, &planner, &error), ATTNPLAN_OK);
  if (planner == NULL) {
    fprintf(stderr, "%s\n", error.message);
    exit(1);
  }
  return planner;
}

static void print_segments(const attnplan_planner* planner, const void* plan, size_t bytes) {
  const attnplan_plan_header* header = attnplan_plan_get_header(plan, bytes);
  const attnplan_segment* segments = attnplan_plan_get_segments(plan, bytes);
  int32_t i;
  for (i = 0; header != NULL && segments != NULL && i < header->num_segments; ++i) {
    const attnplan_segment* s = &segments[i];
    printf("%s %s requests [%d, %d) rows [%d, %d) width %d max query %d max seq %d\n",
           attnplan_route_name(s->route), attnplan_planner_kernel_name(planner, s->kernel),
           (int)s->req_begin, (int)s->req_end, (int)s->row_begin, (int)s->row_end, (int)s->width,
           (int)s->max_query_len, (int)s->max_seq_len);
  }
}

/* One row too few for one request: no decode kernel may have the batch. */
static void ragged_verify_step_is_demoted(attnplan_scratch* scratch, plan_buffer* buffer) {
  const attnplan_config config = verify_config("aiter_mha");
  attnplan_planner* planner = create_planner(&config);
  verify_batch batch;
  const attnplan_step step = verify_step(&batch);
  attnplan_error error = ATTNPLAN_ERROR_INIT;
  attnplan_section_view view = ATTNPLAN_SECTION_VIEW_INIT;
  const attnplan_plan_header* header;
  const attnplan_segment* segment;
  int32_t routes[VERIFY_REQUESTS];
  size_t bytes = 0, size = 0;
  int i;

  CHECK_INT(attnplan_plan_size(planner, scratch, &step, NULL, &size, &error), ATTNPLAN_OK);
  CHECK_INT(attnplan_plan_build(planner, scratch, &step, NULL, buffer->data, buffer->capacity,
                                &bytes, &error),
            ATTNPLAN_OK);
  CHECK_INT(bytes, size);
  CHECK_INT(error.status, ATTNPLAN_OK);
  print_segments(planner, buffer->data, bytes);

  header = attnplan_plan_get_header(buffer->data, bytes);
  segment = attnplan_plan_get_segments(buffer->data, bytes);
  CHECK(header != NULL && segment != NULL);
  if (header == NULL || segment == NULL) exit(1);
  CHECK_INT(header->num_segments, 1);
  CHECK_INT(header->num_reqs, VERIFY_REQUESTS);
  CHECK_INT(header->num_rows, VERIFY_ROWS);
  CHECK_INT(header->num_extends, VERIFY_REQUESTS);
  CHECK_INT(header->num_extend_tokens, VERIFY_ROWS);
  CHECK_INT(header->max_decode_query_len, 0);
  CHECK_INT(header->max_extend_query_len, 4);
  CHECK_INT(header->ragged_policy, ATTNPLAN_RAGGED_DEMOTE);
  CHECK_INT(header->total_bytes, bytes);
  CHECK_INT(segment->route, ATTNPLAN_ROUTE_EXTEND);
  CHECK_TEXT(attnplan_planner_kernel_name(planner, segment->kernel), "gather_varlen_merge");
  CHECK_INT(segment->req_end, VERIFY_REQUESTS);
  CHECK_INT(segment->row_end, VERIFY_ROWS);
  CHECK_INT(segment->width, 0);
  CHECK_INT(segment->max_query_len, 4);
  CHECK_INT(segment->min_query_len, 1);
  CHECK_INT(segment->max_seq_len, 1004);
  CHECK_INT(segment->min_seq_len, 1001);
  CHECK_INT(segment->max_context_len, 1000);
  CHECK_INT(segment->sum_seq_lens, 30 * 1004 + 1001);

  CHECK_INT(
      attnplan_plan_get_section(buffer->data, bytes, ATTNPLAN_SECTION_REFUSALS, &view, &error),
      ATTNPLAN_OK);
  CHECK_INT(view.type, ATTNPLAN_TYPE_REFUSAL);
  CHECK_INT(view.count, 1);
  if (view.count == 1) {
    const attnplan_refusal* refusal = (const attnplan_refusal*)view.data;
    CHECK_INT(segment->refusal_begin, 0);
    CHECK_INT(segment->refusal_end, 1);
    CHECK_TEXT(attnplan_planner_kernel_name(planner, refusal->kernel), "pa_decode_gluon");
    CHECK_INT(refusal->reasons, 1u << ATTNPLAN_REASON_RAGGED);
  }
  /* A section that nobody asked for is an error of the caller, not a crash. */
  CHECK_INT(
      attnplan_plan_get_section(buffer->data, bytes, ATTNPLAN_SECTION_SEQ_LENS, &view, &error),
      ATTNPLAN_INVALID_ARGUMENT);

  CHECK_INT(attnplan_plan_get_routes(buffer->data, bytes, &step, routes, &error), ATTNPLAN_OK);
  for (i = 0; i < VERIFY_REQUESTS; ++i) CHECK_INT(routes[i], ATTNPLAN_ROUTE_EXTEND);
  attnplan_planner_destroy(planner);
}

/* Without the newcomer the same planner hands all rows to the decode kernel, at the measured width.
 */
static void uniform_verify_step_stays_a_decode(attnplan_scratch* scratch, plan_buffer* buffer) {
  attnplan_config config = verify_config("aiter_mha");
  attnplan_planner* planner;
  verify_batch batch;
  attnplan_step step = verify_step(&batch);
  attnplan_section_view view = ATTNPLAN_SECTION_VIEW_INIT;
  const attnplan_segment* segment;
  size_t bytes = 0;
  config.sections = 1u << ATTNPLAN_SECTION_QUERY_START_LOC;
  planner = create_planner(&config);
  step.num_reqs = VERIFY_REQUESTS - 1;
  CHECK_INT(attnplan_plan_build(planner, scratch, &step, NULL, buffer->data, buffer->capacity,
                                &bytes, NULL),
            ATTNPLAN_OK);
  print_segments(planner, buffer->data, bytes);
  segment = attnplan_plan_get_segments(buffer->data, bytes);
  CHECK(segment != NULL);
  if (segment == NULL) exit(1);
  CHECK_INT(segment->route, ATTNPLAN_ROUTE_DECODE);
  CHECK_TEXT(attnplan_planner_kernel_name(planner, segment->kernel), "pa_decode_gluon");
  CHECK_INT(segment->width, 4);
  CHECK_INT(segment->row_end, VERIFY_ROWS - 1);
  CHECK_INT(
      attnplan_plan_get_section(buffer->data, bytes, ATTNPLAN_SECTION_QUERY_START_LOC, &view, NULL),
      ATTNPLAN_OK);
  CHECK_INT(view.count, VERIFY_REQUESTS);
  CHECK_INT(view.validity, ATTNPLAN_VALIDITY_EXACT);
  if (view.data != NULL && view.count == VERIFY_REQUESTS) {
    CHECK_INT(((const int32_t*)view.data)[VERIFY_REQUESTS - 1], VERIFY_ROWS - 1);
  }
  attnplan_planner_destroy(planner);
}

/* The sentence for a person at three in the morning, through the two-call string. */
static void explain_names_the_request_to_blame(attnplan_scratch* scratch, plan_buffer* buffer) {
  const attnplan_config config = verify_config("aiter_mha");
  attnplan_planner* planner = create_planner(&config);
  verify_batch batch;
  const attnplan_step step = verify_step(&batch);
  size_t bytes = 0, need = 0, room;
  char* text;
  CHECK_INT(attnplan_plan_build(planner, scratch, &step, NULL, buffer->data, buffer->capacity,
                                &bytes, NULL),
            ATTNPLAN_OK);
  CHECK_INT(attnplan_plan_explain(planner, &step, buffer->data, bytes, NULL, &need, NULL),
            ATTNPLAN_OK);
  CHECK(need > 1);
  text = (char*)malloc(need);
  if (text == NULL) exit(3);
  room = need - 1;
  text[0] = '?';
  CHECK_INT(attnplan_plan_explain(planner, &step, buffer->data, bytes, text, &room, NULL),
            ATTNPLAN_BUFFER_TOO_SMALL);
  CHECK_INT(text[0], '?');
  room = need;
  CHECK_INT(attnplan_plan_explain(planner, &step, buffer->data, bytes, text, &room, NULL),
            ATTNPLAN_OK);
  CHECK_INT(strlen(text) + 1, need);
  fputs(text, stdout);
  CHECK_CONTAINS(text, "gather_varlen_merge");
  CHECK_CONTAINS(text, "pa_decode_gluon refused: RAGGED, request 30 has 1 row, request 0 has 4");
  free(text);
  attnplan_planner_destroy(planner);
}

int main(void) {
  plan_buffer buffer = plan_buffer_create(1 << 16);
  attnplan_scratch* scratch = NULL;
  CHECK_INT(attnplan_scratch_create(NULL, &scratch, NULL), ATTNPLAN_OK);
  ragged_verify_step_is_demoted(scratch, &buffer);
  uniform_verify_step_stays_a_decode(scratch, &buffer);
  explain_names_the_request_to_blame(scratch, &buffer);
  attnplan_scratch_destroy(scratch);
  free(buffer.memory);
  return check_report();
}
