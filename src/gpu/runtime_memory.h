// Memory of a GPU through the vendor's runtime, opened at run time.
#pragma once

#include <memory>
#include <string>

#include "gpu/device.h"

namespace attnplan::gpu {

// Of the first GPU, whose architecture says which vendor's it is.
std::unique_ptr<Memory> open_memory(const std::string& arch);

}  // namespace attnplan::gpu
