// attnplan kv
#pragma once

#include <string>
#include <vector>

#include "tool/exit_status.h"

namespace attnplan::tool {

struct KvOptions {
  std::vector<std::string> files;  // "-" is standard input
  std::string backend;             // of documents without "backend"; empty: unified
  bool explain = false;            // sentences instead of JSON
};

// The resolved view of every document's cache. What is wrong with the batch of a document does not
// matter here, so long as the document can be read.
ExitStatus show_kv_views(const KvOptions& options);

}  // namespace attnplan::tool
