// How many rows of decodes stay on a decode kernel, by policy and order, over the steps of a trace.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "json/batch_document.h"

namespace attnplan::tool {

inline constexpr size_t kNumPolicies = 4;
inline constexpr std::array<const char*, kNumPolicies> kPolicyNames = {"demote", "uniform_prefix",
                                                                       "split_runs", "auto"};

struct RaggedFigures {
  int64_t kept_rows = 0;             // on a decode kernel
  int64_t decode_segments = 0;       // of all steps together
  int64_t segments = 0;              // decode, extend and prefill
  int32_t most_decode_segments = 0;  // of one step
  int32_t most_segments = 0;
};

// Steps of one phase. Rows of decodes: in draft steps every row, else those of the requests that
// are decodes wherever they stand, which is what a decode kernel is tried on after sorting.
struct PhaseFigures {
  int64_t steps = 0;
  int64_t decode_rows = 0;
  std::array<RaggedFigures, kNumPolicies> as_given;
  std::array<RaggedFigures, kNumPolicies> sorted;
};

struct TraceReport {
  PhaseFigures verify;  // every phase but draft
  PhaseFigures draft;
  std::string problem;        // of the first step that cannot be planned; empty: there is none
  bool bad_document = false;  // it contradicts itself
};

// Counts the steps of one trace, one after the other.
class RaggedReporter {
 public:
  RaggedReporter();
  ~RaggedReporter();
  RaggedReporter(const RaggedReporter&) = delete;
  RaggedReporter& operator=(const RaggedReporter&) = delete;

  // False where the step cannot be planned: report().problem says why.
  bool add(const json::BatchDocument& step);
  const TraceReport& report() const { return report_; }

 private:
  class Counter;
  std::unique_ptr<Counter> counter_;
  TraceReport report_;
};

}  // namespace attnplan::tool
