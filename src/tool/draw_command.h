// attnplan draw
#pragma once

#include <cstdint>
#include <string>

#include "json/batch_document.h"
#include "json/session.h"
#include "tool/exit_status.h"

namespace attnplan::tool {

struct DrawOptions {
  std::string file;  // "-" is standard input
  std::string backend;
  std::string output = "-";  // "-" is standard output
  int64_t index = 0;         // of the document in the file
};

// The batch, its plan and its cache as one SVG document. A refused batch draws its error.
std::string draw_svg(const json::BatchDocument& batch, const json::Outcome& outcome);

ExitStatus draw_batch_document(const DrawOptions& options);

}  // namespace attnplan::tool
