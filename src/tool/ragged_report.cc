#include "tool/ragged_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <span>
#include <vector>

namespace attnplan::tool {
namespace {

struct PlannerDeleter {
  void operator()(attnplan_planner* planner) const { attnplan_planner_destroy(planner); }
};
using PlannerHandle = std::unique_ptr<attnplan_planner, PlannerDeleter>;

struct Scratch {
  Scratch() { attnplan_scratch_create(nullptr, &handle, nullptr); }
  ~Scratch() { attnplan_scratch_destroy(handle); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  attnplan_scratch* handle = nullptr;
};

struct alignas(ATTNPLAN_PLAN_ALIGNMENT) PlanLine {
  std::byte bytes[ATTNPLAN_PLAN_ALIGNMENT];
};

constexpr std::array<attnplan_ragged_policy, kNumPolicies> kPolicies = {
    ATTNPLAN_RAGGED_DEMOTE, ATTNPLAN_RAGGED_UNIFORM_PREFIX, ATTNPLAN_RAGGED_SPLIT_RUNS,
    ATTNPLAN_RAGGED_AUTO};

// Planners of one configuration, for every policy under both orders.
class Planners {
 public:
  // False where the library refuses the configuration; error says why.
  bool fit(const json::BatchDocument& step, attnplan_error* error) {
    if (ready_ && step.config_text() == config_text_) return true;
    ready_ = false;
    for (size_t order = 0; order < 2; ++order) {
      for (size_t policy = 0; policy < kNumPolicies; ++policy) {
        attnplan_config config = step.config();
        config.order = order == 0 ? ATTNPLAN_ORDER_AS_GIVEN : ATTNPLAN_ORDER_SORT;
        config.ragged = kPolicies[policy];
        attnplan_planner* planner = nullptr;
        if (attnplan_planner_create(&config, &planner, error) != ATTNPLAN_OK) return false;
        planners_[order][policy].reset(planner);
      }
    }
    config_text_ = step.config_text();
    return ready_ = true;
  }

  const attnplan_planner* get(bool sorted, size_t policy) const {
    return planners_[sorted ? 1 : 0][policy].get();
  }

 private:
  std::array<std::array<PlannerHandle, kNumPolicies>, 2> planners_;
  std::string config_text_;
  bool ready_ = false;
};

// Values that only a document can spell: what is wrong with one, or nothing.
std::string fault_of(const json::BatchDocument& step) {
  for (const auto* fault : {&step.cache_fault(), &step.request_fault(), &step.scalar_fault()}) {
    if (*fault) return (*fault)->message;
  }
  return {};
}

}  // namespace

class RaggedReporter::Counter {
 public:
  bool add(const json::BatchDocument& step, TraceReport& report) {
    report.problem = fault_of(step);
    if (!report.problem.empty()) return false;
    attnplan_error error = ATTNPLAN_ERROR_INIT;
    if (!planners_.fit(step, &error)) return fail(step, step.layout_origin(), error, report);
    const bool draft = step.step().phase == ATTNPLAN_PHASE_DRAFT;
    PhaseFigures& phase = draft ? report.draft : report.verify;
    ++phase.steps;
    for (const bool sorted : {false, true}) {
      for (size_t policy = 0; policy < kNumPolicies; ++policy) {
        const attnplan_plan_header* header = plan(sorted, policy, step, &error);
        if (header == nullptr) return fail(step, step.sections_origin(), error, report);
        count(*header, (sorted ? phase.sorted : phase.as_given)[policy]);
        if (!sorted || policy != 0) continue;
        phase.decode_rows += draft ? header->num_rows : rows_of_decodes(step.step(), *header);
      }
    }
    return true;
  }

 private:
  // What the library calls an invalid argument came from the document, from where `origin` says.
  static bool fail(const json::BatchDocument& step, const std::string& origin,
                   const attnplan_error& error, TraceReport& report) {
    report.bad_document = error.status == ATTNPLAN_INVALID_ARGUMENT;
    const std::string& name = step.name();
    report.problem = report.bad_document ? origin + error.message
                                         : fmt::format("{}{}{}{}", step.origin(), name,
                                                       name.empty() ? "" : ": ", error.message);
    return false;
  }

  const attnplan_plan_header* plan(bool sorted, size_t policy, const json::BatchDocument& step,
                                   attnplan_error* error) {
    size_t bytes = 0;
    const auto build = [&] {
      return attnplan_plan_build(planners_.get(sorted, policy), scratch_.handle, &step.step(),
                                 &step.group(), plan_.data(), plan_.size() * sizeof(PlanLine),
                                 &bytes, error);
    };
    attnplan_status status = build();
    if (status == ATTNPLAN_BUFFER_TOO_SMALL) {
      plan_.resize(static_cast<size_t>(error->value) / sizeof(PlanLine) + 1);
      status = build();
    }
    return status == ATTNPLAN_OK ? attnplan_plan_get_header(plan_.data(), bytes) : nullptr;
  }

  void count(const attnplan_plan_header& header, RaggedFigures& figures) const {
    const std::span segments(attnplan_plan_get_segments(plan_.data(), header.total_bytes),
                             static_cast<size_t>(header.num_segments));
    const auto decodes = static_cast<int32_t>(std::count_if(
        segments.begin(), segments.end(),
        [](const attnplan_segment& segment) { return segment.route == ATTNPLAN_ROUTE_DECODE; }));
    figures.kept_rows += header.num_decode_tokens;
    figures.decode_segments += decodes;
    figures.segments += header.num_segments;
    figures.most_decode_segments = std::max(figures.most_decode_segments, decodes);
    figures.most_segments = std::max(figures.most_segments, header.num_segments);
  }

  // Sorted, the decodes are one range at the front.
  int64_t rows_of_decodes(const attnplan_step& step, const attnplan_plan_header& header) const {
    attnplan_section_view order = ATTNPLAN_SECTION_VIEW_INIT;
    attnplan_plan_get_section(plan_.data(), header.total_bytes, ATTNPLAN_SECTION_ORDER, &order,
                              nullptr);
    const auto* request = static_cast<const int32_t*>(order.data);
    int64_t rows = 0;
    for (int32_t i = header.decode_req_begin; i < header.decode_req_end; ++i) {
      const int32_t r = request[i];
      rows += step.query_lens != nullptr ? step.query_lens[r]
                                         : step.query_start_loc[r + 1] - step.query_start_loc[r];
    }
    return rows;
  }

  Planners planners_;
  Scratch scratch_;
  std::vector<PlanLine> plan_ = std::vector<PlanLine>(256);
};

RaggedReporter::RaggedReporter() : counter_(std::make_unique<Counter>()) {}
RaggedReporter::~RaggedReporter() = default;

bool RaggedReporter::add(const json::BatchDocument& step) { return counter_->add(step, report_); }

}  // namespace attnplan::tool
