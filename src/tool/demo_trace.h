// A trace of real load: which routes its rows take, why, how fast it is planned, and whether the
// plans are right.
#pragma once

#include <string>
#include <vector>

#include "json/batch_document.h"

namespace attnplan::tool {

// Prints the tables; false where a step could not be planned or a sampled execution was wrong.
bool show_trace(const std::string& title, const std::vector<json::BatchDocument>& steps);

}  // namespace attnplan::tool
