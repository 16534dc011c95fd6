// Where requests stand in a drawing, and how lengths become heights.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tool/draw_model.h"

namespace attnplan::tool {

// Requests side by side, graph pads behind them.
class Columns {
 public:
  explicit Columns(const Picture& picture);

  double left(int64_t position) const;   // of a request, or of a graph pad behind the last request
  double slot() const { return slot_; }  // pixels a request takes
  double right() const { return left(count_ + pads_); }
  double bar_width() const;  // of the bar in a slot
  // Too narrow for bars of their own: several requests share one.
  bool aggregated() const { return slot_ < 3; }
  int64_t count() const { return count_; }
  int64_t pads() const { return pads_; }  // graph pads that stand as columns

 private:
  int64_t count_;
  int64_t pads_ = 0;
  double slot_;
};

struct Tick {
  double value;
  std::string text;
};

// From 0 to the longest; logarithmic where lengths differ widely, so that a decode's rows are seen
// next to a prompt's.
class LengthScale {
 public:
  LengthScale(const std::vector<int64_t>& lengths, double height);

  double height(double length) const;  // pixels
  bool logarithmic() const { return logarithmic_; }
  std::vector<Tick> ticks() const;

 private:
  double longest_ = 1;
  double pixels_;
  bool logarithmic_ = false;
};

// "131k": short enough for a bar.
std::string short_number(int64_t number);

}  // namespace attnplan::tool
