#include "planner/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "planner/classify.h"
#include "planner/explain_graph.h"
#include "planner/lengths.h"
#include "planner/measure.h"
#include "planner/printable.h"
#include "planner/scratch.h"
#include "planner/state.h"
#include "planner/step_scan.h"
#include "planner/witness.h"

namespace attnplan {
namespace {

// "0-30": positions of a half-open range as a person counts them.
std::string span_text(int32_t begin, int32_t end) {
  return end - begin == 1 ? fmt::format("{}", begin) : fmt::format("{}-{}", begin, end - 1);
}

// Cells in aligned columns; figures to the right, words to the left.
class Table {
 public:
  using Line = std::vector<std::string>;

  explicit Table(Line titles) : lines_{std::move(titles)}, notes_(1) {}

  void add(Line line) {
    for (std::string& cell : line) cell = printable(cell);
    lines_.push_back(std::move(line));
    notes_.emplace_back();
  }
  void note(const std::string& text) { notes_.back().push_back(printable(text)); }  // below

  void append_to(std::string* text) const {
    for (size_t i = 0; i < lines_.size(); ++i) {
      append_line(lines_[i], text);
      for (const std::string& note : notes_[i]) {
        *text += fmt::format("{:{}}{}\n", "", width_of(0) + kGap, note);
      }
    }
  }

 private:
  static constexpr size_t kGap = 2;
  static constexpr size_t kFirstFigure = 4;  // route, kernel, requests, rows come before

  size_t width_of(size_t column) const {
    size_t width = 0;
    for (const Line& line : lines_) width = std::max(width, line[column].size());
    return width;
  }

  void append_line(const Line& line, std::string* text) const {
    for (size_t column = 0; column < line.size(); ++column) {
      if (column > 0) text->append(kGap, ' ');
      const bool last = column + 1 == line.size();
      if (column >= kFirstFigure) {
        *text += fmt::format("{:>{}}", line[column], width_of(column));
      } else {
        *text += fmt::format("{:<{}}", line[column], last ? 0 : width_of(column));
      }
    }
    *text += '\n';
  }

  std::vector<Line> lines_;
  std::vector<std::vector<std::string>> notes_;
};

// The step's lengths again, in plan order, as the plan saw them.
class Replay {
 public:
  Replay(const Planner& planner, const Step& step, const PlanParts& plan)
      : scratch_(std::pmr::new_delete_resource()) {
    Scratch::Buffers& buffers = scratch_.buffers();
    const Planner::State& state = planner.state();
    const Lengths lengths = resolve_lengths(step, *state.isa, buffers);
    const auto n = static_cast<size_t>(step.num_reqs);
    ScanResult scanned;
    scan_step(state.config, step, lengths, *state.isa, buffers, &scanned, &lanes_);
    if (n > 0) seq_lens_.assign(lengths.seq_lens, lengths.seq_lens + n);
    for (const attnplan_warning& warning : plan.warnings) {
      const bool clamp = warning.code == static_cast<int32_t>(Code::kSeqLenClamped);
      if (!clamp) continue;
      const auto request = static_cast<size_t>(warning.request);
      seq_lens_[request] = static_cast<int32_t>(warning.limit);
      cut_.resize(n, 0);
      cut_[request] = 1;
    }
    if (!cut_.empty()) lanes_.cut = cut_.data();
    lanes_.seq_lens = seq_lens_.data();
    classify_exactness(state.config, step, buffers, &lanes_);
    if (!plan.order.empty()) permute(plan.order);
  }

  const Lanes& lanes() const { return lanes_; }

 private:
  template <typename Value>
  void permute(std::span<const int32_t> order, const Value** array, std::vector<Value>* copy) {
    if (*array == nullptr) return;
    copy->clear();
    for (const int32_t request : order) copy->push_back((*array)[request]);
    *array = copy->data();
  }

  void permute(std::span<const int32_t> order) {
    permute(order, &lanes_.query_lens, &sorted_[0]);
    permute(order, &lanes_.seq_lens, &sorted_[1]);
    permute(order, &lanes_.context_lens, &sorted_[2]);
    permute(order, &lanes_.inexact, &sorted_inexact_);
    permute(order, &lanes_.cut, &sorted_cut_);
    lanes_.order = order.data();
  }

  Scratch scratch_;
  std::vector<uint8_t> cut_;
  std::vector<uint8_t> sorted_cut_;
  Lanes lanes_;
  std::vector<int32_t> seq_lens_;
  std::array<std::vector<int32_t>, 3> sorted_;
  std::vector<uint8_t> sorted_inexact_;
};

class Explanation {
 public:
  Explanation(const Planner& planner, const Step& step, const PlanParts& plan)
      : planner_(planner),
        step_(step),
        plan_(plan),
        header_(*plan.header),
        replay_(planner, step, plan) {}

