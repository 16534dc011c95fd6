#include "tool/run_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <exception>
#include <optional>

#include "gpu/device.h"
#include "gpu/device_run.h"
#include "json/json_writer.h"
#include "json/plan_document.h"
#include "tool/batch_loop.h"
#include "tool/explain_text.h"
#include "tool/verdict.h"
#include "tool/whole_number.h"

namespace attnplan::tool {
namespace {

// The plan document with one more member, "run".
void append_run_document(const json::BatchDocument& batch, const json::Outcome& outcome,
                         const cpu::RunReport& report, const cpu::RunOptions& options,
                         std::string& out) {
  json::JsonWriter writer(out);
  writer.begin_object();
  json::write_plan_members(batch, outcome, writer);
  if (outcome.planned()) {
    writer.key("run");
    writer.begin_object();
    writer.member("ok", report.ok);
    writer.member("max_error", report.max_error);
    writer.member("max_lse_error", report.max_lse_error);
    writer.key("worst_row");
    report.worst_row < 0 ? writer.null() : writer.value(report.worst_row);
    writer.key("worst_request");
    report.worst_request < 0 ? writer.null() : writer.value(report.worst_request);
    writer.member("requests", report.requests);
    writer.member("rows", report.rows);
    writer.member("rows_written", report.rows_written);
    writer.member("rows_compared", report.rows_compared);
    writer.member("max_seq_len", report.max_seq_len);
    writer.member("seed", options.seed);
    writer.key("problem");
    report.problem.empty() ? writer.null() : writer.value(std::string_view{report.problem});
    writer.end_object();
  }
  writer.end_object();
  out += '\n';
}

}  // namespace

void add_run_options(CLI::App& command, RunCommandOptions& options) {
  cpu::RunOptions& execution = options.execution;
  command.add_flag("--explain", options.explain, "Text for a person instead of JSON");
  command.add_option("--seed", execution.seed, "Of the generated Q, K and V")
      ->capture_default_str()
      ->check(whole_number());
  command.add_flag("--quick", options.quick, "Few heads, short contexts, a sample of the rows");
  const auto cap = [&command](const char* name, auto& target, const char* what) {
    command.add_option(name, target, what)->check(whole_number());
  };
  command
      .add_option("--device", options.device,
                  "cpu: the reference. hip: plan the batch again for libattnplan_hip.so and run "
                  "that on the first GPU")
      ->capture_default_str()
      ->check(CLI::IsMember({"cpu", "hip"}));
  command.add_option("--library", options.library, "Path of libattnplan_hip.so");
  cap("--max-seq-len", execution.max_seq_len, "Shorten contexts to so many tokens; 0: do not");
  cap("--max-kv-heads", execution.max_kv_heads, "Execute so many KV heads; 0: all");
  cap("--max-rows", execution.max_rows, "Compare a sample of so many rows; 0: all");
}

ExitStatus run_batches(const RunCommandOptions& options) {
  std::optional<gpu::Device> device;
  if (options.device == "hip") {
    try {
      device = gpu::open_device(options.library);
    } catch (const std::exception& error) {
      fmt::print(stderr, "attnplan run: {}\n", error.what());
      return kExitUnusable;
    }
  }
  cpu::RunOptions execution = options.execution;
  if (options.quick) {
    const cpu::RunOptions quick = cpu::RunOptions::quick();
    const auto fill = [](auto& value, auto otherwise) { value = value == 0 ? otherwise : value; };
    fill(execution.max_seq_len, quick.max_seq_len);
    fill(execution.max_kv_heads, quick.max_kv_heads);
    fill(execution.max_group, quick.max_group);
    fill(execution.max_head_size, quick.max_head_size);
    fill(execution.max_rows, quick.max_rows);
  }
  BatchLoop loop;
  loop.files = options.files;
  loop.default_backend = options.backend;
  loop.answer = [&](const json::BatchDocument& batch, const json::Outcome& outcome,
                    std::string& out) {
    cpu::RunReport report;
    if (outcome.planned() && device.has_value()) {
      report = gpu::run(*device, batch.config(), batch.step(), batch.group(), execution);
    } else if (outcome.planned()) {
      report = cpu::run(batch.config(), batch.step(), &batch.group(), outcome.plan.data(),
                        outcome.plan.size(), execution);
    }
    if (options.explain) {
      append_explanation(batch, outcome, out);
      out.pop_back();
      if (outcome.planned()) out += verdict(report) + "\n";
      out += '\n';
    } else {
      append_run_document(batch, outcome, report, execution, out);
    }
    return outcome.planned() && report.ok;
  };
  return loop.run();
}

}  // namespace attnplan::tool
