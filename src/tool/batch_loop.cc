#include "tool/batch_loop.h"

#include <algorithm>

#include "tool/each_document.h"

namespace attnplan::tool {

ExitStatus status_of(const json::Outcome& outcome) {
  if (outcome.planned()) return kExitPlanned;
  return outcome.bad_document() ? kExitUnusable : kExitRefused;
}

ExitStatus BatchLoop::run() const {
  json::Session session;
  Output output;
  ExitStatus status = kExitPlanned;
  const auto visit = [&](const Document& document, const json::Source& source) {
    json::BatchDocument batch;
    const auto problem = json::parse_batch(document.text, source, default_backend, batch);
    const json::Outcome outcome = problem ? json::outcome_of(*problem) : session.plan(batch);
    const bool good = answer(batch, outcome, output.text());
    if (!good) status = std::max({status, kExitRefused, status_of(outcome)});
    return true;
  };
  return std::max(each_document(files, output, visit), status);
}

}  // namespace attnplan::tool
