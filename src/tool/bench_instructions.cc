#include "tool/bench_instructions.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <vector>

#include "tool/bench_inputs.h"
#include "tool/bench_workloads.h"

namespace attnplan::tool {
namespace {

namespace fs = std::filesystem;

// A directory of its own that goes away with everything in it.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string name = (fs::temp_directory_path() / "attnplan-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot create " + name);
    path_ = name;
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

// Runs a program of the PATH with its output thrown away; its exit status, or -1.
int run_silently(const std::vector<std::string>& command) {
  std::vector<char*> arguments;
  arguments.reserve(command.size() + 1);
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t child = 0;
  const int failure =
      posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  int status = 0;
  if (failure != 0 || waitpid(child, &status, 0) != child) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// The line "summary: N" (or "totals: N") of a callgrind file.
double total_of(const fs::path& path) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    for (const char* key : {"summary: ", "totals: "}) {
      if (line.rfind(key, 0) == 0) return std::strtod(line.c_str() + line.find(' '), nullptr);
    }
  }
  throw std::runtime_error("callgrind wrote no total into " + path.string());
}

double count(const std::string& input_name, const std::string& data, int64_t plans) {
  const TemporaryDirectory directory;
  const fs::path out = directory.path() / "callgrind.out";
  std::vector<std::string> command = {"valgrind",
                                      "--tool=callgrind",
                                      "--callgrind-out-file=" + out.string(),
                                      fs::read_symlink("/proc/self/exe").string(),
                                      "bench",
                                      "--fixed-work",
                                      input_name,
                                      "--plans",
                                      std::to_string(plans)};
  if (!data.empty()) command.insert(command.end(), {"--data", data});
  if (run_silently(command) != 0) throw std::runtime_error("callgrind failed on " + input_name);
  return total_of(out);
}

}  // namespace

bool can_count_instructions() { return run_silently({"valgrind", "--version"}) == 0; }

double instructions_per_plan(const std::string& input_name, const std::string& data) {
  // Whole rounds over the input's steps, so that both runs plan the same mix.
  const auto round = static_cast<int64_t>(bench_input(input_name, data).steps.size());
  const int64_t extra = round >= 64 ? round : (64 / round) * round;
  return (count(input_name, data, round + extra) - count(input_name, data, round)) /
         static_cast<double>(extra);
}

void run_fixed_work(const std::string& input_name, const std::string& data, int64_t plans) {
  const BenchInput input = bench_input(input_name, data);
  PlanWorkload(input).run(0, plans);
}

}  // namespace attnplan::tool
