// "options" and "graph".
#include <fmt/format.h>

#include <charconv>

#include "json/batch_storage.h"
#include "json/vocabulary.h"

namespace attnplan::json {
namespace {

using Config = attnplan_config;

template <auto kMember>
void read_option(Reader& reader, const Place& place, BatchStorage& batch) {
  batch.config.*kMember = reader.int32(place);
}

template <auto kMember, const auto& kWords>
void read_option_word(Reader& reader, const Place& place, BatchStorage& batch) {
  batch.config.*kMember = reader.word(place, kWords);
}

// "fixed:256" as well as the plain words.
void read_work(Reader& reader, const Place& place, BatchStorage& batch) {
  constexpr std::string_view kFixed = "fixed:";
  const std::string_view text = reader.string(place);
  if (text.substr(0, kFixed.size()) == kFixed) {
    const char* end = text.data() + text.size();
    int32_t tokens = 0;
    const auto [rest, problem] = std::from_chars(text.data() + kFixed.size(), end, tokens);
    if (problem == std::errc() && rest == end && tokens > 0) {
      batch.config.work = ATTNPLAN_WORK_FIXED;
      batch.config.work_fixed_tokens = tokens;
      return;
    }
  }
  batch.config.work = reader.word(place, kWorkPolicies);
  if (batch.config.work == ATTNPLAN_WORK_FIXED) {  // "fixed:<tokens>", as the list of words has it
    reader.fail(place, "expected a number of tokens behind \"fixed:\"");
  }
}

void read_sections(Reader& reader, const Place& place, BatchStorage& batch) {
  reader.for_each_element(place, [&](const Place& element) {
    batch.config.sections |= uint64_t{1} << reader.word(element, kSections);
  });
}

bool follows_pages(int32_t section) {
  return section >= ATTNPLAN_SECTION_PAGE_INDPTR && section <= ATTNPLAN_SECTION_SLOTS;
}

// An explicit zero means "none", too.
bool has_number(const Reader& reader, const Place& object, std::string_view key) {
  return reader.has(object, key) && reader.node(reader.member(object, key)).integer != 0;
}

constexpr Field<BatchStorage> kOptionFields[] = {
    {"order", read_option_word<&Config::order, kOrders>},
    {"ragged", read_option_word<&Config::ragged, kRaggedPolicies>},
    {"max_segments", read_option<&Config::max_segments>},
    {"short_extend",
     [](Reader& reader, const Place& place, BatchStorage& batch) {
       if (reader.word(place, kShortExtends) == 1) {
         batch.config.flags |= ATTNPLAN_CONFIG_SHORT_EXTEND_DECODE;
       }
     }},
    {"chunk_policy", read_option_word<&Config::chunk_policy, kChunkPolicies>},
    {"chunk_workspace_tokens", read_option<&Config::chunk_workspace_tokens>},
    {"work", read_work},
    {"sections", read_sections},
    {"layout", read_option_word<&Config::section_layout, kSectionLayouts>},
};

constexpr Field<BatchStorage> kGraphFields[] = {
    {"full",
     [](Reader& reader, const Place& place, BatchStorage& batch) {
       batch.config.graph_full = read_int_list(reader, place, batch);
     }},
    {"piecewise",
     [](Reader& reader, const Place& place, BatchStorage& batch) {
       batch.config.graph_piecewise = read_int_list(reader, place, batch);
     }},
    {"width", read_option<&Config::graph_width>},
    {"max_num_seqs", read_option<&Config::graph_max_num_seqs>},
    {"allow",
     [](Reader& reader, const Place& place, BatchStorage& batch) {
       batch.step.graph_allow = reader.word(place, kGraphModes);
     }},
};

}  // namespace

attnplan_int32_list read_int_list(Reader& reader, const Place& place, BatchStorage& batch) {
  std::vector<int32_t>& list = batch.lists.emplace_back();
  reader.ints(place, list);
  return {list.data(), list.size()};
}

attnplan_string_list read_string_list(Reader& reader, const Place& place, BatchStorage& batch) {
  std::vector<const char*>& list = batch.string_lists.emplace_back();
  list.reserve(1);  // never a null pointer: null means any
  reader.for_each_element(
      place, [&](const Place& element) { list.push_back(batch.keep(reader.c_string(element))); });
  return {list.data(), list.size()};
}

void read_options(Reader& reader, const Place& place, BatchStorage& batch) {
  reader.object(place, kOptionFields, batch);
}

void check_options(Reader& reader, const Place& root, BatchStorage& batch) {
  const Place options = reader.member(root, "options");
  if (reader.has(options, "layout")) {
    batch.layout_origin = reader.origin(reader.member(options, "layout"));
  }
  if (!reader.has(options, "sections")) return;
  const Place sections = reader.member(options, "sections");
  batch.sections_origin = reader.origin(sections);
  reader.for_each_element(sections, [&](const Place& element) {
    const int32_t section = reader.word(element, kSections);
    if (follows_pages(section) && !reader.has(root, "kv_cache")) {
      reader.fail(element, fmt::format("{} needs \"kv_cache\"", reader.string(element)));
    }
    if (section == ATTNPLAN_SECTION_LOCAL && !has_number(reader, root, "local_attention_chunk")) {
      reader.fail(element, "local needs \"local_attention_chunk\"");
    }
  });
}

void read_graph(Reader& reader, const Place& place, BatchStorage& batch) {
  batch.config.flags |= ATTNPLAN_CONFIG_GRAPH;
  reader.object(place, kGraphFields, batch);
}

}  // namespace attnplan::json
