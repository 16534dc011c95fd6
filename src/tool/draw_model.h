// What a drawing of one batch shows, gathered from the document, the plan and its explanation.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attnplan.h"
#include "json/batch_document.h"
#include "json/session.h"

namespace attnplan::tool {

// A request where it stands in the plan.
struct DrawnRequest {
  int64_t query_len = 0;  // rows; negative ones of a refused batch are drawn as 0
  int64_t seq_len = 0;    // tokens
  int32_t request = 0;    // of the step
  int32_t segment = -1;   // -1: a pad outside of all segments, or a refused batch
  attnplan_route route = ATTNPLAN_ROUTE_PAD;
};

struct DrawnSegment {
  attnplan_segment figures;
  std::string kernel;
};

// A sentence below the charts; `position` is the request of the picture that it is about, or -1.
struct DrawnNote {
  std::string text;
  int32_t position = -1;
};

struct DrawnError {
  std::string code;
  std::string message;
  std::vector<std::string> refusals;  // one kernel each
};

struct DrawnGraph {
  int32_t kind = ATTNPLAN_GRAPH_NONE;
  int32_t rows = 0;
  int32_t requests = -1;  // -1: not determined by the graph
  int32_t width = 0;
  int32_t pad_rows = 0;
  int32_t pad_requests = 0;
};

struct Picture {
  std::string title;
  std::string subtitle;
  std::vector<DrawnRequest> requests;  // in plan order
  int64_t num_rows = 0;
  bool sorted = false;
  bool has_batch = false;  // false: the document could not be read
  bool bounds = false;     // some length is an upper bound
  std::vector<DrawnSegment> segments;
  std::vector<DrawnNote> notes;
  std::optional<DrawnError> error;
  std::optional<DrawnGraph> graph;
  std::vector<std::string> graph_reasons;  // why it is not a better one
  std::optional<attnplan_kv_view> view;
  std::optional<attnplan_kv_cache> cache;
};

Picture make_picture(const json::BatchDocument& batch, const json::Outcome& outcome);

}  // namespace attnplan::tool
