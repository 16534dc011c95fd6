#include "tool_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <thread>

namespace attnplan::test {
namespace {

struct Pipe {
  Pipe() {
    if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("pipe2");
  }
  int ends[2];
};

void write_all(int fd, const std::string& text) {
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t written = write(fd, text.data() + done, text.size() - done);
    if (written <= 0) return;  // the tool stopped reading
    done += static_cast<size_t>(written);
  }
}

std::string read_all(int fd) {
  std::string text;
  std::array<char, 65536> piece;
  for (ssize_t got; (got = read(fd, piece.data(), piece.size())) > 0;) {
    text.append(piece.data(), static_cast<size_t>(got));
  }
  return text;
}

// A running tool with pipes to its three descriptors.
class Child {
 public:
  // `out` is a file for the standard output; empty: a pipe.
  explicit Child(const std::vector<std::string>& arguments, const std::string& out = "") {
    if (!out.empty()) {
      close(out_.ends[1]);
      out_.ends[1] = open(out.c_str(), O_WRONLY | O_CLOEXEC);
      if (out_.ends[1] < 0) throw std::runtime_error("open");
    }
    signal(SIGPIPE, SIG_IGN);
    std::vector<char*> argv = {const_cast<char*>(ATTNPLAN_TOOL_PATH)};
    for (const std::string& argument : arguments)
      argv.push_back(const_cast<char*>(argument.c_str()));
    argv.push_back(nullptr);
    pid_ = fork();
    if (pid_ < 0) throw std::runtime_error("fork");
    if (pid_ == 0) {
      dup2(in_.ends[0], STDIN_FILENO);
      dup2(out_.ends[1], STDOUT_FILENO);
      dup2(err_.ends[1], STDERR_FILENO);
      signal(SIGPIPE, SIG_DFL);
      execv(ATTNPLAN_TOOL_PATH, argv.data());
      _exit(127);
    }
    close(in_.ends[0]);
    close(out_.ends[1]);
    close(err_.ends[1]);
  }

  int in() const { return in_.ends[1]; }
  int out() const { return out_.ends[0]; }
  int err() const { return err_.ends[0]; }

  void wait(ToolResult* result) {
    int status = 0;
    rusage usage{};
    wait4(pid_, &status, 0, &usage);
    result->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    result->peak_kib = usage.ru_maxrss;
  }

 private:
  Pipe in_, out_, err_;
  pid_t pid_;
};

}  // namespace

ToolResult run_tool(const std::vector<std::string>& arguments) { return run_tool(arguments, ""); }

ToolResult run_tool(const std::vector<std::string>& arguments, const std::string& input) {
  Child child(arguments);
  ToolResult result;
  std::thread feeder([&] {
    write_all(child.in(), input);
    close(child.in());
  });
  std::thread complaints([&] { result.err = read_all(child.err()); });
  result.out = read_all(child.out());
  feeder.join();
  complaints.join();
  close(child.out());
  close(child.err());
  child.wait(&result);
  return result;
}

ToolResult run_tool_into(const std::string& out, const std::vector<std::string>& arguments) {
  Child child(arguments, out);
  close(child.in());
  ToolResult result;
  result.err = read_all(child.err());
  close(child.out());
  close(child.err());
  child.wait(&result);
  return result;
}

ToolResult stream_tool(const std::vector<std::string>& arguments,
                       const std::function<void(int fd)>& feed, std::atomic<size_t>* out_bytes) {
  Child child(arguments);
  ToolResult result;
  std::thread feeder([&] {
    feed(child.in());
    close(child.in());
  });
  std::thread complaints([&] { result.err = read_all(child.err()); });
  *out_bytes = 0;
  std::array<char, 65536> piece;
  for (ssize_t got; (got = read(child.out(), piece.data(), piece.size())) > 0;) {
    *out_bytes += static_cast<size_t>(got);
  }
  feeder.join();
  complaints.join();
  close(child.out());
  close(child.err());
  child.wait(&result);
  return result;
}

ToolResult interrupt_tool(const std::vector<std::string>& arguments, size_t bytes) {
  Child child(arguments);
  close(child.in());
  ToolResult result;
  result.out.resize(bytes);
  const ssize_t got = read(child.out(), result.out.data(), bytes);
  result.out.resize(static_cast<size_t>(got < 0 ? 0 : got));
  close(child.out());
  result.err = read_all(child.err());
  close(child.err());
  child.wait(&result);
  return result;
}

TemporaryFile::TemporaryFile(const std::string& name, const std::string& content) {
  const char* const base = std::getenv("TMPDIR");
  folder_ = std::string(base != nullptr ? base : "/tmp") + "/attnplan-test-XXXXXX";
  if (mkdtemp(folder_.data()) == nullptr) throw std::runtime_error("mkdtemp");
  path_ = folder_ + "/" + name;
  std::ofstream(path_, std::ios::binary) << content;
}

TemporaryFile::~TemporaryFile() {
  unlink(path_.c_str());
  rmdir(folder_.c_str());
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  size_t begin = 0;
  for (size_t end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
    lines.push_back(text.substr(begin, end - begin));
  }
  if (begin < text.size()) lines.push_back(text.substr(begin) + " (without line break)");
  return lines;
}

}  // namespace attnplan::test
