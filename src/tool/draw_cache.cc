#include "tool/draw_cache.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "tool/draw_style.h"
#include "tool/kv_text.h"

namespace attnplan::tool {
namespace {

constexpr int64_t kMostBlocks = 4;  // drawn; of more, the first ones and the last
constexpr int64_t kMostCells = 8;   // pages of a block drawn one by one
constexpr double kGap = 14;         // between blocks
constexpr double kEllipsisGap = 64;
constexpr double kStorageHeight = 34;
constexpr double kViewHeight = 22;

// Pixels of pages that lie in memory, counted from the start of the storage.
class PageAxis {
 public:
  PageAxis(int64_t num_blocks, int64_t stride) : num_blocks_(num_blocks), stride_(stride) {
    const int64_t head = num_blocks <= kMostBlocks ? num_blocks : kMostBlocks - 1;
    for (int64_t block = 0; block < head; ++block) blocks_.push_back(block);
    if (head < num_blocks) blocks_.push_back(num_blocks - 1);
    const auto count = static_cast<double>(blocks_.size());
    width_ = ((kRight - kPlotLeft) - kEllipsisGap - (count - 1) * kGap) / std::max(count, 2.0);
  }

  const std::vector<int64_t>& blocks() const { return blocks_; }
  bool cut() const { return static_cast<int64_t>(blocks_.size()) < num_blocks_; }
  double block_left(size_t drawn) const {
    const bool behind = cut() && drawn + 1 == blocks_.size();
    return kPlotLeft + static_cast<double>(drawn) * (width_ + kGap) + (behind ? kEllipsisGap : 0);
  }
  double block_width() const { return width_; }
  double page_width() const { return width_ / static_cast<double>(stride_); }

  // Left edge of a page; pages of blocks that are not drawn stand in the gap.
  double left(int64_t page) const {
    if (page < 0) return kPlotLeft;
    const int64_t block = page / stride_;
    for (size_t i = 0; i < blocks_.size(); ++i) {
      if (blocks_[i] != block) continue;
      return block_left(i) + static_cast<double>(page % stride_) * page_width();
    }
    if (block >= num_blocks_) return block_left(blocks_.size() - 1) + width_;
    return block_left(blocks_.size() - 2) + width_ + kEllipsisGap / 2;
  }
  double right(int64_t page) const { return left(page) + (drawn(page) ? page_width() : 0); }

 private:
  bool drawn(int64_t page) const {
    return std::find(blocks_.begin(), blocks_.end(), page / stride_) != blocks_.end();
  }

  int64_t num_blocks_;
  int64_t stride_;
  std::vector<int64_t> blocks_;
  double width_;
};

std::string plural(int64_t pages) { return fmt::format("{} page{}", pages, pages == 1 ? "" : "s"); }

class CacheDrawing {
 public:
  CacheDrawing(const attnplan_kv_cache& cache, const attnplan_kv_view& view, Svg& svg)
      : cache_(cache), view_(view), svg_(svg), axis_(cache.num_blocks, view.block_page_stride) {}

  double draw(double y) {
    y += 32;
    svg_.text(kMargin, y, "K/V cache", kHeadingSize, kInk, Anchor::kStart, true);
    y += 22;
    for (size_t i = 0; i < axis_.blocks().size(); ++i) {
      svg_.text(axis_.block_left(i) + axis_.block_width() / 2, y,
                fmt::format("block {}", axis_.blocks()[i]), kSmallSize + 1, kQuiet,
                Anchor::kMiddle);
    }
    y += 6;
    if (view_.packed != 0) return draw_packed(y);
    if (cache_.layout == ATTNPLAN_LAYOUT_MLA) {
      return draw_storage(y, "K and V", kKPaint, view_.k_pages);
    }
    y = draw_storage(y, "K", kKPaint, view_.k_pages);
    return draw_storage(y + 6, "V", kVPaint, view_.v_pages);
  }

 private:
  // One storage with K and V in turn; below it the two views of it.
  double draw_packed(double y) {
    const int64_t half = view_.pages_per_block;
    label(y + 15, "storage", "as it lies in memory");
    for (size_t i = 0; i < axis_.blocks().size(); ++i) {
      const int64_t first = axis_.blocks()[i] * view_.block_page_stride;
      cells(y, first, half, first, "K pages", kKPaint);
      cells(y, first + half, half, first, "V pages", kVPaint);
      svg_.rect(axis_.block_left(i), y, axis_.block_width(), kStorageHeight, {}, kInk);
    }
    ellipsis(y + kStorageHeight / 2);
    y += kStorageHeight + 12;
    y = draw_view(y, "K view", kKPaint, 0, view_.k_pages);
    return draw_view(y + 4, "V view", kVPaint, half, view_.v_pages);
  }

  // A view of `pages` pages that begins at page `start` of the storage.
  double draw_view(double y, std::string_view name, std::string_view paint, int64_t start,
                   int64_t pages) {
    label(y + 10, name, plural(pages));
    const int64_t kept = std::min(pages, view_.pages);
    const double left = axis_.left(start);
    const double kept_right = axis_.right(start + kept - 1);
    svg_.rect(left, y, kept_right - left, kViewHeight, {paint, 0.45}, paint, 3);
    svg_.text(left + 6, y + 15,
              fmt::format("ids 0 to {}{}", kept - 1,
                          start > 0 ? fmt::format(", {} further on", plural(start)) : ""),
              kSmallSize + 1, kInk);
    if (pages > kept) dropped(y, kept_right, axis_.right(start + pages - 1), pages - kept);
    return y + kViewHeight;
  }

