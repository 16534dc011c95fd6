// Writes an SVG document: the few shapes that drawings need, and text that fits where it stands.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace attnplan::tool {

// `text` as XML character data: markup escaped; bytes that are no UTF-8 and characters that XML 1.0
// does not have become U+FFFD.
std::string xml_text(std::string_view text);

// Width in pixels of `text` in the drawing's font: an estimate that is rarely too small.
double text_width(std::string_view text, double size);

// `text`, cut with an ellipsis where it is wider than `width`.
std::string fit_text(std::string_view text, double size, double width);

// `text` broken at blanks into lines of at most `width`.
std::vector<std::string> wrap_text(std::string_view text, double size, double width);

enum class Anchor { kStart, kMiddle, kEnd };

// How a shape is filled: any SVG paint, and how much of what lies below it hides.
struct Fill {
  std::string_view paint;
  double opacity = 1;
};

class Svg {
 public:
  void rect(double x, double y, double width, double height, Fill fill,
            std::string_view stroke = {}, double radius = 0);
  void line(double x1, double y1, double x2, double y2, std::string_view stroke,
            double stroke_width = 1, std::string_view dashes = {});
  // Points as SVG writes them: "0,0 4,8 8,0".
  void polygon(std::string_view points, Fill fill);
  void text(double x, double y, std::string_view content, double size, std::string_view color,
            Anchor anchor = Anchor::kStart, bool bold = false);

  void append(const Svg& other) { body_ += other.body_; }

  // The document of what was drawn so far, on a background of its own. `definitions` is markup for
  // <defs>; `title` and `description` are for those who cannot see it.
  std::string document(double width, double height, std::string_view background,
                       std::string_view definitions, std::string_view title,
                       std::string_view description) const;

 private:
  std::string body_;
};

}  // namespace attnplan::tool
