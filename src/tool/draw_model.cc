#include "tool/draw_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "json/plan_sections.h"
#include "json/vocabulary.h"
#include "tool/error_lines.h"

namespace attnplan::tool {
namespace {

std::string plural(int64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

int64_t query_len_of(const attnplan_step& step, int32_t request) {
  if (step.query_lens != nullptr) return step.query_lens[request];
  return int64_t{step.query_start_loc[request + 1]} - step.query_start_loc[request];
}

DrawnRequest request_of(const attnplan_step& step, int32_t request) {
  DrawnRequest drawn;
  drawn.request = request;
  drawn.query_len = std::max<int64_t>(0, query_len_of(step, request));
  drawn.seq_len = step.seq_lens != nullptr ? step.seq_lens[request]
                                           : step.num_computed_tokens[request] + drawn.query_len;
  drawn.seq_len = std::max<int64_t>(0, drawn.seq_len);
  return drawn;
}

// The number behind the first "request " or "position " of a sentence, or -1.
int32_t position_in(std::string_view text) {
  for (const std::string_view noun : {"request ", "position "}) {
    const size_t at = text.find(noun);
    if (at == std::string_view::npos) continue;
    int64_t number = -1;
    for (const char c : text.substr(at + noun.size(), 9)) {
      if (c < '0' || c > '9') break;
      number = std::max<int64_t>(number, 0) * 10 + (c - '0');
    }
    if (number >= 0) return static_cast<int32_t>(number);
  }
  return -1;
}

std::string explanation(const json::BatchDocument& batch, const json::Outcome& outcome) {
  size_t bytes = 0;
  const auto explain = [&](char* text) {
    return attnplan_plan_explain(outcome.planner, &batch.step(), outcome.plan.data(),
                                 outcome.plan.size(), text, &bytes, nullptr);
  };
  if (explain(nullptr) != ATTNPLAN_OK) return {};
  std::string text(bytes, '\0');
  if (explain(text.data()) != ATTNPLAN_OK) return {};
  text.resize(text.find('\0'));
  return text;
}

std::string_view trimmed(std::string_view line) {
  const size_t begin = line.find_first_not_of(' ');
  return begin == std::string_view::npos ? std::string_view{} : line.substr(begin);
}

// Of the explanation: the policy's sentence, every refusal, what is said below the graph, and every
// warning.
void add_notes(std::string_view text, Picture& picture) {
  bool below_graph = false;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    const size_t refused = line.find(" refused: ");
    below_graph = line.starts_with("graph: ") || (below_graph && line.starts_with(' '));
    if (below_graph) {
      if (line.starts_with(' ')) picture.graph_reasons.emplace_back(trimmed(line));
    } else if (line.starts_with("no decode kernel")) {
      picture.notes.push_back({std::string{line}, -1});
    } else if (line.starts_with("warning: ")) {
      picture.notes.push_back({std::string{line}, -1});
    } else if (line.starts_with(' ') && refused != std::string_view::npos) {
      picture.notes.push_back({std::string{trimmed(line)}, position_in(line.substr(refused + 10))});
    }
  }
}

// A step in the order of a plan.
class StepInOrder {
 public:
  StepInOrder(const attnplan_step& step, const Picture& picture) : step_(step) {
    const std::vector<DrawnRequest>& order = picture.requests;
    lens_.reserve(kLists);
    bytes_.reserve(kLists);
    if (step.query_start_loc != nullptr) {
      std::vector<int32_t>& query_lens = lens_.emplace_back();
      for (const DrawnRequest& request : order) {
        query_lens.push_back(static_cast<int32_t>(request.query_len));
      }
      step_.query_lens = query_lens.data();
      step_.query_start_loc = nullptr;
    } else {
      permute(order, &step_.query_lens, lens_);
    }
    permute(order, &step_.seq_lens, lens_);
    permute(order, &step_.num_computed_tokens, lens_);
    permute(order, &step_.num_prompt_tokens, lens_);
    permute(order, &step_.num_known_tokens, lens_);
    permute(order, &step_.num_draft_tokens, lens_);
    permute(order, &step_.is_prefilling, bytes_);
    permute(order, &step_.seq_len_exact, bytes_);
  }
  const attnplan_step& step() const { return step_; }

 private:
  static constexpr size_t kLists = 8;

  template <typename Value>
  static void permute(const std::vector<DrawnRequest>& order, const Value** array,
                      std::vector<std::vector<Value>>& lists) {
    if (*array == nullptr) return;
    std::vector<Value>& list = lists.emplace_back();
    for (const DrawnRequest& request : order) list.push_back((*array)[request.request]);
    *array = list.data();
  }

