// Plans batch documents one after the other, through the C ABI alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "attnplan.h"
#include "json/batch_document.h"

namespace attnplan::json {

// What became of one document. Everything is borrowed from the session until its next call.
struct Outcome {
  const attnplan_planner* planner = nullptr;  // null where none could be created
  std::span<const std::byte> plan;            // empty where the batch was refused
  std::string code;                           // empty where it was planned
  std::string message;
  int32_t request = -1;
  int64_t value = 0;
  int64_t limit = 0;
  std::span<const attnplan_refusal> refusals;  // of the kernels tried, with NO_ROUTE and
  std::span<const int32_t> requests;           // NEED_EXACT_SEQ_LENS

  bool planned() const { return code.empty(); }
  bool bad_document() const { return code == "BAD_DOCUMENT"; }
};

// The outcome of a document that could not be read.
Outcome outcome_of(const DocumentError& error);

class Session {
 public:
  Session();
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Keeps the planner where the next document has the same configuration.
  Outcome plan(const BatchDocument& batch);

 private:
  Outcome attempt(const attnplan_config& config, const std::string& config_text,
                  const BatchDocument& batch);
  Outcome build(const BatchDocument& batch);
  Outcome failure(const attnplan_error& error, const BatchDocument& batch) const;
  Outcome too_large(int64_t bytes, const BatchDocument& batch) const;
  bool fails_earlier(const BatchDocument& batch, int32_t request, Outcome* earlier);

  attnplan_planner* planner_ = nullptr;
  attnplan_scratch* scratch_ = nullptr;
  std::string config_text_;  // of planner_
  std::vector<std::byte> storage_;
  std::vector<attnplan_refusal> refusals_;
  std::vector<int32_t> requests_;
};

}  // namespace attnplan::json