  std::string text() const {
    std::string text = summary();
    if (!plan_.segments.empty()) segment_table().append_to(&text);
    text += explain_graph(planner_, step_, header_, plan_.segments);
    for (const attnplan_warning& warning : plan_.warnings) {
      text += fmt::format("warning: {}, request {} has {}, limit {}\n",
                          name(static_cast<Code>(warning.code)), warning.request, warning.value,
                          warning.limit);
    }
    return text;
  }

 private:
  bool has_cache() const { return planner_.kv_view() != nullptr; }

  std::string summary() const {
    std::string text =
        fmt::format("{}, {}", plural(header_.num_reqs, "request"), plural(header_.num_rows, "row"));
    if (header_.num_pads > 0) text += fmt::format(", {}", plural(header_.num_pads, "pad"));
    text += fmt::format("; decode threshold {}", planner_.config().decode_threshold);
    text += step_.phase == Phase::kTarget ? "\n" : fmt::format("; phase {}\n", phase_name());
    if (plan_.segments.empty()) text += nothing_line();
    if (!plan_.order.empty()) text += order_line();
    if (header_.ragged_policy != 0) text += policy_line() + costs_line();
    return text;
  }

  const char* phase_name() const {
    constexpr const char* kPhases[] = {"target", "draft", "capture", "idle"};
    return kPhases[static_cast<size_t>(step_.phase)];
  }

  std::string nothing_line() const {
    const bool graph = (header_.flags & ATTNPLAN_PLAN_HAS_GRAPH) != 0 && header_.graph_kind != 0;
    return graph ? "no live request: the graph runs with nothing but padding\n"
                 : "no live request: nothing to launch\n";
  }

  // What the model of `auto` saw.
  std::string costs_line() const {
    if (planner_.state().policy != Ragged::kAuto) return {};
    constexpr const char* kPolicies[] = {"demote", "uniform_prefix", "split_runs"};
    std::string costs;
    for (size_t i = 0; i < 3; ++i) {
      const int64_t cost = header_.policy_costs[i];
      costs += fmt::format("{}{} {}", i == 0 ? "" : ", ", kPolicies[i],
                           cost < 0 ? "impossible" : fmt::format("{} ns", cost));
    }
    return fmt::format("chosen by cost: {}\n", costs);
  }

  // Why not all decodes are decodes.
  std::string policy_line() const {
    constexpr const char* kPolicies[] = {"", "demote", "uniform_prefix", "split_runs", "auto"};
    const Range decodes{header_.decode_req_begin, header_.decode_req_end};
    const std::string who = subject(decodes);
    if (!has_decode_kernel()) return fmt::format("no decode kernel in the profile for {}\n", who);
    const std::string kept = header_.num_decodes == 0
                                 ? "none"
                                 : fmt::format("{} of {}", header_.num_decodes, num_live(decodes));
    return fmt::format("no decode kernel takes {} as a whole: policy {} keeps {} as decodes\n", who,
                       kPolicies[header_.ragged_policy], kept);
  }

  bool has_decode_kernel() const {
    for (int32_t k = 0; k < planner_.num_kernels(); ++k) {
      if (planner_.contract(k).route == Route::kDecode) return true;
    }
    return false;
  }

  int32_t num_live(Range range) const {
    const int32_t* query_lens = replay_.lanes().query_lens;
    return static_cast<int32_t>(std::count_if(query_lens + range.begin, query_lens + range.end,
                                              [](int32_t query_len) { return query_len > 0; }));
  }

  // What the request ranges count.
  std::string_view noun() const { return plan_.order.empty() ? "request" : "position"; }
  std::string subject(Range range) const {
    return fmt::format("{}{} {}", noun(), range.end - range.begin == 1 ? "" : "s",
                       span_text(range.begin, range.end));
  }

  std::string order_line() const {
    constexpr size_t kShown = 16;
    const auto shown = plan_.order.first(std::min(kShown, plan_.order.size()));
    return fmt::format("sorted: positions 0, 1, ... are requests {}{}\n", fmt::join(shown, ", "),
                       shown.size() < plan_.order.size() ? ", ..." : "");
  }

  Table segment_table() const {
    Table::Line titles = {"route",     "kernel", fmt::format("{}s", noun()), "rows", "width",
                          "max query", "max seq"};
    if (has_cache()) titles.insert(titles.end(), {"page", "dtype"});
    Table table(std::move(titles));
    for (const attnplan_segment& segment : plan_.segments) {
      table.add(segment_line(segment));
      for (int32_t i = segment.refusal_begin; i < segment.refusal_end; ++i) {
        note_refusal(segment, plan_.refusals[static_cast<size_t>(i)], &table);
      }
    }
    return table;
  }

