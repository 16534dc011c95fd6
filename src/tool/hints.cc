#include "tool/hints.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <string_view>
#include <vector>

#include "json/nearest.h"

namespace attnplan::tool {
namespace {

std::string nearest(std::string_view word, const std::vector<std::string>& known) {
  const std::vector<std::string_view> views(known.begin(), known.end());
  return std::string(json::nearest(word, views));
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;  // hidden
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

const CLI::App* find_command(const CLI::App& app, std::string_view name) {
  for (const CLI::App* command : app.get_subcommands(nullptr)) {
    if (command->get_name() == name) return command;
  }
  return nullptr;
}

std::string about_command(std::string_view word, const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands(nullptr)) names.push_back(command->get_name());
  const std::string meant = nearest(word, names);
  if (!meant.empty()) return fmt::format("no command \"{}\", did you mean \"{}\"?\n", word, meant);
  return fmt::format("no command \"{}\", there are {}\n", word, fmt::join(names, ", "));
}

std::string about_option(std::string_view word, const CLI::App& app) {
  word = word.substr(0, word.find('='));
  const std::vector<std::string> names = option_names(app);
  for (const std::string& name : names) {
    if (name == word) return {};
  }
  const std::string meant = nearest(word, names);
  return meant.empty() ? "" : fmt::format("did you mean \"{}\"?\n", meant);
}

}  // namespace

std::string hints(const CLI::App& app, int argc, const char* const* argv) {
  const CLI::App* command = nullptr;
  std::string text;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--") break;
    if (word.starts_with("--")) {
      text += about_option(word, command != nullptr ? *command : app);
    } else if (command == nullptr && !word.starts_with("-")) {
      command = find_command(app, word);
      if (command == nullptr) return text + about_command(word, app);
    }
  }
  return text;
}

}  // namespace attnplan::tool
