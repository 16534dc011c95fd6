#include "tool/bench_inputs.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <random>
#include <stdexcept>

#include "json/batch_document.h"

namespace attnplan::tool {
namespace {

constexpr int32_t kSizes[] = {1, 32, 256, 1024, 8192};
constexpr std::array<const char*, 3> kShapes = {"uniform", "ragged", "mixed"};
constexpr std::array<const char*, 2> kTraces = {"conversation_eagle3", "code_plain"};
constexpr int32_t kGroups[] = {1, 4, 20};
constexpr int32_t kThreshold = 4;  // three drafts
constexpr int32_t kColumns = 64;   // of the block table: 8192 tokens
// Inputs of one case stay in a second-level cache, as arrays that an engine has just written do.
constexpr size_t kMaxInputBytes = 256 << 10;

using Random = std::mt19937;
int32_t between(Random& random, int32_t low, int32_t high) {
  return std::uniform_int_distribution<int32_t>(low, high)(random);
}

void append(BenchStep& step, int32_t context, int32_t rows, int32_t prompt) {
  step.query_start_loc.push_back(step.query_start_loc.back() + rows);
  step.seq_lens.push_back(context + rows);
  step.num_computed_tokens.push_back(context);
  step.num_prompt_tokens.push_back(prompt);
}

void append_decode(BenchStep& step, Random& random, int32_t rows) {
  const int32_t context = between(random, 64, 8000);
  append(step, context, rows, between(random, 16, context));
}

// uniform: a verify step. ragged: one request in seven has fewer drafts. mixed: a verify step, then
// chunks of prompts behind a cached prefix, then new prompts.
BenchStep make_step(std::string_view shape, int32_t n, Random& random) {
  BenchStep step;
  step.decode_threshold = kThreshold;
  step.query_start_loc.push_back(0);
  const int32_t decodes = shape == "mixed" ? n * 3 / 4 : n;
  const int32_t extends = (n - decodes) / 2;
  for (int32_t i = 0; i < decodes; ++i) {
    const bool fewer = shape == "ragged" && between(random, 0, 6) == 0;
    append_decode(step, random, fewer ? between(random, 1, kThreshold - 1) : kThreshold);
  }
  for (int32_t i = decodes; i < n; ++i) {
    const int32_t context = i < decodes + extends ? between(random, 1, 4000) : 0;
    const int32_t rows = between(random, 16, 512);
    append(step, context, rows, context + rows + between(random, 0, 100));
  }
  return step;
}

void add_block_table(BenchStep& step, Random& random) {
  step.columns = kColumns;
  step.block_ids.resize(static_cast<size_t>(step.num_reqs()) * kColumns);
  const int32_t num_blocks = step.num_reqs() * kColumns;
  for (int32_t& id : step.block_ids) id = between(random, 0, num_blocks - 1);
}

// "shape/n" or "shape/n/ask", as bench_input_names() spells them.
BenchInput made_input(const std::string& name) {
  BenchInput input;
  input.name = name;
  const size_t slash = name.find('/');
  const std::string shape = name.substr(0, slash);
  const int32_t n = std::stoi(name.substr(slash + 1));
  const std::string ask = name.substr(std::min(name.find('/', slash + 1), name.size()));
  if (ask == "/stream_k") input.ask = BenchAsk::kStreamK;
  if (ask == "/page_table") input.ask = BenchAsk::kPageTable;
  if (ask.rfind("/groups:", 0) == 0) {
    input.ask = BenchAsk::kGroups;
    input.groups = std::stoi(ask.substr(ask.find(':') + 1));
  }
  Random random(static_cast<uint32_t>(n));
  do {
    input.steps.push_back(make_step(shape, n, random));
    if (input.ask == BenchAsk::kPageTable) add_block_table(input.steps.back(), random);
  } while (input.steps.size() < 16 &&
           input.steps.size() * input.steps.front().bytes() < kMaxInputBytes);
  return input;
}

std::vector<int32_t> copied(const int32_t* values, int32_t count) {
  return values == nullptr ? std::vector<int32_t>() : std::vector<int32_t>(values, values + count);
}

BenchStep step_of(const json::BatchDocument& batch) {
  const attnplan_step& from = batch.step();
  const int32_t n = from.num_reqs;
  BenchStep step;
  step.query_start_loc.push_back(0);
  for (int32_t i = 0; i < n; ++i) {
    step.query_start_loc.push_back(step.query_start_loc.back() + from.query_lens[i]);
  }
  step.seq_lens = copied(from.seq_lens, n);
  step.num_computed_tokens = copied(from.num_computed_tokens, n);
  step.num_prompt_tokens = copied(from.num_prompt_tokens, n);
  step.num_draft_tokens = copied(from.num_draft_tokens, n);
  step.phase = from.phase;
  step.decode_threshold = batch.config().decode_threshold;
  return step;
}

BenchInput trace_input(const std::string& name, const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot read " + path);
  BenchInput input;
  input.name = name;
  json::Source source{path};
  for (std::string line; std::getline(file, line); ++source.line) {
    json::BatchDocument batch;
    const auto error = json::parse_batch(line, source, "aiter_mha", batch);
    if (error) throw std::runtime_error(error->message);
    if (batch.step().query_lens == nullptr) {
      throw std::runtime_error(path + ": a trace gives query_lens");
    }
    input.steps.push_back(step_of(batch));
  }
  if (input.steps.empty()) throw std::runtime_error(path + ": no steps");
  return input;
}

const int32_t* data_or_null(const std::vector<int32_t>& array) {
  return array.empty() ? nullptr : array.data();
}

template <typename Value>
double mean(const std::vector<BenchStep>& steps, Value value) {
  double sum = 0;
  for (const BenchStep& step : steps) sum += static_cast<double>(value(step));
  return sum / static_cast<double>(steps.size());
}

}  // namespace

attnplan_step BenchStep::view() const {
  attnplan_step step = ATTNPLAN_STEP_INIT;
  step.query_start_loc = query_start_loc.data();
  step.seq_lens = seq_lens.data();
  step.num_computed_tokens = data_or_null(num_computed_tokens);
  step.num_prompt_tokens = data_or_null(num_prompt_tokens);
  step.num_draft_tokens = data_or_null(num_draft_tokens);
  step.num_reqs = num_reqs();
  step.phase = phase;
  return step;
}

attnplan_group BenchStep::group() const {
  attnplan_group group = ATTNPLAN_GROUP_INIT;
  group.block_ids = data_or_null(block_ids);
  group.columns = columns;
  return group;
}

std::vector<const std::vector<int32_t>*> BenchStep::arrays() const {
  return {&query_start_loc,   &seq_lens,         &num_computed_tokens,
          &num_prompt_tokens, &num_draft_tokens, &block_ids};
}

size_t BenchStep::bytes() const {
  size_t sum = 0;
  for (const std::vector<int32_t>* array : arrays()) sum += array->size() * sizeof(int32_t);
  return sum;
}

double BenchInput::mean_requests() const {
  return mean(steps, [](const BenchStep& step) { return step.num_reqs(); });
}
double BenchInput::mean_rows() const {
  return mean(steps, [](const BenchStep& step) { return step.query_start_loc.back(); });
}
double BenchInput::mean_bytes() const {
  return mean(steps, [](const BenchStep& step) { return step.bytes(); });
}

std::vector<std::string> bench_input_names(const std::string& data) {
  std::vector<std::string> names;
  const auto add = [&names](const char* shape, const char* ask) {
    for (int32_t n : kSizes) names.push_back(std::string(shape) + "/" + std::to_string(n) + ask);
  };
  for (const char* shape : kShapes) add(shape, "");
  add("uniform", "/stream_k");
  add("ragged", "/stream_k");
  add("uniform", "/page_table");
  for (int32_t groups : kGroups) names.push_back("uniform/256/groups:" + std::to_string(groups));
  if (!data.empty()) {
    for (const char* trace : kTraces) names.push_back(std::string("trace/") + trace);
  }
  return names;
}

BenchInput bench_input(std::string_view name, const std::string& data) {
  const std::string text(name);
  const std::vector<std::string> names = bench_input_names(data);
  if (std::find(names.begin(), names.end(), text) == names.end()) {
    throw std::runtime_error("no benchmark input is called " + text);
  }
  constexpr std::string_view kTrace = "trace/";
  if (text.rfind(kTrace, 0) != 0) return made_input(text);
  return trace_input(text, data + "/traces/" + text.substr(kTrace.size()) + ".jsonl");
}

}  // namespace attnplan::tool
