#include "tool/draw_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "json/plan_sections.h"
#include "json/vocabulary.h"

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
  drawn.seq_len = step.seq_lens != nullptr
                      ? step.seq_lens[request]
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

// Of the explanation: the policy's sentence, every refusal and every warning.
void add_notes(std::string_view text, Picture& picture) {
  while (!text.empty()) {
    const size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    const size_t refused = line.find(" refused: ");
    if (line.starts_with("no decode kernel")) {
      picture.notes.push_back({std::string{line}, -1});
    } else if (line.starts_with("warning: ")) {
      picture.notes.push_back({std::string{line}, -1});
    } else if (line.starts_with(' ') && refused != std::string_view::npos) {
      picture.notes.push_back(
          {std::string{trimmed(line)}, position_in(line.substr(refused + 10))});
    }
  }
}

// Where a policy cut the decodes up, every segment fits its kernel and no refusal is in the plan:
// the kernels are asked about all decodes once more.
void add_refusals_of_whole(const json::BatchDocument& batch, const json::PlanReader& plan,
                           Picture& picture) {
  const attnplan_plan_header& header = *plan.header;
  if (picture.sorted || header.ragged_policy == 0) return;
  attnplan_scratch* scratch = nullptr;
  if (attnplan_scratch_create(nullptr, &scratch, nullptr) != ATTNPLAN_OK) return;
  attnplan_dispatch dispatch = ATTNPLAN_DISPATCH_INIT;
  dispatch.req_begin = header.decode_req_begin;
  dispatch.req_end = header.decode_req_end;
  int64_t rows = 0;
  for (int32_t i = 0; i < dispatch.req_end; ++i) {
    if (i == dispatch.req_begin) dispatch.row_begin = static_cast<int32_t>(rows);
    rows += picture.requests[static_cast<size_t>(i)].query_len;
  }
  dispatch.row_end = static_cast<int32_t>(rows);
  std::set<int32_t> asked;
  for (const DrawnSegment& segment : picture.segments) {
    dispatch.kernel = segment.figures.kernel;
    const bool decode = segment.figures.route == ATTNPLAN_ROUTE_DECODE;
    if (!decode || !asked.insert(dispatch.kernel).second) continue;
    attnplan_error error = ATTNPLAN_ERROR_INIT;
    if (attnplan_dispatch_check(plan.planner, scratch, &batch.step(), &dispatch, &error) !=
        ATTNPLAN_PLAN_ERROR) {
      continue;
    }
    const auto same = [&](const DrawnNote& note) {
      return note.text.starts_with(segment.kernel + " refused: ");
    };
    if (std::any_of(picture.notes.begin(), picture.notes.end(), same)) continue;
    picture.notes.push_back({error.message, error.request});
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
    picture.graph = DrawnGraph{header.graph_kind,     header.graph_rows,
                               header.graph_requests, header.graph_width,
                               header.graph_pad_rows, header.graph_pad_requests};
  }
  add_notes(explanation(batch, outcome), picture);
  add_refusals_of_whole(batch, plan, picture);
}

void add_error(const json::Outcome& outcome, Picture& picture) {
  picture.error = DrawnError{outcome.code, outcome.message, refusal_lines(outcome)};
  if (outcome.request >= 0 && !outcome.bad_document()) {
    picture.notes.push_back(
        {fmt::format("The request to blame: {}. Found {}, limit {}.", outcome.request,
                     outcome.value, outcome.limit),
         outcome.request});
  }
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

std::vector<std::string> refusal_lines(const json::Outcome& outcome) {
  std::vector<std::string> lines;
  for (const attnplan_refusal& refusal : outcome.refusals) {
    std::string reasons;
    for (attnplan_reason reason = 0; reason < ATTNPLAN_NUM_REASONS; ++reason) {
      if ((refusal.reasons >> reason & 1u) == 0) continue;
      reasons += fmt::format("{}{}", reasons.empty() ? "" : ", ", attnplan_reason_name(reason));
    }
    lines.push_back(fmt::format(
        "{} refused: {}", attnplan_planner_kernel_name(outcome.planner, refusal.kernel), reasons));
  }
  return lines;
}

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
