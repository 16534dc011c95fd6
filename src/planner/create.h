// Checks a configuration and resolves what follows from it alone.
#pragma once

#include "attnplan/planner.h"

namespace attnplan {

Status resolve_state(Planner::State* state, Error* error);

}  // namespace attnplan