  attnplan_step step_;
  std::vector<std::vector<int32_t>> lens_;
  std::vector<std::vector<uint8_t>> bytes_;
};

// All decodes, in plan order: what every decode kernel was tried on first.
attnplan_dispatch whole_decodes(const attnplan_plan_header& header, const Picture& picture) {
  attnplan_dispatch dispatch = ATTNPLAN_DISPATCH_INIT;
  dispatch.req_begin = header.decode_req_begin;
  dispatch.req_end = header.decode_req_end;
  int64_t rows = 0;
  for (int32_t i = 0; i < dispatch.req_end; ++i) {
    if (i == dispatch.req_begin) dispatch.row_begin = static_cast<int32_t>(rows);
    rows += picture.requests[static_cast<size_t>(i)].query_len;
  }
  dispatch.row_end = static_cast<int32_t>(rows);
  return dispatch;
}

std::string with_positions(std::string text) {
  constexpr std::string_view kRequest = "request ";
  for (size_t at = text.find(kRequest); at != std::string::npos; at = text.find(kRequest, at)) {
    text.replace(at, kRequest.size(), "position ");
  }
  return text;
}

// Where a policy cut the decodes up, every segment fits its kernel and no refusal is in the plan:
// the kernels are asked about all decodes once more.
void add_refusals_of_whole(const json::BatchDocument& batch, const json::PlanReader& plan,
                           Picture& picture) {
  attnplan_scratch* scratch = nullptr;
  if (plan.header->ragged_policy == 0 ||
      attnplan_scratch_create(nullptr, &scratch, nullptr) != ATTNPLAN_OK) {
    return;
  }
  const StepInOrder ordered(batch.step(), picture);
  attnplan_dispatch dispatch = whole_decodes(*plan.header, picture);
  std::set<int32_t> asked;
  for (const DrawnSegment& segment : picture.segments) {
    dispatch.kernel = segment.figures.kernel;
    const bool decode = segment.figures.route == ATTNPLAN_ROUTE_DECODE;
    if (!decode || !asked.insert(dispatch.kernel).second) continue;
    const bool told =
        std::any_of(picture.notes.begin(), picture.notes.end(), [&](const DrawnNote& note) {
          return note.text.starts_with(segment.kernel + " refused: ");
        });
    attnplan_error error = ATTNPLAN_ERROR_INIT;
    if (told || attnplan_dispatch_check(plan.planner, scratch, &ordered.step(), &dispatch,
                                        &error) != ATTNPLAN_PLAN_ERROR) {
      continue;
    }
    picture.notes.push_back(
        {picture.sorted ? with_positions(error.message) : error.message, error.request});
  }
  attnplan_scratch_destroy(scratch);
}

void add_plan(const json::BatchDocument& batch, const json::Outcome& outcome, Picture& picture) {
  const json::PlanReader plan(outcome);
  const attnplan_plan_header& header = *plan.header;
  picture.sorted = (header.flags & ATTNPLAN_PLAN_SORTED) != 0;
  if (picture.sorted) {
    std::vector<DrawnRequest> in_order;
    for (const int32_t request : plan.section<int32_t>(ATTNPLAN_SECTION_ORDER)) {
      in_order.push_back(picture.requests[static_cast<size_t>(request)]);
    }
    picture.requests = std::move(in_order);
  }
  for (const attnplan_segment& segment : plan.segments()) {
    const auto index = static_cast<int32_t>(picture.segments.size());
    picture.segments.push_back(
        {segment, attnplan_planner_kernel_name(outcome.planner, segment.kernel)});
    constexpr uint32_t kExact = ATTNPLAN_SEGMENT_EXACT_QUERY_LENS | ATTNPLAN_SEGMENT_EXACT_SEQ_LENS;
    picture.bounds |= (segment.flags & kExact) != kExact;
    for (int32_t i = segment.req_begin; i < segment.req_end; ++i) {
      DrawnRequest& request = picture.requests[static_cast<size_t>(i)];
      request.segment = index;
      if (request.query_len > 0) request.route = segment.route;
    }
  }
  if ((header.flags & ATTNPLAN_PLAN_HAS_GRAPH) != 0) {
    picture.graph =
        DrawnGraph{header.graph_kind,  header.graph_rows,     header.graph_requests,
                   header.graph_width, header.graph_pad_rows, header.graph_pad_requests};
  }
  add_notes(explanation(batch, outcome), picture);
  add_refusals_of_whole(batch, plan, picture);
}

void add_error(const json::Outcome& outcome, Picture& picture) {
  std::vector<std::string> lines = error_lines(outcome);
  const std::string sentence = lines.front();
  lines.erase(lines.begin());
  picture.error = DrawnError{outcome.code, sentence, std::move(lines)};
  if (outcome.request < 0 || outcome.bad_document()) return;
  picture.notes.push_back(
      {fmt::format("the first request to blame is {}", outcome.request), outcome.request});
}

std::string subtitle_of(const json::BatchDocument& batch, const Picture& picture) {
  const attnplan_config& config = batch.config();
  std::string text = fmt::format(
      "profile {}  \xc2\xb7  phase {}  \xc2\xb7  decode threshold {}  \xc2\xb7  {}  \xc2\xb7  {}",
      config.profile != nullptr ? config.profile : "?", json::kPhases[batch.step().phase].text,
      std::max(1, config.decode_threshold), plural(batch.step().num_reqs, "request"),
      plural(picture.num_rows, "row"));
  if (picture.sorted) text += "  \xc2\xb7  order: sort";
  return text;
}

}  // namespace

Picture make_picture(const json::BatchDocument& batch, const json::Outcome& outcome) {
  Picture picture;
  picture.title = batch.name().empty() ? "batch" : batch.name();
  picture.has_batch = !outcome.bad_document();
  if (!picture.has_batch) {
    add_error(outcome, picture);
    return picture;
  }
  for (int32_t i = 0; i < batch.step().num_reqs; ++i) {
    picture.requests.push_back(request_of(batch.step(), i));
    picture.num_rows += picture.requests.back().query_len;
  }
  outcome.planned() ? add_plan(batch, outcome, picture) : add_error(outcome, picture);
  picture.subtitle = subtitle_of(batch, picture);
  attnplan_kv_view view = ATTNPLAN_KV_VIEW_INIT;
  if (batch.has_kv_cache() && outcome.planner != nullptr &&
      attnplan_planner_kv_view(outcome.planner, &view, nullptr) == ATTNPLAN_OK) {
    picture.view = view;
    picture.cache = *batch.config().kv_cache;
  }
  return picture;
}

}  // namespace attnplan::tool