  // A storage of its own, or what a caller says there is of it.
  double draw_storage(double y, std::string_view name, std::string_view paint, int64_t pages) {
    label(y + 15, name, plural(pages));
    for (const int64_t block : axis_.blocks()) {
      const int64_t first = block * view_.block_page_stride;
      cells(y, first, view_.pages_per_block, first, "page ids", paint);
    }
    ellipsis(y + kStorageHeight / 2);
    if (pages > view_.pages) {
      dropped(y + kStorageHeight + 2, axis_.left(view_.pages), axis_.right(pages - 1),
              pages - view_.pages);
      y += kViewHeight;
    }
    return y + kStorageHeight;
  }

  void dropped(double y, double left, double right, int64_t count) {
    const double end = std::max(right, left + 10);
    svg_.rect(left, y, end - left, kViewHeight, {kDroppedPaint}, kAlarm, 3);
    const std::string text = fmt::format("{} dropped", count);
    const double width = text_width(text, kSmallSize + 1) + 8;
    const double middle = std::min((left + end) / 2, kRight - width / 2);
    svg_.rect(middle - width / 2, y + 4, width, 14, {"#ffffff", 0.9}, {}, 3);
    svg_.text(middle, y + 15, text, kSmallSize + 1, kAlarm, Anchor::kMiddle, true);
  }

  // `count` pages from page `first` of the storage, whose ids begin at `id`: a title above, the ids
  // below, each in its page where that is wide enough.
  void cells(double y, int64_t first, int64_t count, int64_t id, std::string_view title,
             std::string_view paint) {
    const double page = axis_.page_width();
    const double left = axis_.left(first);
    const double width = page * static_cast<double>(count);
    svg_.rect(left, y, width, kStorageHeight, {paint}, kBackground);
    svg_.text(left + width / 2, y + 13, title, kSmallSize + 1, kInk, Anchor::kMiddle, true);
    const std::string last = fmt::format("{}", id + count - 1);
    const bool each = count <= kMostCells && text_width(last, kSmallSize) < page - 4;
    for (int64_t i = 0; i < count && count <= kMostCells; ++i) {
      const double x = left + static_cast<double>(i) * page;
      if (i > 0) svg_.line(x, y + (each ? 18 : 30), x, y + kStorageHeight, kBackground);
      if (!each) continue;
      svg_.text(x + page / 2, y + 29, fmt::format("{}", id + i), kSmallSize, kInk, Anchor::kMiddle);
    }
    const std::string ids = count == 1 ? last : fmt::format("{} ... {}", id, last);
    if (each || text_width(ids, kSmallSize) > width) return;
    svg_.text(left + width / 2, y + 26, ids, kSmallSize, kInk, Anchor::kMiddle);
  }

  void ellipsis(double y) {
    if (!axis_.cut()) return;
    const double x = axis_.block_left(axis_.blocks().size() - 2) + axis_.block_width() +
                     (kEllipsisGap + kGap) / 2;
    for (const double offset : {-9.0, 0.0, 9.0}) {
      svg_.rect(x + offset - 2, y - 2, 4, 4, {kQuiet}, {}, 2);
    }
  }

  void label(double y, std::string_view title, std::string_view unit) {
    svg_.text(kMargin - 8, y, title, kSmallSize, kInk, Anchor::kStart, true);
    svg_.text(kMargin - 8, y + 12, fit_text(unit, kSmallSize, kPlotLeft - kMargin + 4), kSmallSize,
              kQuiet);
  }

  const attnplan_kv_cache& cache_;
  const attnplan_kv_view& view_;
  Svg& svg_;
  PageAxis axis_;
};

using Figures = std::vector<std::pair<std::string_view, std::string>>;

Figures figures_of(const attnplan_kv_view& view) {
  const auto number = [](int64_t value) { return fmt::format("{}", value); };
  return {{"k_pages", number(view.k_pages)},
          {"v_pages", number(view.v_pages)},
          {"pages", number(view.pages)},
          {"dropped_k_pages", number(view.dropped_k_pages)},
          {"max_page_id", number(view.max_page_id)},
          {"block_page_stride", number(view.block_page_stride)},
          {"pages_per_block", number(view.pages_per_block)},
          {"packed", view.packed != 0 ? "true" : "false"},
          {"storage_dtype", attnplan_dtype_name(view.storage_dtype)},
          {"view_dtype", attnplan_dtype_name(view.view_dtype)},
          {"label", attnplan_dtype_name(view.label)},
          {"last_offset", number(view.last_offset)}};
}

double draw_figures(const attnplan_kv_view& view, Svg& svg, double y) {
  constexpr size_t kColumns = 4;
  const Figures figures = figures_of(view);
  const size_t lines = (figures.size() + kColumns - 1) / kColumns;
  for (size_t i = 0; i < figures.size(); ++i) {
    const double x = kMargin + 266.0 * static_cast<double>(i % kColumns);
    const double line = y + kLineHeight * static_cast<double>(i / kColumns + 1);
    svg.text(x, line, figures[i].first, kTextSize, kQuiet);
    svg.text(x + 128, line, figures[i].second, kTextSize, kInk, Anchor::kStart, true);
  }
  return y + kLineHeight * static_cast<double>(lines);
}

}  // namespace

double draw_cache(const attnplan_kv_cache& cache, const attnplan_kv_view& view, const char* arch,
                  Svg& svg, double y) {
  y = CacheDrawing(cache, view, svg).draw(y);
  y = draw_figures(view, svg, y + 10) + 8;
  for (const std::string& sentence : kv_sentences(cache, view, arch)) {
    for (const std::string& line : wrap_text(sentence, kTextSize, kRight - kMargin)) {
      y += kLineHeight;
      svg.text(kMargin, y, line, kTextSize, kInk);
    }
  }
  return y;
}

}  // namespace attnplan::tool
