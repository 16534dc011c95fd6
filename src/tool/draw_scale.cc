#include "tool/draw_scale.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tool/draw_style.h"

namespace attnplan::tool {
namespace {

constexpr double kWidestSlot = 150;
constexpr double kWidestBar = 64;
constexpr double kLinearUpTo = 12;  // ratio of the longest length to the shortest

// 1, 2 or 5 times a power of ten, at least `step`.
double round_step(double step) {
  const double power = std::pow(10.0, std::floor(std::log10(step)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= step * 0.999) return factor * power;
  }
  return 10 * power;
}

}  // namespace

Columns::Columns(const Picture& picture) : count_(static_cast<int64_t>(picture.requests.size())) {
  if (picture.graph && picture.graph->requests >= 0) pads_ = picture.graph->pad_requests;
  const auto columns = static_cast<double>(std::max<int64_t>(1, count_ + pads_));
  slot_ = std::min(kWidestSlot, kPlotWidth / columns);
}

double Columns::left(int64_t position) const {
  return kPlotLeft + slot_ * static_cast<double>(position);
}

double Columns::bar_width() const { return std::min(kWidestBar, slot_ * 0.8); }

LengthScale::LengthScale(const std::vector<int64_t>& lengths, double height) : pixels_(height) {
  double shortest = 0;
  for (const int64_t length : lengths) {
    if (length <= 0) continue;
    const auto value = static_cast<double>(length);
    shortest = shortest == 0 ? value : std::min(shortest, value);
    longest_ = std::max(longest_, value);
  }
  logarithmic_ = shortest > 0 && longest_ / shortest > kLinearUpTo;
}

// One pixel per factor from 1/2 on: a length of 1 has a height, too.
double LengthScale::height(double length) const {
  if (length <= 0) return 0;
  if (!logarithmic_) return pixels_ * length / longest_;
  return pixels_ * (std::log2(std::max(1.0, length)) + 1) / (std::log2(longest_) + 1);
}

std::vector<Tick> LengthScale::ticks() const {
  std::vector<Tick> ticks;
  if (logarithmic_) {
    for (double value = 1; value <= longest_; value *= 10) {
      ticks.push_back({value, short_number(static_cast<int64_t>(value))});
    }
    return ticks;
  }
  const double step = std::max(1.0, round_step(longest_ / 4));
  for (double value = step; value <= longest_; value += step) {
    ticks.push_back({value, short_number(static_cast<int64_t>(value))});
  }
  return ticks;
}

std::string short_number(int64_t number) {
  if (number < 10000) return fmt::format("{}", number);
  if (number < 1000000) {
    const double thousands = static_cast<double>(number) / 1e3;
    return number % 1000 != 0 && number < 100000 ? fmt::format("{:.1f}k", thousands)
                                                 : fmt::format("{:.0f}k", thousands);
  }
  return fmt::format("{:.1f}M", static_cast<double>(number) / 1e6);
}

}  // namespace attnplan::tool
