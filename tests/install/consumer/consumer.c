/* Somebody else's program: a uniform step of two requests. */
#include <attnplan.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char** argv) {
  const int32_t query_lens[] = {4, 4}, seq_lens[] = {104, 204};
  attnplan_config config = ATTNPLAN_CONFIG_INIT;
  attnplan_step step = ATTNPLAN_STEP_INIT;
  attnplan_error error = ATTNPLAN_ERROR_INIT;
  attnplan_planner* planner = NULL;
  attnplan_scratch* scratch = NULL;
  const attnplan_segment* segment;
  size_t bytes = 0;
  void* plan;
  if (argc > 1 && strcmp(argv[1], "--version") == 0) {
    puts(attnplan_version_string());
    return 0;
  }
  config.profile = "aiter_mha";
  config.decode_threshold = 4;
  step.query_lens = query_lens;
  step.seq_lens = seq_lens;
  step.num_reqs = 2;
  if (attnplan_planner_create(&config, &planner, &error) != ATTNPLAN_OK ||
      attnplan_scratch_create(NULL, &scratch, &error) != ATTNPLAN_OK ||
      attnplan_plan_size(planner, scratch, &step, NULL, &bytes, &error) != ATTNPLAN_OK) {
    fprintf(stderr, "%s\n", error.message);
    return 1;
  }
  plan = malloc(bytes + ATTNPLAN_PLAN_ALIGNMENT);
  if (plan == NULL) return 3;
  {
    char* aligned =
        (char*)plan + (ATTNPLAN_PLAN_ALIGNMENT - (uintptr_t)plan % ATTNPLAN_PLAN_ALIGNMENT);
    if (attnplan_plan_build(planner, scratch, &step, NULL, aligned, bytes, &bytes, &error) !=
        ATTNPLAN_OK) {
      fprintf(stderr, "%s\n", error.message);
      return 1;
    }
    segment = attnplan_plan_get_segments(aligned, bytes);
    if (segment == NULL || segment->route != ATTNPLAN_ROUTE_DECODE || segment->width != 4) return 1;
    printf("%s, width %d\n", attnplan_planner_kernel_name(planner, segment->kernel),
           (int)segment->width);
  }
  free(plan);
  attnplan_scratch_destroy(scratch);
  attnplan_planner_destroy(planner);
  return 0;
}
