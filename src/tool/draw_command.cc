#include "tool/draw_command.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "tool/batch_loop.h"
#include "tool/draw_batch.h"
#include "tool/draw_brackets.h"
#include "tool/draw_cache.h"
#include "tool/draw_model.h"
#include "tool/draw_notes.h"
#include "tool/draw_style.h"
#include "tool/each_document.h"
#include "tool/svg.h"

namespace attnplan::tool {
namespace {

// False, with errno set, where the file cannot be written.
bool write_file(const std::string& path, const std::string& text) {
  const auto close = [](std::FILE* file) { std::fclose(file); };
  std::unique_ptr<std::FILE, decltype(close)> file(std::fopen(path.c_str(), "w"), close);
  if (!file) return false;
  const bool written = std::fwrite(text.data(), 1, text.size(), file.get()) == text.size();
  return std::fclose(file.release()) == 0 && written;
}

ExitStatus fail(const std::string& problem) {
  fmt::print(stderr, "attnplan: {}\n", problem);
  return kExitUnusable;
}

}  // namespace

std::string draw_svg(const json::BatchDocument& batch, const json::Outcome& outcome) {
  const Picture picture = make_picture(batch, outcome);
  Svg svg;
  double y = draw_heading(picture, svg, 0);
  y = draw_error(picture, svg, y);
  if (picture.has_batch) y = draw_batch(picture, svg, y);
  y = draw_segment_table(picture, svg, y);
  y = draw_notes(picture, svg, y);
  if (picture.view) y = draw_cache(*picture.cache, *picture.view, batch.config().arch, svg, y);
  return svg.document(kDrawingWidth, y + kMargin, kBackground, kPatterns, picture.title,
                      picture.error ? picture.error->code : picture.subtitle);
}

ExitStatus draw_batch_document(const DrawOptions& options) {
  Output output;
  json::Session session;
  int64_t seen = 0;
  ExitStatus drawn = kExitPlanned;
  std::string svg;
  const auto visit = [&](const Document& document, const json::Source& source) {
    if (seen++ < options.index) return true;
    json::BatchDocument batch;
    const auto problem = json::parse_batch(document.text, source, options.backend, batch);
    const json::Outcome outcome = problem ? json::outcome_of(*problem) : session.plan(batch);
    svg = draw_svg(batch, outcome);
    drawn = status_of(outcome);
    return false;
  };
  const ExitStatus read = each_document({options.file}, output, visit);
  if (read != kExitPlanned) return read;
  if (svg.empty()) {
    return fail(fmt::format("{} has no document {}, it holds {}",
                            options.file == "-" ? "stdin" : options.file, options.index, seen));
  }
  if (options.output != "-") {
    if (write_file(options.output, svg)) return drawn;
    return fail(fmt::format("cannot write {}: {}", options.output, std::strerror(errno)));
  }
  output.text() = std::move(svg);
  return output.finish() ? drawn : kExitUnusable;
}

}  // namespace attnplan::tool
