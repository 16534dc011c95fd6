// Batch documents and plan documents for the tests, written without the project's own reader and
// writer so that they can be compared with them.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "batch.h"
#include "naive_plan.h"

namespace attnplan::oracle {

using Json = nlohmann::ordered_json;

// One batch document of good form. Absent where it asks for something that the naive planner does
// not do, whose name is then in *missing. Throws std::runtime_error on anything malformed.
std::optional<Batch> batch_from_json(const Json& document, std::string* missing);

// The batch document that describes this batch (dense tables lose their row stride).
Json batch_to_json(const Batch& batch);

// The plan document of the naive planner's answer, with the sections that config.sections names.
Json plan_to_json(const NaivePlan& plan, const attnplan_config& config);

// Why `actual` does not satisfy the partial plan document `expected`; empty where it does.
std::string first_difference(const Json& expected, const Json& actual, const std::string& path);

}  // namespace attnplan::oracle
