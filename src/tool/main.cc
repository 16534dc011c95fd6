// The attnplan command. It reaches the planner through the C ABI of libattnplan.so alone.
#include <CLI/CLI.hpp>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>

#include "attnplan.h"
#include "json/vocabulary.h"
#include "tool/bench.h"
#include "tool/demo_command.h"
#include "tool/draw_command.h"
#include "tool/hints.h"
#include "tool/kv_command.h"
#include "tool/plan_command.h"
#include "tool/ragged_command.h"
#include "tool/run_command.h"
#include "tool/whole_number.h"

namespace attnplan::tool {
namespace {

constexpr const char* kFooter =
    R"(Documents are described in docs/batch-format.md. A file that ends in .jsonl holds one document
a line; any other file, and standard input (-), one document behind the other.

Examples:
  attnplan plan --pretty batch.json            one plan, laid out to be read
  attnplan plan --explain batch.json           which kernel serves whom, and why no faster one does
  attnplan plan --backend unified trace.jsonl  one plan a line, for documents without "backend"
  zcat trace.jsonl.gz | attnplan plan -        from standard input, as much as there is
  attnplan run --max-seq-len 256 batch.json    execute the plan and compare with an oracle
  attnplan draw batch.json -o plan.svg         a picture of the batch, its plan and its cache
  attnplan kv --explain cache.json             the views of a K/V cache, step by step
  attnplan ragged --markdown trace.jsonl       decode rows that each policy keeps on decode kernels

Exit status: 0 every batch was planned (and ran right), 1 some batch gave an error, 2 some document
was bad, a file could not be read or holds none, or the arguments are unusable, as --device hip is
without a GPU or its library.)";

std::vector<std::string> profile_names() {
  std::vector<std::string> names;
  for (const json::Word& profile : json::kProfiles) names.emplace_back(profile.text);
  return names;
}

void add_batch_arguments(CLI::App& command, std::vector<std::string>& files, std::string& backend) {
  command.add_option("FILE", files, "Batch documents; - is standard input")->required();
  command.add_option("--backend", backend, "Profile of documents that name no \"backend\"")
      ->check(CLI::IsMember(profile_names()));
}

void add_backend_option(CLI::App& command, std::string& backend) {
  command.add_option("--backend", backend, "Profile of documents that name no \"backend\"")
      ->check(CLI::IsMember(profile_names()));
}

void add_draw_options(CLI::App& command, DrawOptions& options) {
  command.add_option("FILE", options.file, "Batch documents; - is standard input")->required();
  command.add_option("-o,--output", options.output, "File for the SVG; - is standard output")
      ->capture_default_str();
  command.add_option("--index", options.index, "Which document of the file, from 0")
      ->check(whole_number());
  add_backend_option(command, options.backend);
}

void add_kv_options(CLI::App& command, KvOptions& options) {
  command.add_option("FILE", options.files, "Documents with \"kv_cache\"; - is standard input")
      ->required();
  command.add_flag("--explain", options.explain, "The arithmetic as sentences");
  add_backend_option(command, options.backend);
}

void add_ragged_options(CLI::App& command, RaggedOptions& options) {
  command
      .add_option("TRACE", options.files,
                  "Batch documents, the steps of a trace; - is standard input")
      ->required();
  command.add_flag("--markdown", options.markdown, "A Markdown table");
  add_backend_option(command, options.backend);
}

void add_bench_options(CLI::App& command, BenchOptions& options) {
  command.add_option("--data", options.data, "Folder with traces/; without it no trace is timed")
      ->check(CLI::ExistingDirectory);
  command.add_option("--filter", options.filter, "Only inputs whose name contains this");
  command.add_option("--json", options.json, "File for the figures");
  command.add_flag("--quick", options.quick, "Few and short repetitions: a look, no measurement");
  command.add_flag("--instructions", options.instructions, "Count instructions under callgrind");
  // For the command itself, when it runs under callgrind.
  command.add_option("--fixed-work", options.fixed_work)->group("");
  command.add_option("--plans", options.plans)->group("")->check(CLI::PositiveNumber);
}

int run_tool(int argc, char** argv) {
  CLI::App app(
      "Plans attention for LLM inference engines: which kernel serves which requests of a"
      " step, and why.",
      "attnplan");
  app.footer(kFooter);
  app.set_version_flag("--version", std::string("attnplan ") + attnplan_version_string());
  app.require_subcommand(1);

  PlanOptions plan;
  CLI::App* plan_command = app.add_subcommand("plan", "Print one plan document per batch document");
  add_batch_arguments(*plan_command, plan.files, plan.backend);
  auto* explain = plan_command->add_flag("--explain", plan.explain, "Text for a person");
  plan_command->add_flag("--pretty", plan.pretty, "Lay the JSON out over lines")->excludes(explain);

  RunCommandOptions run;
  CLI::App* run_command =
      app.add_subcommand("run", "Plan, execute on the CPU reference and compare with an oracle");
  add_batch_arguments(*run_command, run.files, run.backend);
  add_run_options(*run_command, run);

  DemoOptions demo;
  CLI::App* demo_command =
      app.add_subcommand("demo", "Plan, explain and execute the batches that made this project");
  demo_command->add_option("--data", demo.data, "Folder with cases/ and traces/ (tests/data)")
      ->required()
      ->check(CLI::ExistingDirectory);

  DrawOptions draw;
  CLI::App* draw_command = app.add_subcommand("draw", "Draw one batch and its plan as SVG");
  add_draw_options(*draw_command, draw);

  KvOptions kv;
  CLI::App* kv_command = app.add_subcommand("kv", "Print the resolved views of K/V caches");
  add_kv_options(*kv_command, kv);

  RaggedOptions ragged;
  CLI::App* ragged_command = app.add_subcommand(
      "ragged", "Print the share of decode rows that stay on decode kernels, by policy and order");
  add_ragged_options(*ragged_command, ragged);

  BenchOptions bench_options;
  CLI::App* bench_command = app.add_subcommand("bench", "Time the planner");
  add_bench_options(*bench_command, bench_options);
  for (CLI::App* command : {demo_command, bench_command}) command->footer("");

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& problem) {
    if (app.exit(problem) == 0) return kExitPlanned;
    std::fputs(hints(app, argc, argv).c_str(), stderr);
    return kExitUnusable;
  }
  if (plan_command->parsed()) return plan_batches(plan);
  if (run_command->parsed()) return run_batches(run);
  if (demo_command->parsed()) return run_demo(demo);
  if (draw_command->parsed()) return draw_batch_document(draw);
  if (kv_command->parsed()) return show_kv_views(kv);
  if (ragged_command->parsed()) return show_ragged(ragged);
  return bench(bench_options);
}

// What commands printed by way of stdio; Output says the same of itself.
int finish_stdout(int status) {
  if (std::fflush(stdout) == 0 || errno == EPIPE) return status;
  std::fprintf(stderr, "attnplan: cannot write: %s\n", std::strerror(errno));
  return kExitUnusable;
}

}  // namespace
}  // namespace attnplan::tool

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);  // a closed pipe ends the output, not the tool
  try {
    return attnplan::tool::finish_stdout(attnplan::tool::run_tool(argc, argv));
  } catch (const std::exception& problem) {  // out of memory, for one
    std::fprintf(stderr, "attnplan: %s\n", problem.what());
    return attnplan::tool::kExitUnusable;
  }
}
