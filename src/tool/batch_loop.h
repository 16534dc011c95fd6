// What `plan` and `run` share: every document of every file, in order, whatever happens to one.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "json/batch_document.h"
#include "json/session.h"
#include "tool/exit_status.h"

namespace attnplan::tool {

struct BatchLoop {
  std::vector<std::string> files;  // "-" is standard input
  std::string default_backend;     // of documents without "backend"; empty: none
  // Answers one document into the output; true where nothing is wrong with it.
  std::function<bool(const json::BatchDocument&, const json::Outcome&, std::string& out)> answer;

  ExitStatus run() const;
};

// What an outcome makes of the exit status.
ExitStatus status_of(const json::Outcome& outcome);

}  // namespace attnplan::tool
