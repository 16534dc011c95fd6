// Every document of every file, as text: for commands that read documents in ways of their own.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "json/document_error.h"
#include "tool/batch_loop.h"
#include "tool/document_reader.h"
#include "tool/output.h"

namespace attnplan::tool {

// Hands the documents out in order. A file that cannot be read is reported, after what `output`
// holds, and does not stop the others. False from `visit` ends the walk. Returns kExitPlanned, or
// kExitUnusable where some file could not be read.
ExitStatus each_document(const std::vector<std::string>& files, Output& output,
                         const std::function<bool(const Document&, const json::Source&)>& visit);

}  // namespace attnplan::tool
