#include "tool/plan_command.h"

#include "json/plan_document.h"
#include "json/pretty.h"
#include "tool/batch_loop.h"
#include "tool/explain_text.h"

namespace attnplan::tool {

ExitStatus plan_batches(const PlanOptions& options) {
  BatchLoop loop;
  loop.files = options.files;
  loop.default_backend = options.backend;
  std::string compact;
  loop.answer = [&](const json::BatchDocument& batch, const json::Outcome& outcome,
                    std::string& out) {
    if (options.explain) {
      append_explanation(batch, outcome, out);
    } else if (options.pretty) {
      compact.clear();
      json::append_plan_document(batch, outcome, compact);
      json::append_pretty(compact, out);
      out += '\n';
    } else {
      json::append_plan_document(batch, outcome, out);
      out += '\n';
    }
    return outcome.planned();
  };
  return loop.run();
}

}  // namespace attnplan::tool
