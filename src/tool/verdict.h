// What an execution on the CPU reference showed, in one line.
#pragma once

#include <string>

#include "cpu/run.h"

namespace attnplan::tool {

std::string verdict(const cpu::RunReport& report);

}  // namespace attnplan::tool
