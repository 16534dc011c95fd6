// The plan document (docs/batch-format.md, "Plan"): the answer to one batch document.
#pragma once

#include <string>
#include <string_view>

#include "json/batch_document.h"
#include "json/json_writer.h"
#include "json/session.h"

namespace attnplan::json {

// Appends one compact object without a line break. `batch` may be a document that failed to parse.
void append_plan_document(const BatchDocument& batch, const Outcome& outcome, std::string& out);

// The members of that object, for callers that add their own behind them.
void write_plan_members(const BatchDocument& batch, const Outcome& outcome, JsonWriter& writer);

// The members of "kv_view".
void write_kv_view_members(const attnplan_kv_view& view, JsonWriter& writer);

}  // namespace attnplan::json
