#include "tool/kv_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "json/json_writer.h"
#include "json/plan_document.h"
#include "tool/each_document.h"
#include "tool/explain_text.h"
#include "tool/kernel_views.h"
#include "tool/kv_document.h"
#include "tool/kv_text.h"
#include "tool/one_line.h"

namespace attnplan::tool {
namespace {

std::vector<const char*> reasons_of(const KernelView& kernel) {
  std::vector<const char*> names;
  for (attnplan_reason reason = 0; reason < ATTNPLAN_NUM_REASONS; ++reason) {
    if ((kernel.reasons >> reason & 1u) != 0) names.push_back(attnplan_reason_name(reason));
  }
  return names;
}

void write_kernels(const attnplan_config& config, json::JsonWriter& writer) {
  writer.key("kernels");
  writer.begin_array();
  for (const KernelView& kernel : kernel_views(config)) {
    const bool served = kernel.page_size > 0;
    writer.begin_object();
    writer.member("kernel", std::string_view{kernel.name});
    writer.key("page_size");
    served ? writer.value(kernel.page_size) : writer.null();
    writer.key("label");
    served ? writer.value(attnplan_dtype_name(kernel.label)) : writer.null();
    writer.key("reasons");
    writer.begin_array();
    for (const char* reason : reasons_of(kernel)) writer.value(reason);
    writer.end_array();
    writer.end_object();
  }
  writer.end_array();
}

void append_view(const json::BatchDocument& batch, const attnplan_kv_view& view, std::string& out) {
  json::JsonWriter writer(out);
  writer.begin_object();
  writer.member("name", std::string_view{batch.name()});
  writer.null_member("error");
  json::write_kv_view_members(view, writer);
  write_kernels(batch.config(), writer);
  writer.end_object();
  out += '\n';
}

void append_sentences(const json::BatchDocument& batch, const attnplan_kv_view& view,
                      std::string& out) {
  const attnplan_config& config = batch.config();
  if (!batch.name().empty()) out += fmt::format("# {}\n", one_line(batch.name()));
  for (const std::string& sentence : kv_sentences(*config.kv_cache, view, config.arch)) {
    out += fmt::format("{}\n", sentence);
  }
  for (const KernelView& kernel : kernel_views(config)) {
    if (kernel.page_size > 0) {
      out += fmt::format("{} is handed pages of {} tokens, labelled {}.\n", one_line(kernel.name),
                         kernel.page_size, attnplan_dtype_name(kernel.label));
    } else {
      out += fmt::format("{} cannot serve this cache: {}.\n", one_line(kernel.name),
                         fmt::join(reasons_of(kernel), ", "));
    }
  }
  out += '\n';
}

json::Outcome missing_cache(const json::Source& source) {
  return json::outcome_of(json::DocumentError{fmt::format(
      "{}:{}:{}: required key \"kv_cache\" is missing", source.file, source.line, source.column)});
}

class KvAnswers {
 public:
  explicit KvAnswers(const KvOptions& options) : options_(options) {}

  ExitStatus answer(const Document& document, const json::Source& source, std::string& out) {
    json::BatchDocument batch;
    const auto problem =
        json::parse_batch(with_empty_batch(document.text), source,
                          options_.backend.empty() ? "unified" : options_.backend, batch);
    const json::Outcome outcome = problem                ? json::outcome_of(*problem)
                                  : batch.has_kv_cache() ? session_.plan(batch)
                                                         : missing_cache(source);
    attnplan_kv_view view = ATTNPLAN_KV_VIEW_INIT;
    if (outcome.planner != nullptr &&
        attnplan_planner_kv_view(outcome.planner, &view, nullptr) == ATTNPLAN_OK) {
      options_.explain ? append_sentences(batch, view, out) : append_view(batch, view, out);
      return kExitPlanned;
    }
    if (options_.explain) {
      append_explanation(batch, outcome, out);
    } else {
      json::append_plan_document(batch, outcome, out);
      out += '\n';
    }
    return outcome.bad_document() ? kExitUnusable : kExitRefused;
  }

 private:
  const KvOptions& options_;
  json::Session session_;
};

}  // namespace

ExitStatus show_kv_views(const KvOptions& options) {
  Output output;
  KvAnswers answers(options);
  ExitStatus status = kExitPlanned;
  const auto visit = [&](const Document& document, const json::Source& source) {
    status = std::max(status, answers.answer(document, source, output.text()));
    return true;
  };
  return std::max(each_document(options.files, output, visit), status);
}

}  // namespace attnplan::tool
