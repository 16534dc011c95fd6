// From the structs of the C ABI to the planner's own, and errors back.
#pragma once

#include <memory_resource>

#include "attnplan.h"
#include "attnplan/planner.h"
#include "fill_error.h"

namespace attnplan {

// Each checks struct_size, enum values and that what must be given is given.
Status to_step(const attnplan_step* given, Step* step, Error* error);
Status to_group(const attnplan_group* given, Group* group, Error* error);  // null: nothing is known
Status to_config(const attnplan_config* given, Config* config, Error* error);

// The lists of a NO_ROUTE or NEED_EXACT_SEQ_LENS, as far as the caller has room.
void fill_lists(const Scratch& scratch, const Error& error, attnplan_error* to);
attnplan_kv_view from_view(const KvView& view);

}  // namespace attnplan
