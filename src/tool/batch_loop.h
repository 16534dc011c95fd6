// What `plan` and `run` share: every document of every file, in order, whatever happens to one.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "json/batch_document.h"
#include "json/session.h"
#include "tool/output.h"

namespace attnplan::tool {

// Exit status of the tool; the worst one of all documents counts.
enum ExitStatus {
  kExitPlanned = 0,
  kExitRefused = 1,   // some batch gave an error
  kExitUnusable = 2,  // some document was bad, a file could not be read, or the arguments are wrong
};

struct BatchLoop {
  std::vector<std::string> files;  // "-" is standard input
  std::string default_backend;     // of documents without "backend"; empty: none
  // Answers one document into the output; true where nothing is wrong with it.
  std::function<bool(const json::BatchDocument&, const json::Outcome&, std::string& out)> answer;

  ExitStatus run();

 private:
  void run_file(const std::string& file);
  void report(const std::string& file, int error);

  json::Session session_;
  Output output_;
  ExitStatus status_ = kExitPlanned;
};

}  // namespace attnplan::tool
