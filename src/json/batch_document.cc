#include "json/batch_document.h"

#include <fmt/format.h>

#include <algorithm>

#include "json/batch_storage.h"
#include "json/vocabulary.h"

namespace attnplan::json {
namespace {

using Step = attnplan_step;
using Config = attnplan_config;

template <auto kMember>
void read_step_int(Reader& reader, const Place& place, BatchStorage& batch) {
  batch.step.*kMember = reader.int32(place);
}

template <auto kMember>
void read_config_int(Reader& reader, const Place& place, BatchStorage& batch) {
  batch.config.*kMember = reader.int32(place);
}

template <uint32_t kFlag>
void read_inexact(Reader& reader, const Place& place, BatchStorage& batch) {
  read_flag<kFlag, false>(reader, place, batch.step);
}

// An array of the step, and where the struct points at it.
template <auto kArray, auto kMember>
void read_request_ints(Reader& reader, const Place& place, BatchStorage& batch) {
  std::vector<int32_t>& array = (batch.arrays.*kArray).emplace();
  reader.request_ints(place, array);
  batch.step.*kMember = array.data();
}

template <auto kArray, auto kMember>
void read_request_booleans(Reader& reader, const Place& place, BatchStorage& batch) {
  std::vector<uint8_t>& array = (batch.arrays.*kArray).emplace();
  reader.booleans(place, array);
  batch.step.*kMember = array.data();
}

void read_query_start_loc(Reader& reader, const Place& place, BatchStorage& batch) {
  std::vector<int32_t>& array = batch.arrays.query_start_loc.emplace();
  reader.request_ints(place, array, 1);
  if (array.empty() && !reader.error())
    reader.fail(place, "is empty, expected [0] for no requests");
  batch.step.query_start_loc = array.data();
}

void read_slot_mapping(Reader& reader, const Place& place, BatchStorage& batch) {
  std::vector<int64_t>& slots = batch.arrays.slot_mapping.emplace();
  reader.int64s(place, slots);
  batch.group.slot_mapping = slots.data();
  batch.group.flags |= ATTNPLAN_GROUP_SLOTS_INT64;
}

using A = StepArrays;
constexpr Field<BatchStorage> kBatchFields[] = {
    {"name", [](Reader& reader, const Place& place,
                BatchStorage& batch) { batch.name = reader.string(place); }},
    {"note", [](Reader& reader, const Place& place, BatchStorage&) { reader.string(place); }},
    {"expect", [](Reader&, const Place&, BatchStorage&) {}},  // for whoever judges the plan
    {"backend", read_backend},
    {"phase", [](Reader& reader, const Place& place,
                 BatchStorage& batch) { batch.step.phase = reader.word(place, kPhases); }},
    {"decode_threshold",
     [](Reader& reader, const Place& place, BatchStorage& batch) {
       batch.config.decode_threshold = reader.positive(place);
     }},
    {"query_lens", read_request_ints<&A::query_lens, &Step::query_lens>},
    {"query_start_loc", read_query_start_loc},
    {"seq_lens", read_request_ints<&A::seq_lens, &Step::seq_lens>},
    {"num_computed_tokens", read_request_ints<&A::num_computed_tokens, &Step::num_computed_tokens>},
    {"num_prompt_tokens", read_request_ints<&A::num_prompt_tokens, &Step::num_prompt_tokens>},
    {"num_known_tokens", read_request_ints<&A::num_known_tokens, &Step::num_known_tokens>},
    {"num_draft_tokens", read_request_ints<&A::num_draft_tokens, &Step::num_draft_tokens>},
    {"is_prefilling", read_request_booleans<&A::is_prefilling, &Step::is_prefilling>},
    {"seq_len_exact", read_request_booleans<&A::seq_len_exact, &Step::seq_len_exact>},
    {"num_tokens", read_step_int<&Step::num_tokens>},
    {"max_query_len", read_step_int<&Step::max_query_len>},
    {"num_reqs_padded", read_step_int<&Step::num_reqs_padded>},
    {"num_tokens_padded", read_step_int<&Step::num_tokens_padded>},
    {"query_lens_exact", read_inexact<ATTNPLAN_STEP_QUERY_LENS_INEXACT>},
    {"seq_lens_exact", read_inexact<ATTNPLAN_STEP_SEQ_LENS_INEXACT>},
    {"heads", read_heads},
    {"mask", [](Reader& reader, const Place& place,
                BatchStorage& batch) { batch.config.mask = reader.word(place, kMasks); }},
    {"features", read_features},
    {"sliding_window", read_config_int<&Config::sliding_window>},
    {"device", read_device},
    {"limits", read_limits},
    {"kv_cache", read_kv_cache},
    {"block_table", read_block_table},
    {"slot_mapping", read_slot_mapping},
    {"graph", read_graph},
    {"context_parallel", read_context_parallel},
    {"local_attention_chunk", read_config_int<&Config::local_attention_chunk>},
    {"options", read_options},
};

// What makes up attnplan_config, in a fixed order.
constexpr std::string_view kConfigKeys[] = {
    "backend", "decode_threshold", "heads",    "mask",  "features",         "sliding_window",
    "device",  "limits",           "kv_cache", "graph", "context_parallel", "local_attention_chunk",
    "options"};

void count_requests(Reader& reader, const Place& root, BatchStorage& batch) {
  const StepArrays& arrays = batch.arrays;
  if (arrays.query_lens && arrays.query_start_loc) {
    return reader.fail(root,
                       "has both \"query_lens\" and \"query_start_loc\", expected one of them");
  }
  if (!arrays.query_lens && !arrays.query_start_loc) {
    return reader.fail(root, "required key \"query_lens\" or \"query_start_loc\" is missing");
  }
  const size_t count =
      arrays.query_lens ? arrays.query_lens->size() : arrays.query_start_loc->size() - 1;
  batch.step.num_reqs = static_cast<int32_t>(count);
}

template <typename Array>
void check_length(Reader& reader, const Place& root, const BatchStorage& batch,
                  std::string_view key, const std::optional<Array>& array) {
  const int64_t expected = batch.step.num_reqs;
  if (!array || static_cast<int64_t>(array->size()) == expected) return;
  const bool plain = batch.arrays.query_lens.has_value();
  reader.fail(reader.member(root, key),
              plain ? fmt::format("has {} values, \"query_lens\" has {}", array->size(), expected)
                    : fmt::format("has {} values, \"query_start_loc\" describes {} requests",
                                  array->size(), expected),
              static_cast<int64_t>(array->size()), expected);
}

void check_lengths(Reader& reader, const Place& root, const BatchStorage& batch) {
  const StepArrays& arrays = batch.arrays;
  check_length(reader, root, batch, "seq_lens", arrays.seq_lens);
  check_length(reader, root, batch, "num_computed_tokens", arrays.num_computed_tokens);
  check_length(reader, root, batch, "num_prompt_tokens", arrays.num_prompt_tokens);
  check_length(reader, root, batch, "num_known_tokens", arrays.num_known_tokens);
  check_length(reader, root, batch, "num_draft_tokens", arrays.num_draft_tokens);
  check_length(reader, root, batch, "is_prefilling", arrays.is_prefilling);
  check_length(reader, root, batch, "seq_len_exact", arrays.seq_len_exact);
}

// Rows of the batch, or -1 where the lengths make no sense: the planner says so better.
int64_t count_rows(const BatchStorage& batch) {
  int64_t rows = 0;
  if (batch.arrays.query_start_loc) return batch.arrays.query_start_loc->back();
  for (const int32_t query_len : *batch.arrays.query_lens) {
    if (query_len < 0) return -1;
    rows += query_len;
  }
  return rows;
}

void check_slot_mapping(Reader& reader, const Place& root, const BatchStorage& batch) {
  if (!batch.arrays.slot_mapping) return;
  const auto slots = static_cast<int64_t>(batch.arrays.slot_mapping->size());
  const int64_t rows = count_rows(batch);
  if (rows < 0 || slots == rows) return;
  reader.fail(reader.member(root, "slot_mapping"),
              fmt::format("has {} values, the batch has {} rows", slots, rows), slots, rows);
}

void finish(Reader& reader, const Place& root, std::string_view default_backend,
            BatchStorage& batch) {
  if (!reader.error()) count_requests(reader, root, batch);
  if (reader.error()) return;
  check_lengths(reader, root, batch);
  if (!batch.arrays.seq_lens && !batch.arrays.num_computed_tokens) {
    reader.fail(root,
                "required key \"seq_lens\" is missing, and without \"num_computed_tokens\" it"
                " cannot be computed");
  }
  check_slot_mapping(reader, root, batch);
  if (reader.has(root, "options")) check_options(reader, root, batch);
  if (reader.has(root, "block_table")) {
    finish_block_table(reader, reader.member(root, "block_table"), batch);
  }
  if (!reader.has(root, "backend")) {
    if (default_backend.empty()) {
      return reader.fail(root, "required key \"backend\" is missing, and no --backend is given");
    }
    batch.config.profile = batch.keep(default_backend);
  }
}

std::string config_text_of(const Reader& reader, const Place& root,
                           std::string_view default_backend) {
  std::string text(default_backend);
  for (const std::string_view key : kConfigKeys) {
    text += '\n';
    if (!reader.has(root, key)) continue;
    text += key;
    text += reader.text_of(reader.member(root, key));
  }
  return text;
}

}  // namespace

BatchDocument::BatchDocument() : storage_(std::make_unique<BatchStorage>()) {}
BatchDocument::~BatchDocument() = default;
BatchDocument::BatchDocument(BatchDocument&&) noexcept = default;
BatchDocument& BatchDocument::operator=(BatchDocument&&) noexcept = default;

const std::string& BatchDocument::name() const { return storage_->name; }
const std::optional<std::string>& BatchDocument::expect() const { return storage_->expect; }
const std::string& BatchDocument::origin() const { return storage_->origin; }
const std::string& BatchDocument::layout_origin() const { return storage_->layout_origin; }
const std::string& BatchDocument::sections_origin() const { return storage_->sections_origin; }
const WideInt* BatchDocument::wide_id(int32_t request, int64_t id, int64_t* block) const {
  const BlockTable& table = storage_->table;
  if (table.wide_ids.empty() || request < 0) return nullptr;
  const auto row = static_cast<size_t>(request);
  const size_t begin = table.indptr.empty() ? row * static_cast<size_t>(table.columns)
                                            : static_cast<size_t>(table.indptr[row]);
  size_t at = begin;
  while (at < table.ids.size() && table.ids[at] != id) ++at;
  *block = static_cast<int64_t>(at - begin);
  const auto wide = std::find_if(table.wide_ids.begin(), table.wide_ids.end(),
                                 [at](const WideInt& w) { return w.index == at; });
  return wide != table.wide_ids.end() ? &*wide : nullptr;
}
const attnplan_config& BatchDocument::config() const { return storage_->config; }
const attnplan_step& BatchDocument::step() const { return storage_->step; }
const attnplan_group& BatchDocument::group() const { return storage_->group; }
const std::string& BatchDocument::config_text() const { return storage_->config_text; }
const std::optional<RangeFault>& BatchDocument::cache_fault() const {
  return storage_->cache_fault;
}
const std::optional<RangeFault>& BatchDocument::request_fault() const {
  return storage_->request_fault;
}
const std::optional<RangeFault>& BatchDocument::scalar_fault() const {
  return storage_->scalar_fault;
}

std::optional<DocumentError> parse_batch(std::string_view text, const Source& source,
                                         std::string_view default_backend, BatchDocument& batch) {
  batch.storage_ = std::make_unique<BatchStorage>();
  BatchStorage& storage = *batch.storage_;
  storage.origin = fmt::format("{}:{}:{}: ", source.file, source.line, source.column);
  storage.layout_origin = storage.sections_origin = storage.origin;
  Tree tree;
  const std::optional<SyntaxError> syntax = parse_tree(text, tree);
  Reader reader(text, tree, source);
  const Place root;
  if (!tree.nodes.empty()) {
    // A broken document still says whose answer its error is.
    if (reader.has(root, "expect")) storage.expect = reader.text_of(reader.member(root, "expect"));
    const Place name = reader.member(root, "name");
    if (reader.has(root, "name") && reader.node(name).kind == Kind::kString) {
      storage.name = reader.string(name);
    }
  }
  if (syntax) {
    reader.fail_syntax(*syntax);
    return reader.error();
  }
  reader.object(root, kBatchFields, storage);
  finish(reader, root, default_backend, storage);
  storage.config_text = config_text_of(reader, root, default_backend);
  storage.cache_fault = reader.cache_fault();
  storage.request_fault = reader.request_fault();
  storage.scalar_fault = reader.scalar_fault();
  return reader.error();
}

}  // namespace attnplan::json
