// The batch document: any text gets exactly one well-formed plan document for an answer.
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "fuzz_target.h"
#include "json/batch_document.h"
#include "json/plan_document.h"
#include "json/session.h"

namespace attnplan::fuzz {
namespace {

constexpr int64_t kMostRows = 1 << 16;  // a document may ask for gigabytes of row sections

int64_t rows_of(const attnplan_step& step) {
  int64_t rows = 0;
  for (int32_t i = 0; i < step.num_reqs; ++i) {
    const int64_t query = step.query_lens != nullptr
                              ? step.query_lens[i]
                              : int64_t{step.query_start_loc[i + 1]} - step.query_start_loc[i];
    if (query > 0) rows += query;
  }
  return rows;
}

std::string answer(std::string_view text) {
  json::BatchDocument batch;
  std::string out;
  if (const auto error = json::parse_batch(text, json::Source{"input"}, "aiter_mha", batch)) {
    json::append_plan_document(batch, json::outcome_of(*error), out);
    return out;
  }
  if (rows_of(batch.step()) > kMostRows) return "{}";
  json::Session session;
  json::append_plan_document(batch, session.plan(batch), out);
  const std::string first = out;
  out.clear();
  json::append_plan_document(batch, session.plan(batch), out);
  require(out == first, "the same document gets another answer");
  return out;
}

}  // namespace
}  // namespace attnplan::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // An exact copy on the heap: a reader that looks for a terminating NUL is caught.
  const std::string text(reinterpret_cast<const char*>(data), size);
  const std::unique_ptr<char[]> exact(new char[size]);
  std::copy(text.begin(), text.end(), exact.get());
  const std::string out = attnplan::fuzz::answer(std::string_view(exact.get(), size));
  attnplan::fuzz::require(nlohmann::json::accept(out), "the answer is not JSON");
  attnplan::fuzz::require(out.find('\n') == std::string::npos, "the answer is not one line");
  return 0;
}
