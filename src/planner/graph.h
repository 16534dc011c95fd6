// Which captured graph a step can run in. docs/planning.md, "Pads, graphs, idle ranks".
#pragma once

#include "attnplan/planner.h"
#include "planner/kernel.h"
#include "planner/lanes.h"
#include "planner/route.h"

namespace attnplan {

enum class GraphKind : int32_t { kNone = 0, kPiecewise = 1, kFull = 2 };

// The key of a graph is (rows, requests, width).
struct Graph {
  GraphKind kind = GraphKind::kNone;
  int32_t rows = 0;       // of the graph; the batch's where there is none
  int32_t requests = -1;  // rows / width of a uniform full graph; else not determined
  int32_t width = 0;      // 0 unless uniform full
  int32_t pad_rows = 0;
  int32_t pad_requests = 0;
};

Graph choose_graph(const Config& config, const Step& step, const Lanes& lanes,
                   const std::pmr::vector<Kernel>& kernels,
                   const std::pmr::vector<RoutedSegment>& segments);

// The largest uniform full graph (requests) and the largest graph (rows) of the configuration; 0
// where there is none.
int32_t max_graph_requests(const Config& config);
int32_t max_graph_rows(const Config& config);

}  // namespace attnplan
