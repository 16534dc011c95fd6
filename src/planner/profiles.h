// The built-in backend profiles. The one place that names kernels of other projects.
#pragma once

#include <memory_resource>
#include <string_view>
#include <vector>

#include "attnplan/contract.h"

namespace attnplan {

// Fills `kernels` in order of preference; false for an unknown name.
bool built_in_profile(std::string_view name, std::pmr::vector<Contract>* kernels);

}  // namespace attnplan
