// Keys that are read and checked in full, and whose feature this version does not have yet. To make
// one available, take its line away.
#include <fmt/format.h>

#include "json/batch_storage.h"
#include "json/vocabulary.h"

namespace attnplan::json {
namespace {

constexpr std::string_view kPendingKeys[] = {"graph", "context_parallel", "local_attention_chunk",
                                             "slot_mapping"};
constexpr std::string_view kPendingOptions[] = {"layout", "chunk_policy", "chunk_workspace_tokens"};
constexpr std::string_view kPendingLimits[] = {"max_sections_bytes"};

void refuse(Reader& reader, const Place& place, std::string_view what = {}) {
  reader.fail(place,
              what.empty() ? "not available yet" : fmt::format("{} not available yet", what));
}

void refuse_options(Reader& reader, const Place& options) {
  for (const std::string_view key : kPendingOptions) {
    if (reader.has(options, key)) refuse(reader, reader.member(options, key));
  }
  if (reader.has(options, "work")) {
    const Place work = reader.member(options, "work");
    if (reader.string(work) != "none") refuse(reader, work);
  }
  if (reader.has(options, "ragged")) {
    const Place ragged = reader.member(options, "ragged");
    if (reader.string(ragged) == "auto") refuse(reader, ragged, "\"auto\" is");
  }
  if (!reader.has(options, "sections")) return;
  reader.for_each_element(reader.member(options, "sections"), [&](const Place& section) {
    if (reader.word(section, kSections) != kSectionPending) return;
    refuse(reader, section, fmt::format("\"{}\" is", reader.string(section)));
  });
}

}  // namespace

void refuse_pending(Reader& reader, const Place& root) {
  for (const std::string_view key : kPendingKeys) {
    if (reader.has(root, key)) refuse(reader, reader.member(root, key));
  }
  if (reader.has(root, "limits")) {
    const Place limits = reader.member(root, "limits");
    for (const std::string_view key : kPendingLimits) {
      if (reader.has(limits, key)) refuse(reader, reader.member(limits, key));
    }
  }
  if (reader.has(root, "backend")) {
    const Place backend = reader.member(root, "backend");
    if (reader.has(backend, "ragged")) {
      const Place ragged = reader.member(backend, "ragged");
      if (reader.string(ragged) == "auto") refuse(reader, ragged, "\"auto\" is");
    }
  }
  if (reader.has(root, "options")) refuse_options(reader, reader.member(root, "options"));
}

}  // namespace attnplan::json
