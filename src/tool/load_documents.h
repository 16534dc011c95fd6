// All documents of a file at once, for commands that look at them more than once.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "json/batch_document.h"

namespace attnplan::tool {

// nullopt where the file cannot be read or a document is bad; *problem says why.
std::optional<std::vector<json::BatchDocument>> load_documents(const std::string& file,
                                                               const std::string& default_backend,
                                                               std::string* problem);

}  // namespace attnplan::tool
