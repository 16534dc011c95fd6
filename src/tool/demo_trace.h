// A trace of real load: which routes its rows take, why, how fast it is planned, and whether the
// plans are right.
#pragma once

#include <string>
#include <vector>

#include "json/batch_document.h"

namespace attnplan::tool {

// Appends the tables; false where a step could not be planned or a sampled execution was wrong.
bool append_trace(const std::string& title, const std::vector<json::BatchDocument>& steps,
                  std::string& out);

}  // namespace attnplan::tool
