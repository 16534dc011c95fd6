// An outcome as text for a person.
#pragma once

#include <string>

#include "json/batch_document.h"
#include "json/session.h"

namespace attnplan::tool {

// The batch's name, then its plan as attnplan_plan_explain tells it, or what is wrong and which
// kernels were tried. Ends with an empty line.
void append_explanation(const json::BatchDocument& batch, const json::Outcome& outcome,
                        std::string& out);

// The same without name and empty line.
void append_outcome(const json::BatchDocument& batch, const json::Outcome& outcome,
                    std::string& out);

}  // namespace attnplan::tool
