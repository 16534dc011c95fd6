// Runs the attnplan command.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <vector>

namespace attnplan::test {

struct ToolResult {
  int status = -1;  // exit status; 128 + signal where one ended it
  std::string out;
  std::string err;
  long peak_kib = 0;  // largest resident set
};

// Standard input is empty.
ToolResult run_tool(const std::vector<std::string>& arguments);
ToolResult run_tool(const std::vector<std::string>& arguments, const std::string& input);

// What the tool prints goes to the file `out`.
ToolResult run_tool_into(const std::string& out, const std::vector<std::string>& arguments);

// `feed` writes to the descriptor that it is given, in pieces, while the tool runs; what the tool
// prints is counted and thrown away: out holds nothing. Closing early is fine.
ToolResult stream_tool(const std::vector<std::string>& arguments,
                       const std::function<void(int fd)>& feed, std::atomic<size_t>* out_bytes);

// Reads at most `bytes` of what the tool prints, then closes the pipe.
ToolResult interrupt_tool(const std::vector<std::string>& arguments, size_t bytes);

// A file that goes with the object.
class TemporaryFile {
 public:
  TemporaryFile(const std::string& name, const std::string& content);
  ~TemporaryFile();
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string folder_;
  std::string path_;
};

std::vector<std::string> lines_of(const std::string& text);

}  // namespace attnplan::test
