// Instructions a plan takes, counted by callgrind: the figure that no other load on the machine
// changes.
#pragma once

#include <cstdint>
#include <string>

namespace attnplan::tool {

// Is valgrind there to count?
bool can_count_instructions();

// Runs this program under callgrind twice with different amounts of the same work and divides the
// difference, so that start and set-up cancel. Throws std::runtime_error where callgrind fails.
double instructions_per_plan(const std::string& input_name, const std::string& data);

// The work that is counted: `plans` plans of the named input and nothing else.
void run_fixed_work(const std::string& input_name, const std::string& data, int64_t plans);

}  // namespace attnplan::tool
