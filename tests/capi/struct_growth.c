/* Old callers on a new library, and the other way round. A struct shorter than the library's reads
 * as if its tail were zero; the extra bytes of a longer one must be zero. Structs are put at the
 * very end of a heap block, so that the address sanitizer sees a read too far. */
#include "verify_batch.h"

typedef struct sized {
  void* memory;
  size_t* size; /* the struct; its first field is its size */
} sized;

/* A copy of `source`, cut or extended to `bytes`; bytes beyond the source are `fill`. */
static sized resized(const void* source, size_t source_bytes, size_t bytes, unsigned char fill) {
  sized copy;
  copy.memory = malloc(bytes);
  if (copy.memory == NULL) exit(3);
  memset(copy.memory, fill, bytes);
  memcpy(copy.memory, source, source_bytes < bytes ? source_bytes : bytes);
  copy.size = (size_t*)copy.memory;
  *copy.size = bytes;
  return copy;
}

typedef attnplan_status (*judge)(const void* input);

static attnplan_status create_with_config(const void* config) {
  attnplan_planner* planner = NULL;
  const attnplan_status status =
      attnplan_planner_create((const attnplan_config*)config, &planner, NULL);
  CHECK((status == ATTNPLAN_OK) == (planner != NULL));
  attnplan_planner_destroy(planner);
  return status;
}

static attnplan_status create_with_contract(const void* contract) {
  const attnplan_contract* contracts[1];
  attnplan_config config = verify_config("own");
  contracts[0] = (const attnplan_contract*)contract;
  config.contracts = contracts;
  config.num_contracts = 1;
  return create_with_config(&config);
}

static attnplan_status create_with_cache(const void* cache) {
  attnplan_config config = verify_config("aiter_mha");
  config.kv_cache = (const attnplan_kv_cache*)cache;
  return create_with_config(&config);
}

static attnplan_status build(const attnplan_step* step, const attnplan_group* group) {
  const attnplan_config config = verify_config("aiter_mha");
  attnplan_planner* planner = NULL;
  attnplan_scratch* scratch = NULL;
  attnplan_status status;
  size_t bytes = 0;
  CHECK_INT(attnplan_planner_create(&config, &planner, NULL), ATTNPLAN_OK);
  CHECK_INT(attnplan_scratch_create(NULL, &scratch, NULL), ATTNPLAN_OK);
  status = attnplan_plan_size(planner, scratch, step, group, &bytes, NULL);
  attnplan_scratch_destroy(scratch);
  attnplan_planner_destroy(planner);
  return status;
}

static attnplan_status build_with_step(const void* step) {
  return build((const attnplan_step*)step, NULL);
}

static attnplan_status build_with_group(const void* group) {
  verify_batch batch;
  const attnplan_step step = verify_step(&batch);
  return build(&step, (const attnplan_group*)group);
}

/* `enough` is where the fields that this input really uses end. */
static void input_grows(const char* what, const void* input, size_t bytes, size_t enough,
                        judge judged) {
  static const size_t extra[] = {1, 8, 64};
  size_t i;
  sized copy;
  const int before = failures;
  CHECK_INT(judged(input), ATTNPLAN_OK);
  copy = resized(input, bytes, enough, 0);
  CHECK_INT(judged(copy.memory), ATTNPLAN_OK);
  free(copy.memory);
  for (i = 0; i < sizeof extra / sizeof extra[0]; ++i) {
    copy = resized(input, bytes, bytes + extra[i], 0);
    CHECK_INT(judged(copy.memory), ATTNPLAN_OK);
    ((unsigned char*)copy.memory)[bytes + extra[i] - 1] = 1; /* the last of the unknown bytes */
    CHECK_INT(judged(copy.memory), ATTNPLAN_UNIMPLEMENTED);
    free(copy.memory);
  }
  copy = resized(input, bytes, bytes, 0);
  *copy.size = 0; /* the *_INIT macro was forgotten */
  CHECK_INT(judged(copy.memory), ATTNPLAN_INVALID_ARGUMENT);
  free(copy.memory);
  if (failures != before) fprintf(stderr, "  above: %s\n", what);
}