  Table::Line segment_line(const attnplan_segment& s) const {
    const bool exact_query = (s.flags & ATTNPLAN_SEGMENT_EXACT_QUERY_LENS) != 0;
    const bool exact_seq = (s.flags & ATTNPLAN_SEGMENT_EXACT_SEQ_LENS) != 0;
    const int32_t pads = s.req_end - s.req_begin - s.num_live;
    std::string requests = fmt::format("{} ({}", span_text(s.req_begin, s.req_end), s.num_live);
    requests += pads > 0 ? fmt::format(" + {})", plural(pads, "pad")) : ")";
    std::string width = s.width > 0   ? fmt::format("{}", s.width)
                        : exact_query ? "ragged"
                                      : "device";
    Table::Line line = {
        name(static_cast<Route>(s.route)),
        std::string(planner_.contract(s.kernel).name),
        std::move(requests),
        fmt::format("{} ({})", span_text(s.row_begin, s.row_end), s.row_end - s.row_begin),
        std::move(width),
        fmt::format("{}{}", exact_query ? "" : "<= ", s.max_query_len),
        fmt::format("{}{}", exact_seq ? "" : "<= ", s.max_seq_len)};
    if (has_cache()) {
      line.push_back(fmt::format("{}", s.page_size));
      line.push_back(name(static_cast<Dtype>(s.label)));
    }
    return line;
  }

  void note_refusal(const attnplan_segment& segment, const attnplan_refusal& refusal,
                    Table* table) const {
    const Contract& contract = planner_.contract(refusal.kernel);
    const Range own{segment.req_begin, segment.req_end};
    const Range decodes{header_.decode_req_begin, header_.decode_req_end};
    // Decode kernels that another route's segment names were tried on all decodes before.
    const bool of_decodes =
        contract.route == Route::kDecode && segment.route != static_cast<int32_t>(Route::kDecode);
    const uint32_t on_decodes = of_decodes ? reasons_on_decodes(refusal.kernel, decodes) : 0;
    for (int32_t r = 0; r < kNumReasons; ++r) {
      if ((refusal.reasons >> r & 1u) == 0) continue;
      const auto reason = static_cast<Reason>(r);
      const Range range = (on_decodes & bit(reason)) != 0 ? decodes : own;
      Sentence sentence;
      add_refusal({planner_.state(), refusal.kernel, replay_.lanes(), range}, reason, &sentence);
      table->note(std::string{sentence.view()});
    }
  }

  uint32_t reasons_on_decodes(int32_t kernel, Range range) const {
    const Planner::State& state = planner_.state();
    const Lanes& lanes = replay_.lanes();
    const bool uncertain = rows_may_move_past(lanes, range.end);
    return (uncertain ? bit(Reason::kQueryLensNotExact) : 0) |
           refusals(state.kernels[static_cast<size_t>(kernel)], measure(lanes, range, *state.isa),
                    lanes, range);
  }

  const Planner& planner_;
  const Step& step_;
  const PlanParts& plan_;
  const attnplan_plan_header& header_;
  Replay replay_;
};

// The hash that a plan of this step carries.
uint64_t step_identity(const Planner& planner, const Step& step) {
  Scratch scratch(std::pmr::new_delete_resource());
  return attnplan::step_identity(planner.state(), step, scratch.buffers());
}

// Every index that the explanation follows lies where it should.
bool fits(const Planner& planner, const Step& step, const PlanParts& plan) {
  const attnplan_plan_header& header = *plan.header;
  const int32_t n = step.num_reqs, kernels = planner.num_kernels();
  if (header.num_reqs != n || header.planner_hash != planner.state().hash ||
      header.step_hash != step_identity(planner, step)) {
    return false;
  }
  const auto inside = [](int64_t begin, int64_t end, int64_t size) {
    return 0 <= begin && begin < end && end <= size;
  };
  const auto known = [kernels](int32_t kernel) { return 0 <= kernel && kernel < kernels; };
  if ((!plan.order.empty() && plan.order.size() != static_cast<size_t>(n)) ||
      header.ragged_policy < 0 || header.ragged_policy > static_cast<int32_t>(Ragged::kAuto)) {
    return false;
  }
  bool good = true;
  bool names_decode_kernel = header.ragged_policy != 0;
  for (const int32_t request : plan.order) good &= 0 <= request && request < n;
  for (const attnplan_warning& w : plan.warnings) good &= 0 <= w.request && w.request < n;
  for (const attnplan_refusal& r : plan.refusals) {
    good &= known(r.kernel);
    names_decode_kernel |= good && planner.contract(r.kernel).route == Route::kDecode;
  }
  for (const attnplan_segment& s : plan.segments) {
    good &= known(s.kernel) && inside(s.req_begin, s.req_end, n) && 0 <= s.refusal_begin &&
            s.refusal_begin <= s.refusal_end &&
            static_cast<size_t>(s.refusal_end) <= plan.refusals.size();
  }
  return good && (!names_decode_kernel || plan.segments.empty() ||
                  inside(header.decode_req_begin, header.decode_req_end, n));
}

}  // namespace

Status explain(const Planner& planner, const Step& step, const PlanParts& plan, std::string* text,
               Error* error) {
  if (!fits(planner, step, plan)) {
    return error->set(Status::kInvalidArgument, Code::kNone, -1, 0, 0,
                      "the plan is not one of this planner and step");
  }
  *text = Explanation(planner, step, plan).text();
  return Status::kOk;
}

}  // namespace attnplan
