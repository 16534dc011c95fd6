#include "tool/svg.h"

#include <fmt/format.h>

#include <cstdint>

namespace attnplan::tool {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";
constexpr std::string_view kEllipsis = "\xe2\x80\xa6";

struct Character {
  uint32_t code = 0;
  size_t bytes = 1;
  bool valid = false;
};

// The character that starts at `at`; one invalid byte where none does.
Character character_at(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t lead = byte(at);
  if (lead < 0x80) return {lead, 1, true};
  const size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || at + bytes > text.size()) return {};
  uint32_t code = lead & (0x7fu >> bytes);
  for (size_t i = 1; i < bytes; ++i) {
    if ((byte(at + i) & 0xc0) != 0x80) return {};
    code = code << 6 | (byte(at + i) & 0x3fu);
  }
  constexpr uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code < kSmallest[bytes] || code > 0x10ffff) return {};
  return {code, bytes, true};
}

bool is_xml(uint32_t code) {
  if (code < 0x20) return code == '\t' || code == '\n' || code == '\r';
  return code < 0xd800 || (code >= 0xe000 && code != 0xfffe && code != 0xffff);
}

// Of one em, roughly those of common sans-serif faces.
double width_of(uint32_t code) {
  if (code >= 0x1100) return 1.0;
  if (code >= 0x80) return 0.62;
  const char c = static_cast<char>(code);
  constexpr std::string_view kNarrow = "iljtfrI.,:;'|!()[] ";
  constexpr std::string_view kWide = "mwMW@%";
  if (kNarrow.find(c) != std::string_view::npos) return 0.36;
  if (kWide.find(c) != std::string_view::npos) return 0.92;
  return c >= 'A' && c <= 'Z' ? 0.7 : 0.6;
}

const char* name_of(Anchor anchor) {
  return anchor == Anchor::kStart ? "start" : anchor == Anchor::kMiddle ? "middle" : "end";
}

}  // namespace

std::string xml_text(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const Character c = character_at(text, at);
    if (!c.valid || !is_xml(c.code)) {
      out += kReplacement;
    } else if (c.code == '&') {
      out += "&amp;";
    } else if (c.code == '<') {
      out += "&lt;";
    } else if (c.code == '>') {
      out += "&gt;";
    } else if (c.code == '"') {
      out += "&quot;";
    } else {
      out += text.substr(at, c.bytes);
    }
    at += c.bytes;
  }
  return out;
}

double text_width(std::string_view text, double size) {
  double width = 0;
  for (size_t at = 0; at < text.size();) {
    const Character c = character_at(text, at);
    width += c.valid ? width_of(c.code) : 1.0;
    at += c.bytes;
  }
  return width * size;
}

std::string fit_text(std::string_view text, double size, double width) {
  if (text_width(text, size) <= width) return std::string{text};
  double used = size;  // of the ellipsis
  size_t at = 0;
  while (at < text.size()) {
    const Character c = character_at(text, at);
    used += (c.valid ? width_of(c.code) : 1.0) * size;
    if (used > width) break;
    at += c.bytes;
  }
  return std::string{text.substr(0, at)}.append(kEllipsis);
}

std::vector<std::string> wrap_text(std::string_view text, double size, double width) {
  std::vector<std::string> lines;
  std::string line;
  while (!text.empty()) {
    const size_t blank = text.find(' ');
    const std::string_view word = text.substr(0, blank);
    text.remove_prefix(blank == std::string_view::npos ? text.size() : blank + 1);
    const std::string longer = line.empty() ? std::string{word} : fmt::format("{} {}", line, word);
    if (!line.empty() && text_width(longer, size) > width) {
      lines.push_back(fit_text(line, size, width));
      line = word;
    } else {
      line = longer;
    }
  }
  if (!line.empty()) lines.push_back(fit_text(line, size, width));
  return lines;
}

void Svg::rect(double x, double y, double width, double height, Fill fill, std::string_view stroke,
               double radius) {
  body_ += fmt::format("<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\"", x, y,
                       width, height);
  body_ += fmt::format(" fill=\"{}\"", fill.paint.empty() ? "none" : fill.paint);
  if (fill.opacity < 1) body_ += fmt::format(" fill-opacity=\"{:.2f}\"", fill.opacity);
  if (!stroke.empty()) body_ += fmt::format(" stroke=\"{}\"", stroke);
  if (radius > 0) body_ += fmt::format(" rx=\"{:.1f}\"", radius);
  body_ += "/>\n";
}

void Svg::line(double x1, double y1, double x2, double y2, std::string_view stroke,
               double stroke_width, std::string_view dashes) {
  body_ += fmt::format(
      "<line x1=\"{:.2f}\" y1=\"{:.2f}\" x2=\"{:.2f}\" y2=\"{:.2f}\" stroke=\"{}\""
      " stroke-width=\"{:.2f}\"",
      x1, y1, x2, y2, stroke, stroke_width);
  if (!dashes.empty()) body_ += fmt::format(" stroke-dasharray=\"{}\"", dashes);
  body_ += "/>\n";
}

void Svg::polygon(std::string_view points, Fill fill) {
  body_ += fmt::format("<polygon points=\"{}\" fill=\"{}\" fill-opacity=\"{:.2f}\"/>\n", points,
                       fill.paint, fill.opacity);
}

void Svg::text(double x, double y, std::string_view content, double size, std::string_view color,
               Anchor anchor, bool bold) {
  body_ += fmt::format("<text x=\"{:.2f}\" y=\"{:.2f}\" font-size=\"{}\" fill=\"{}\"", x, y, size,
                       color);
  if (anchor != Anchor::kStart) body_ += fmt::format(" text-anchor=\"{}\"", name_of(anchor));
  if (bold) body_ += " font-weight=\"bold\"";
  body_ += fmt::format(">{}</text>\n", xml_text(content));
}

std::string Svg::document(double width, double height, std::string_view background,
                          std::string_view definitions, std::string_view title,
                          std::string_view description) const {
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\""
      " viewBox=\"0 0 {0:.0f} {1:.0f}\" role=\"img\""
      " font-family=\"Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif\">\n",
      width, height);
  out +=
      fmt::format("<title>{}</title>\n<desc>{}</desc>\n", xml_text(title), xml_text(description));
  out += fmt::format("<defs>{}</defs>\n", definitions);
  out += fmt::format("<rect width=\"{:.0f}\" height=\"{:.0f}\" rx=\"8\" fill=\"{}\"/>\n", width,
                     height, background);
  return out + body_ + "</svg>\n";
}

}  // namespace attnplan::tool