/* A field behind the end of a short struct must not be seen. */
static void what_lies_behind_a_short_struct_is_not_read(void) {
  verify_batch batch;
  attnplan_step step = verify_step(&batch);
  step.num_tokens = VERIFY_ROWS + 1;
  CHECK_INT(build_with_step(&step), ATTNPLAN_PLAN_ERROR);
  step.struct_size = offsetof(attnplan_step, num_tokens);
  CHECK_INT(build_with_step(&step), ATTNPLAN_OK);
}

/* Outputs are written no further than the caller's struct reaches. */
static void a_short_error_is_filled_as_far_as_it_goes(void) {
  const attnplan_config config = verify_config("no such profile");
  attnplan_planner* planner = NULL;
  attnplan_error error = ATTNPLAN_ERROR_INIT;
  const size_t cuts[] = {offsetof(attnplan_error, code), offsetof(attnplan_error, value),
                         offsetof(attnplan_error, refusals), offsetof(attnplan_error, message)};
  size_t i;
  for (i = 0; i < sizeof cuts / sizeof cuts[0]; ++i) {
    sized cut = resized(&error, sizeof error, cuts[i], 0);
    CHECK_INT(attnplan_planner_create(&config, &planner, (attnplan_error*)cut.memory),
              ATTNPLAN_INVALID_ARGUMENT);
    CHECK_INT(*cut.size, cuts[i]);
    CHECK_INT(((attnplan_error*)cut.memory)->status, ATTNPLAN_INVALID_ARGUMENT);
    free(cut.memory);
  }
}

/* Fields are only ever appended: a struct of this release never shrinks. */
static void sizes_are_those_of_release_0_1(void) {
  CHECK(sizeof(attnplan_error) >= 584);
  CHECK(sizeof(attnplan_contract) >= 192);
  CHECK(sizeof(attnplan_kv_cache) >= 96);
  CHECK(sizeof(attnplan_kv_view) >= 120);
  CHECK(sizeof(attnplan_config) >= 216);
  CHECK(sizeof(attnplan_step) >= 112);
  CHECK(sizeof(attnplan_group) >= 48);
  CHECK(sizeof(attnplan_section_view) >= 48);
  CHECK_INT(sizeof(attnplan_section), 32);
  CHECK_INT(sizeof(attnplan_segment), 96);
  CHECK_INT(sizeof(attnplan_refusal), 8);
  CHECK_INT(sizeof(attnplan_warning), 24);
  CHECK_INT(sizeof(attnplan_plan_header), 208);
}

int main(void) {
  const attnplan_config config = verify_config("aiter_mha");
  const attnplan_group group = ATTNPLAN_GROUP_INIT;
  attnplan_contract contract = ATTNPLAN_CONTRACT_INIT;
  attnplan_kv_cache cache = ATTNPLAN_KV_CACHE_INIT;
  verify_batch batch;
  const attnplan_step step = verify_step(&batch);
  contract.name = "own_extend";
  contract.route = ATTNPLAN_ROUTE_EXTEND;
  cache.num_blocks = 64;
  cache.block_size = 128;
  input_grows("config", &config, sizeof config, offsetof(attnplan_config, mask),
              create_with_config);
  input_grows("contract", &contract, sizeof contract, offsetof(attnplan_contract, flags),
              create_with_contract);
  input_grows("kv_cache", &cache, sizeof cache, offsetof(attnplan_kv_cache, page_size),
              create_with_cache);
  input_grows("step", &step, sizeof step, offsetof(attnplan_step, phase), build_with_step);
  input_grows("group", &group, sizeof group, offsetof(attnplan_group, block_ids), build_with_group);
  what_lies_behind_a_short_struct_is_not_read();
  a_short_error_is_filled_as_far_as_it_goes();
  sizes_are_those_of_release_0_1();
  return check_report();
}
