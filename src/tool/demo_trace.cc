#include "tool/demo_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <map>

#include "cpu/run.h"
#include "json/plan_sections.h"
#include "json/session.h"
#include "tool/progress_bar.h"

namespace attnplan::tool {
namespace {

constexpr size_t kSampledSteps = 24;
constexpr int kTimingRounds = 25;

// One kind of step: target steps verify drafts, draft steps make them.
struct RouteCounts {
  int64_t steps = 0;
  int64_t rows = 0;
  std::array<int64_t, 4> steps_of{};  // by route: steps with a segment of it
  std::array<int64_t, 4> rows_of{};
  int64_t decode_class_rows = 0;  // what a decode kernel was tried on
};

struct TraceFigures {
  std::array<RouteCounts, 2> counts;       // target, draft
  int64_t demoted_steps = 0;               // steps where no decode kernel took all decodes
  std::map<std::string, int64_t> reasons;  // "kernel: REASON" -> steps
  int64_t requests = 0;
  size_t executed_steps = 0;
  int64_t executed_rows = 0;
  double max_error = 0;
  double max_lse_error = 0;
  bool good = true;
  std::string problem;
};

void count_routes(const json::PlanReader& plan, const attnplan_step& step, RouteCounts& counts) {
  ++counts.steps;
  counts.rows += plan.header->num_rows;
  std::array<bool, 4> present{};
  for (const attnplan_segment& segment : plan.segments()) {
    const auto route = static_cast<size_t>(segment.route);
    present[route] = true;
    counts.rows_of[route] += segment.row_end - segment.row_begin;
  }
  for (size_t route = 0; route < present.size(); ++route) counts.steps_of[route] += present[route];
  for (int32_t i = plan.header->decode_req_begin; i < plan.header->decode_req_end; ++i) {
    counts.decode_class_rows += step.query_lens[i];
  }
}

// Reasons of the decode kernels in segments that took decodes in, each once a step.
void count_reasons(const json::PlanReader& plan, TraceFigures& figures) {
  if (plan.header->ragged_policy == ATTNPLAN_RAGGED_DEFAULT) return;
  ++figures.demoted_steps;
  std::map<int32_t, uint32_t> by_kernel;
  for (const attnplan_segment& segment : plan.segments()) {
    if (segment.route == ATTNPLAN_ROUTE_DECODE) continue;
    for (const attnplan_refusal& refusal : plan.refusals_of(segment)) {
      by_kernel[refusal.kernel] |= refusal.reasons;
    }
  }
  for (const auto& [kernel, reasons] : by_kernel) {
    for (attnplan_reason reason = 0; reason < ATTNPLAN_NUM_REASONS; ++reason) {
      if ((reasons >> reason & 1u) == 0) continue;
      ++figures.reasons[fmt::format("{}: {}", attnplan_planner_kernel_name(plan.planner, kernel),
                                    attnplan_reason_name(reason))];
    }
  }
}

void execute(const json::BatchDocument& step, const json::Outcome& outcome, TraceFigures& figures) {
  const cpu::RunReport report =
      cpu::run(step.config(), step.step(), &step.group(), outcome.plan.data(), outcome.plan.size(),
               cpu::RunOptions::quick());
  ++figures.executed_steps;
  figures.executed_rows += report.rows_compared;
  figures.max_error = std::max(figures.max_error, report.max_error);
  figures.max_lse_error = std::max(figures.max_lse_error, report.max_lse_error);
  if (report.ok) return;
  figures.good = false;
  figures.problem = fmt::format("{} executed wrong: row {} of request {} {}", step.name(),
                                report.worst_row, report.worst_request, report.problem);
}

void plan_and_execute(const std::vector<json::BatchDocument>& steps, TraceFigures& figures) {
  json::Session session;
  ProgressBar bar("planning and executing", static_cast<int64_t>(steps.size()));
  const size_t stride = std::max<size_t>(1, steps.size() / kSampledSteps) | 1;  // both phases
  for (size_t i = 0; i < steps.size(); ++i, bar.advance()) {
    const json::BatchDocument& step = steps[i];
    const json::Outcome outcome = session.plan(step);
    if (!outcome.planned()) {
      figures.good = false;
      figures.problem = fmt::format("{}: {} {}", step.name(), outcome.code, outcome.message);
      continue;
    }
    const json::PlanReader plan(outcome);
    const bool draft = step.step().phase == ATTNPLAN_PHASE_DRAFT;
    count_routes(plan, step.step(), figures.counts[draft ? 1 : 0]);
    count_reasons(plan, figures);
    figures.requests += plan.header->num_reqs;
    if (i % stride == 0) execute(step, outcome, figures);
  }
}

// Median over rounds of the mean over steps, called as an engine does: one planner, one scratch,
// one buffer. All steps share the configuration of the first.
double time_plans(const std::vector<json::BatchDocument>& steps) {
  attnplan_planner* planner = nullptr;
  attnplan_scratch* scratch = nullptr;
  attnplan_planner_create(&steps.front().config(), &planner, nullptr);
  attnplan_scratch_create(nullptr, &scratch, nullptr);
  struct alignas(ATTNPLAN_PLAN_ALIGNMENT) Line {
    std::byte bytes[ATTNPLAN_PLAN_ALIGNMENT];
  };
  std::vector<Line> buffer(4096);
  std::vector<double> rounds;
  for (int round = 0; round < kTimingRounds; ++round) {
    const auto start = std::chrono::steady_clock::now();
    for (const json::BatchDocument& step : steps) {
      size_t bytes = 0;
      attnplan_plan_build(planner, scratch, &step.step(), &step.group(), buffer.data(),
                          buffer.size() * sizeof(Line), &bytes, nullptr);
    }
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
    rounds.push_back(took.count() / static_cast<double>(steps.size()));
  }
  attnplan_scratch_destroy(scratch);
  attnplan_planner_destroy(planner);
  std::nth_element(rounds.begin(), rounds.begin() + kTimingRounds / 2, rounds.end());
  return rounds[kTimingRounds / 2];
}

double share(int64_t part, int64_t whole) {
  return whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

void append_routes(const std::array<RouteCounts, 2>& counts, std::string& out) {
  out += fmt::format("{:9}{:>28}{:>28}\n", "", fmt::format("{} verify steps", counts[0].steps),
                     fmt::format("{} draft steps", counts[1].steps));
  out += fmt::format("{:9}{:>8}{:>10}{:>10}{:>8}{:>10}{:>10}\n", "route", "steps", "rows",
                     "of rows", "steps", "rows", "of rows");
  for (const attnplan_route route :
       {ATTNPLAN_ROUTE_DECODE, ATTNPLAN_ROUTE_EXTEND, ATTNPLAN_ROUTE_PREFILL}) {
    const auto r = static_cast<size_t>(route);
    std::string line = fmt::format("{:9}", attnplan_route_name(route));
    for (const RouteCounts& c : counts) {
      line += fmt::format("{:>8}{:>10}{:>9.1f}%", c.steps_of[r], c.rows_of[r],
                          share(c.rows_of[r], c.rows));
    }
    out += fmt::format("{}\n", line);
  }
  out += fmt::format(
      "of the rows of decodes, {:.1f}% of verify steps' and {:.1f}% of draft steps' stay on a"
      " decode kernel\n",
      share(counts[0].rows_of[ATTNPLAN_ROUTE_DECODE], counts[0].decode_class_rows),
      share(counts[1].rows_of[ATTNPLAN_ROUTE_DECODE], counts[1].decode_class_rows));
}

void append_reasons(const TraceFigures& figures, std::string& out) {
  if (figures.reasons.empty()) return;
  out += fmt::format("\nin {} steps no decode kernel took all decodes, because of\n",
                     figures.demoted_steps);
  for (const auto& [reason, steps] : figures.reasons) {
    out += fmt::format("  {:<42}{:>5} steps\n", reason, steps);
  }
}

}  // namespace

bool append_trace(const std::string& title, const std::vector<json::BatchDocument>& steps,
                  std::string& out) {
  out += fmt::format("{}\nprofile {}, {} steps\n", title, steps.front().config().profile,
                     steps.size());
  TraceFigures figures;
  plan_and_execute(steps, figures);
  const double plan_ns = time_plans(steps);
  append_routes(figures.counts, out);
  append_reasons(figures, out);
  const double mean_requests =
      static_cast<double>(figures.requests) / static_cast<double>(steps.size());
  out += fmt::format(
      "\nplanned in {:.0f} ns a step of {:.0f} requests on average ({:.1f} ns a request)\n",
      plan_ns, mean_requests, plan_ns / mean_requests);
  out += fmt::format(
      "executed {} sampled steps, {} rows compared: largest error {:.1e}, of log-sum-exp"
      " {:.1e}\n",
      figures.executed_steps, figures.executed_rows, figures.max_error, figures.max_lse_error);
  if (!figures.problem.empty()) out += fmt::format("WRONG: {}\n", figures.problem);
  return figures.good;
}

}  // namespace attnplan::tool
