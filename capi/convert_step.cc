#include "convert.h"
#include "versioned.h"

namespace attnplan {
namespace {

Status invalid(Error* error, const char* why) {
  return error->set(Status::kInvalidArgument, Code::kNone, -1, 0, 0, "%s", why);
}

}  // namespace

Status to_step(const attnplan_step* given, Step* step, Error* error) {
  attnplan_step copy;
  const attnplan_step* s;
  if (const Status status = read_struct(given, &copy, &s, "attnplan_step", error);
      status != Status::kOk) {
    return status;
  }
  if (s->num_reqs < 0) {
    return error->set(Status::kPlanError, Code::kValueOutOfRange, -1, s->num_reqs, 0,
                      "num_reqs is %d, expected at least 0", s->num_reqs);
  }
  if ((s->query_lens != nullptr) == (s->query_start_loc != nullptr) &&
      (s->num_reqs > 0 || s->query_lens != nullptr)) {
    return invalid(error, "exactly one of query_lens and query_start_loc must be given");
  }
  if (s->seq_lens == nullptr && s->num_computed_tokens == nullptr && s->num_reqs > 0) {
    return invalid(error, "seq_lens must be given where num_computed_tokens is not");
  }
  if (s->phase < 0 || s->phase > ATTNPLAN_PHASE_IDLE)
    return unknown_value(error, "phase", s->phase);
  if (s->graph_allow < 0 || s->graph_allow > ATTNPLAN_GRAPH_ALLOW_NONE) {
    return unknown_value(error, "graph_allow", s->graph_allow);
  }
  constexpr uint32_t kFlags = ATTNPLAN_STEP_QUERY_LENS_INEXACT | ATTNPLAN_STEP_SEQ_LENS_INEXACT;
  if ((s->flags & ~kFlags) != 0) return unknown_value(error, "step flags", s->flags);
  step->num_reqs = s->num_reqs;
  step->phase = static_cast<Phase>(s->phase);
  step->query_lens_exact = (s->flags & ATTNPLAN_STEP_QUERY_LENS_INEXACT) == 0;
  step->seq_lens_exact = (s->flags & ATTNPLAN_STEP_SEQ_LENS_INEXACT) == 0;
  step->query_lens = s->query_lens;
  step->query_start_loc = s->query_start_loc;
  step->seq_lens = s->seq_lens;
  step->num_computed_tokens = s->num_computed_tokens;
  step->num_prompt_tokens = s->num_prompt_tokens;
  step->num_known_tokens = s->num_known_tokens;
  step->num_draft_tokens = s->num_draft_tokens;
  step->is_prefilling = s->is_prefilling;
  step->seq_len_exact = s->seq_len_exact;
  step->num_tokens = s->num_tokens;
  step->max_query_len = s->max_query_len;
  step->num_reqs_padded = s->num_reqs_padded;
  step->num_tokens_padded = s->num_tokens_padded;
  step->graph_allow = static_cast<GraphMode>(s->graph_allow);
  return Status::kOk;
}

Status to_group(const attnplan_group* given, Group* group, Error* error) {
  if (given == nullptr) return Status::kOk;
  attnplan_group copy;
  const attnplan_group* g;
  if (const Status status = read_struct(given, &copy, &g, "attnplan_group", error);
      status != Status::kOk) {
    return status;
  }
  constexpr uint32_t kFlags = ATTNPLAN_GROUP_SKIP_ID_CHECK | ATTNPLAN_GROUP_SLOTS_INT64;
  if ((g->flags & ~kFlags) != 0) return unknown_value(error, "group flags", g->flags);
  if (g->reserved0 != 0) return unknown_value(error, "group reserved0", g->reserved0);
  if (g->columns < 0 || g->row_stride < 0) {
    return invalid(error, "columns and row_stride of a block table cannot be negative");
  }
  if (g->block_indptr != nullptr && g->columns != 0) {
    return invalid(error, "a block table is either dense (columns) or CSR (block_indptr)");
  }
  if (g->block_ids != nullptr && g->block_indptr == nullptr && g->columns == 0) {
    return invalid(error, "block_ids without columns or block_indptr");
  }
  group->block_ids = g->block_ids;
  group->block_indptr = g->block_indptr;
  group->row_stride = g->row_stride;
  group->columns = g->columns;
  group->tokens_per_id = g->tokens_per_id;
  group->check_ids = (g->flags & ATTNPLAN_GROUP_SKIP_ID_CHECK) == 0;
  group->slot_mapping = g->slot_mapping;
  group->slots_int64 = (g->flags & ATTNPLAN_GROUP_SLOTS_INT64) != 0;
  return Status::kOk;
}

}  // namespace attnplan
