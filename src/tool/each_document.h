// Every document of every file, as text: the one loop that all commands read with.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "json/document_error.h"
#include "tool/document_reader.h"
#include "tool/exit_status.h"
#include "tool/output.h"

namespace attnplan::tool {

// False ends the walk.
using VisitDocument = std::function<bool(const Document&, const json::Source&)>;

// Hands out the documents of one file ("-": standard input) in order; `before_read` runs before
// each call that may wait for input. Returns what is wrong with the file as a whole, which cannot
// be read or holds no document; empty: nothing.
std::string read_documents(const std::string& file, const std::function<void()>& before_read,
                           const VisitDocument& visit);

// The same for several files, while `output` is open. What is wrong with a file is reported, after
// what `output` holds, and does not stop the others; the output is flushed at the end. Returns
// kExitUnusable where some file was unusable or the output could not be written, else
// kExitPlanned.
ExitStatus each_document(const std::vector<std::string>& files, Output& output,
                         const VisitDocument& visit);

}  // namespace attnplan::tool
