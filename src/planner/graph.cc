#include "planner/graph.h"

#include <algorithm>

namespace attnplan {
namespace {

int32_t width_of(const Config& config) {
  return config.graph.width > 0 ? config.graph.width : config.decode_threshold;
}

// Requests that request-indexed sections have room for.
int32_t room_for_requests(const Config& config) {
  const int32_t most = config.limits.max_num_seqs;
  return most > 0 ? std::max(most, max_graph_requests(config)) : INT32_MAX;
}

// A full size rounded up to whole requests; 0 where it drops out.
int32_t uniform_size(const Config& config, int32_t rows) {
  const int64_t width = width_of(config);
  const int64_t rounded = (rows + width - 1) / width * width;
  const int32_t max_seqs =
      config.graph.max_num_seqs > 0 ? config.graph.max_num_seqs : config.limits.max_num_seqs;
  const int32_t max_rows = config.limits.max_num_batched_tokens;
  if (rows <= 0 || rounded > INT32_MAX) return 0;
  if (max_seqs > 0 && rounded / width > max_seqs) return 0;
  if (max_rows > 0 && rounded > max_rows) return 0;
  return static_cast<int32_t>(rounded);
}

enum class FullMode { kNo, kUniform, kAlways };

// An empty batch follows the other ranks: what they run is what the profile captures.
FullMode full_mode_of_profile(const std::pmr::vector<Kernel>& kernels) {
  const auto has = [&kernels](auto wanted) {
    return std::any_of(kernels.begin(), kernels.end(), wanted);
  };
  if (has([](const Kernel& k) {
        return k.route == Route::kDecode && k.capture == Capture::kUniform;
      })) {
    return FullMode::kUniform;
  }
  return has([](const Kernel& k) { return k.capture == Capture::kAlways; }) ? FullMode::kAlways
                                                                            : FullMode::kNo;
}

FullMode full_mode(const Config& config, const Step& step, const std::pmr::vector<Kernel>& kernels,
                   const std::pmr::vector<RoutedSegment>& segments) {
  if (segments.empty()) {
    return step.num_tokens_padded > 0 ? full_mode_of_profile(kernels) : FullMode::kNo;
  }
  const auto kernel_of = [&kernels](const RoutedSegment& s) -> const Kernel& {
    return kernels[static_cast<size_t>(s.kernel)];
  };
  const Kernel& first = kernel_of(segments.front());
  if (segments.size() == 1 && first.route == Route::kDecode && first.capture == Capture::kUniform &&
      segments.front().facts.width() == width_of(config)) {
    return FullMode::kUniform;
  }
  const bool always = std::all_of(segments.begin(), segments.end(), [&](const RoutedSegment& s) {
    return kernel_of(s).capture == Capture::kAlways;
  });
  return always ? FullMode::kAlways : FullMode::kNo;
}

// The smallest of the sizes that holds `rows`; 0 where none does.
template <typename SizeOf>
int32_t smallest(const std::pmr::vector<int32_t>& sizes, int64_t rows, SizeOf size_of) {
  int32_t best = 0;
  for (const int32_t given : sizes) {
    const int32_t size = size_of(given);
    if (size > 0 && size >= rows && (best == 0 || size < best)) best = size;
  }
  return best;
}

}  // namespace

Graph choose_graph(const Config& config, const Step& step, const Lanes& lanes,
                   const std::pmr::vector<Kernel>& kernels,
                   const std::pmr::vector<RoutedSegment>& segments) {
  Graph graph;
  graph.rows = static_cast<int32_t>(lanes.rows);
  const int64_t rows = std::max<int64_t>(lanes.rows, step.num_tokens_padded);
  if (rows == 0 || step.graph_allow == GraphMode::kNone) return graph;
  const auto as_given = [](int32_t size) { return size; };
  int32_t size = 0;
  if (step.graph_allow == GraphMode::kFull) {
    const FullMode mode = full_mode(config, step, kernels, segments);
    if (mode == FullMode::kUniform) {
      // The grid begins at the first live request, so pads in front of it come on top.
      const int32_t in_front = segments.empty() ? 0 : segments.front().range.begin;
      const int32_t room = in_front > 0 ? room_for_requests(config) - in_front : INT32_MAX;
      size = smallest(config.graph.full, rows, [&](int32_t given) {
        const int32_t rounded = uniform_size(config, given);
        return in_front == 0 || rounded / width_of(config) <= room ? rounded : 0;
      });
    } else if (mode == FullMode::kAlways) {
      size = smallest(config.graph.full, rows, as_given);
    }
    if (size > 0) graph.kind = GraphKind::kFull;
    if (size > 0 && mode == FullMode::kUniform) {
      int32_t live = 0;
      for (const RoutedSegment& segment : segments) live += segment.facts.num_live;
      graph.width = width_of(config);
      graph.requests = size / graph.width;
      graph.pad_requests = graph.requests - live;
    }
  }
  if (size == 0) {
    size = smallest(config.graph.piecewise, rows, as_given);
    if (size > 0) graph.kind = GraphKind::kPiecewise;
  }
  if (size > 0) {
    graph.rows = size;
    graph.pad_rows = size - static_cast<int32_t>(lanes.rows);
  }
  return graph;
}

int32_t max_graph_requests(const Config& config) {
  int32_t most = 0;
  for (const int32_t rows : config.graph.full) {
    most = std::max(most, uniform_size(config, rows) / width_of(config));
  }
  return most;
}

int32_t max_graph_rows(const Config& config) {
  int32_t most = 0;
  for (const int32_t rows : config.graph.full) {
    most = std::max({most, rows, uniform_size(config, rows)});
  }
  for (const int32_t rows : config.graph.piecewise) most = std::max(most, rows);
  return most;
}

}  // namespace attnplan
