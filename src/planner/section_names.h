// What messages call the sections of a plan.
#pragma once

#include <cstdint>

namespace attnplan {

const char* section_name(int32_t id);  // "seq_lens"; "?" for an unknown id

}  // namespace attnplan
