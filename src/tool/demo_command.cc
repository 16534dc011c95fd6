#include "tool/demo_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <vector>

#include "cpu/run.h"
#include "json/session.h"
#include "tool/demo_trace.h"
#include "tool/explain_text.h"
#include "tool/load_documents.h"
#include "tool/output.h"
#include "tool/verdict.h"

namespace attnplan::tool {
namespace {

struct Scenario {
  const char* label;
  const char* name;  // of a case in cases/routing.jsonl
};
constexpr Scenario kScenarios[] = {
    {"(a)", "verify step, one newcomer without drafts: 121 rows"},
    {"(a)", "the same on sparse attention: prefill fallback"},
    {"(b)", "draft step, accepted counts differ: 110 rows"},
    {"(c)", "rows divide by the width and are still ragged"},
    {"(d)", "uniform verify step"},
};
constexpr const char* kTraceProfile = "aiter_mha";

// Heads enough to show that rows find their requests, at the full lengths of the batch.
cpu::RunOptions scenario_options() {
  cpu::RunOptions options;
  options.max_group = 2;
  options.max_head_size = 64;
  return options;
}

bool append_scenario(const Scenario& scenario, const std::vector<json::BatchDocument>& cases,
                     json::Session& session, std::string& out) {
  const auto found =
      std::find_if(cases.begin(), cases.end(),
                   [&](const json::BatchDocument& batch) { return batch.name() == scenario.name; });
  if (found == cases.end()) {
    out += fmt::format("{} no case is called \"{}\"\n\n", scenario.label, scenario.name);
    return false;
  }
  const json::Outcome outcome = session.plan(*found);
  out += fmt::format("{} {}\nprofile {}\n", scenario.label, found->name(), found->config().profile);
  append_outcome(*found, outcome, out);
  bool good = outcome.planned();
  if (good) {
    const cpu::RunReport report =
        cpu::run(found->config(), found->step(), &found->group(), outcome.plan.data(),
                 outcome.plan.size(), scenario_options());
    out += verdict(report) + "\n";
    good = report.ok;
  }
  out += '\n';
  return good;
}

ExitStatus unusable(const std::string& problem) {
  fmt::print(stderr, "attnplan: {}\n", problem);
  return kExitUnusable;
}

}  // namespace

ExitStatus run_demo(const DemoOptions& options) {
  std::string problem;
  const auto cases = load_documents(options.data + "/cases/routing.jsonl", "", &problem);
  if (!cases) return unusable(problem);
  const auto steps =
      load_documents(options.data + "/traces/conversation_eagle3.jsonl", kTraceProfile, &problem);
  if (!steps) return unusable(problem);
  json::Session session;
  Output output;
  bool good = true;
  for (const Scenario& scenario : kScenarios) {
    good &= append_scenario(scenario, *cases, session, output.text());
    output.flush();
  }
  good &= append_trace("(e) conversation trace with three-token drafts", *steps, output.text());
  if (!output.finish()) return kExitUnusable;
  return good ? kExitPlanned : kExitRefused;
}

}  // namespace attnplan::tool
