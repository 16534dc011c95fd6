// What the executor has to know about a kernel of a plan, from the kernel's contract.
#pragma once

#include <cstdint>
#include <optional>

#include "attnplan.h"
#include "cpu/shape.h"

namespace attnplan::cpu {

// Whether kernel `kernel` of the profile, a decode kernel, divides row indices by a width.
bool maps_rows_by_width(const attnplan_config& config, int32_t kernel);

// The sparse selection that the layers of a profile do; nothing for dense attention.
std::optional<M3Params> profile_sparse(const attnplan_config& config);

}  // namespace attnplan::cpu
