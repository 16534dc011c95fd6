#include "planner/explain_graph.h"

#include <fmt/format.h>

#include <algorithm>

#include "planner/graph.h"
#include "planner/printable.h"
#include "planner/state.h"

namespace attnplan {
namespace {

class GraphExplanation {
 public:
  GraphExplanation(const Planner& planner, const Step& step, const attnplan_plan_header& header,
                   std::span<const attnplan_segment> segments)
      : planner_(planner), step_(step), header_(header), segments_(segments) {}

  std::string text() const {
    std::string text = fmt::format("graph: {}\n", graph());
    if (is(GraphKind::kFull)) return text;
    if (needed_rows() == 0)
      return text + note("no graph: no rows, and num_tokens_padded names none");
    if (step_.graph_allow == GraphMode::kNone) return text + note("no graph: the step allows none");
    text += note("no full graph: " + why_not_full());
    if (is(GraphKind::kNone)) text += note("no piecewise graph: " + why_not_piecewise());
    return text;
  }

 private:
  static std::string note(const std::string& text) { return fmt::format("       {}\n", text); }

  const GraphConfig& sizes() const { return planner_.config().graph; }
  bool is(GraphKind kind) const { return header_.graph_kind == static_cast<int32_t>(kind); }
  int32_t width() const {
    return sizes().width > 0 ? sizes().width : planner_.config().decode_threshold;
  }
  int64_t needed_rows() const {
    return std::max<int64_t>(header_.num_rows, step_.num_tokens_padded);
  }
  const Kernel& kernel(int32_t k) const { return planner_.state().kernels[static_cast<size_t>(k)]; }
  bool captured_always(const attnplan_segment& segment) const {
    return kernel(segment.kernel).capture == Capture::kAlways;
  }

  // "full, 128 rows, 32 requests of width 4; padding: 8 rows, 2 requests".
  std::string graph() const {
    if (is(GraphKind::kNone)) return "none";
    std::string text = is(GraphKind::kFull) ? "full" : "piecewise";
    text += fmt::format(", {}", plural(header_.graph_rows, "row"));
    if (header_.graph_width > 0) {
      text += fmt::format(", {} of width {}", plural(header_.graph_requests, "request"),
                          header_.graph_width);
    }
    if (header_.graph_pad_rows == 0 && header_.graph_pad_requests == 0)
      return text + "; no padding";
    text += fmt::format("; padding: {}", plural(header_.graph_pad_rows, "row"));
    if (header_.graph_width > 0) {
      text += fmt::format(", {}", plural(header_.graph_pad_requests, "request"));
      if (header_.graph_pad_requests > 0 && pads_are_dummies()) {
        text += fmt::format(" of {} and 1 token each", plural(header_.graph_width, "row"));
      }
    }
    return text;
  }

  // Of kernels that would wait for rows that are missing.
  bool pads_are_dummies() const {
    const auto waits = [](const Kernel& k) { return k.pads == Pads::kFullWidth; };
    if (!segments_.empty()) return waits(kernel(segments_.front().kernel));
    const auto& kernels = planner_.state().kernels;
    return std::any_of(kernels.begin(), kernels.end(),
                       [&](const Kernel& k) { return k.route == Route::kDecode && waits(k); });
  }

  std::string why_not_full() const {
    if (sizes().full.empty()) return "there is no full size";
    if (step_.graph_allow == GraphMode::kPiecewise) return "the step allows piecewise at most";
    if (segments_.empty()) return why_not_empty();
    if (std::all_of(segments_.begin(), segments_.end(),
                    [this](const attnplan_segment& s) { return captured_always(s); })) {
      return too_small(sizes().full);
    }
    const attnplan_segment& first = segments_.front();
    const bool alone = segments_.size() == 1 &&
                       first.route == static_cast<int32_t>(Route::kDecode) &&
                       kernel(first.kernel).capture == Capture::kUniform;
    if (!alone) return why_not_together();
    if (first.width == width()) return uniform_too_small();
    if (first.width == 0)
      return fmt::format("the batch has no one width, the graphs have {}", width());
    return fmt::format("the batch has width {}, the graphs have {}", first.width, width());
  }

  // The kernel whose capture is in the way; one that is never captured says most.
  std::string why_not_together() const {
    const auto never = std::find_if(
        segments_.begin(), segments_.end(),
        [this](const attnplan_segment& s) { return kernel(s.kernel).capture == Capture::kNever; });
    if (never != segments_.end()) return name_of(*never) + " is never captured whole";
    const auto uniform =
        std::find_if(segments_.begin(), segments_.end(),
                     [this](const attnplan_segment& s) { return !captured_always(s); });
    return fmt::format("{} is captured alone, the plan has {}", name_of(*uniform),
                       plural(static_cast<int64_t>(segments_.size()), "segment"));
  }

  // An empty batch follows what the profile captures.
  std::string why_not_empty() const {
    const auto& kernels = planner_.state().kernels;
    const bool uniform = std::any_of(kernels.begin(), kernels.end(), [](const Kernel& k) {
      return k.route == Route::kDecode && k.capture == Capture::kUniform;
    });
    const bool always = std::any_of(kernels.begin(), kernels.end(),
                                    [](const Kernel& k) { return k.capture == Capture::kAlways; });
    if (uniform) return uniform_too_small();
    return always ? too_small(sizes().full) : "the profile has no kernel that is captured whole";
  }

  std::string uniform_too_small() const {
    const int64_t largest = int64_t{max_graph_requests(planner_.config())} * width();
    if (largest == 0) return fmt::format("no size of width {} is within the limits", width());
    if (largest >= needed_rows() && !segments_.empty()) {
      return fmt::format("behind {} in front, no size of width {} for {} is within the limits",
                         plural(segments_.front().req_begin, "pad"), width(),
                         plural(needed_rows(), "row"));
    }
    return fmt::format("the largest of width {} has {}, {} needed", width(), plural(largest, "row"),
                       needed_rows());
  }

  std::string why_not_piecewise() const {
    return sizes().piecewise.empty() ? "there is no piecewise size" : too_small(sizes().piecewise);
  }

  std::string too_small(const std::pmr::vector<int32_t>& rows) const {
    return fmt::format("the largest has {}, {} needed",
                       plural(*std::max_element(rows.begin(), rows.end()), "row"), needed_rows());
  }

  std::string name_of(const attnplan_segment& segment) const {
    return printable(planner_.contract(segment.kernel).name);
  }

  const Planner& planner_;
  const Step& step_;
  const attnplan_plan_header& header_;
  std::span<const attnplan_segment> segments_;
};

}  // namespace

std::string explain_graph(const Planner& planner, const Step& step,
                          const attnplan_plan_header& header,
                          std::span<const attnplan_segment> segments) {
  if ((header.flags & ATTNPLAN_PLAN_HAS_GRAPH) == 0) return {};
  return GraphExplanation(planner, step, header, segments).text();
}

}  // namespace attnplan
