#include "hip/m3_problem.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <sstream>
#include <stdexcept>

#include "attnplan_hip.h"
#include "cpu/oracle.h"
#include "hip/m3_step.h"
#include "hip/memory.h"
#include "hip/runtime.h"
#include "property/dice.h"

namespace attnplan::hip_test {
namespace {

using cpu::bytes_of;
using cpu::decode;
using cpu::dtype_of;
using cpu::name_of;
using cpu::poison_byte;

constexpr uint8_t kNan = 0xff;
constexpr uint8_t kNoBlock = 0x5a;  // neither a block nor -1

void check(attnplan_status status, const attnplan_error& error, const char* what) {
  if (status != ATTNPLAN_OK) throw std::runtime_error(std::string(what) + ": " + error.message);
}

std::string arch_under_test() {
  hip::DeviceProperties properties;
  if (hip::device_properties(0, &properties) != 0) throw std::runtime_error("no device");
  return properties.arch;
}

// The layer as the library takes it.
struct M3Layer {
  explicit M3Layer(const M3Step& step) : arch(arch_under_test()), cache(step.cache()) {
    attention.kv_cache = &cache;
    attention.arch = arch.c_str();
    attention.q_dtype = dtype_of(step.d.q);
    attention.num_q_heads = step.d.num_kv_heads * step.d.group;
    attention.num_kv_heads = step.d.num_kv_heads;
    attention.top_k = step.d.params.top_k;
  }
  M3Layer(const M3Layer&) = delete;
  M3Layer& operator=(const M3Layer&) = delete;

  std::string arch;
  attnplan_kv_cache cache;
  attnplan_hip_attention attention = ATTNPLAN_HIP_ATTENTION_INIT;
};

uint64_t sections(bool page_table) {
  uint64_t bits = 0;
  for (const int32_t id :
       {ATTNPLAN_SECTION_QUERY_START_LOC, ATTNPLAN_SECTION_SEQ_LENS, ATTNPLAN_SECTION_CONTEXT_LENS,
        ATTNPLAN_SECTION_ROW_REQUEST, ATTNPLAN_SECTION_ROW_POSITION}) {
    bits |= uint64_t{1} << id;
  }
  return bits | (page_table ? uint64_t{1} << ATTNPLAN_SECTION_PAGE_TABLE
                            : uint64_t{1} << ATTNPLAN_SECTION_PAGE_INDPTR |
                                  uint64_t{1} << ATTNPLAN_SECTION_PAGE_INDICES);
}

struct PlannerDeleter {
  void operator()(attnplan_planner* planner) const { attnplan_planner_destroy(planner); }
  void operator()(attnplan_scratch* scratch) const { attnplan_scratch_destroy(scratch); }
};
struct Free {
  void operator()(void* memory) const { std::free(memory); }
};

struct M3Plan {
  M3Plan(const M3Step& step, const M3Layer& layer) {
    attnplan_error error = ATTNPLAN_ERROR_INIT;
    attnplan_config config = ATTNPLAN_CONFIG_INIT;
    config.profile = "hip_m3";
    config.kv_cache = &layer.cache;
    config.arch = layer.arch.c_str();
    config.sections = sections(step.d.page_table);
    config.num_q_heads = layer.attention.num_q_heads;
    config.num_kv_heads = layer.attention.num_kv_heads;
    config.decode_threshold = 8;
    config.work = ATTNPLAN_WORK_STREAM_K;
    config.num_workers = 1 + static_cast<int32_t>(step.d.seed % 40);  // splits or none
    check(
        attnplan_hip_contracts(&layer.attention, &config.contracts, &config.num_contracts, &error),
        error, "contracts");
    const int32_t graph_rows = step.rows() + step.d.graph_pads;
    if (step.d.graph_pads >= 0) {
      config.graph_full = {&graph_rows, 1};
      config.max_model_len = step.columns * kM3BlockSize;
      config.max_num_seqs = config.max_num_batched_tokens = graph_rows + step.num_requests();
    }
    attnplan_planner* made = nullptr;
    check(attnplan_planner_create(&config, &made, &error), error, "planner");
    const std::unique_ptr<attnplan_planner, PlannerDeleter> planner(made);
    attnplan_scratch* scratch_made = nullptr;
    check(attnplan_scratch_create(nullptr, &scratch_made, &error), error, "scratch");
    const std::unique_ptr<attnplan_scratch, PlannerDeleter> scratch(scratch_made);
    attnplan_step lengths = ATTNPLAN_STEP_INIT;
    lengths.query_lens = step.query_lens.data();
    lengths.seq_lens = step.seq_lens.data();
    lengths.num_reqs = step.num_requests();
    if (step.d.idle) lengths.num_tokens_padded = graph_rows;
    attnplan_group group = ATTNPLAN_GROUP_INIT;
    group.block_ids = step.block_ids.data();
    group.columns = step.columns;
    size_t room = 0;
    check(attnplan_plan_size(planner.get(), scratch.get(), &lengths, &group, &room, &error), error,
          "size of a plan");
    blob.reset(std::aligned_alloc(64, (room + 63) / 64 * 64));
    check(attnplan_plan_build(planner.get(), scratch.get(), &lengths, &group, blob.get(), room,
                              &bytes, &error),
          error, "plan");
    const attnplan_plan_header& header = *attnplan_plan_get_header(blob.get(), bytes);
    segments = header.num_segments;
    rows = std::max(header.num_rows, step.d.graph_pads >= 0 ? header.graph_rows : 0);
    for (int32_t s = 0; s < segments; ++s) {
      longest = std::max(longest, attnplan_plan_get_segments(blob.get(), bytes)[s].max_seq_len);
    }
  }

  std::unique_ptr<void, Free> blob;
  size_t bytes = 0;
  int32_t segments = 0;
  int32_t rows = 0;     // those of the graph included
  int32_t longest = 1;  // tokens
};

// Everything on the device.
struct M3Tensors {
  M3Tensors(const M3Step& step, const M3Plan& made)
      : plan(made.bytes, kNan, Buffer::Aligned::k64),
        q(step.q.size() * 2, kNan),
        index_q(step.index_q.size() * 2, kNan),
        cache(static_cast<size_t>(step.cache_elements() * bytes_of(step.d.cache)),
              poison_byte(step.d.cache)),
        index(step.index_k.size() * static_cast<size_t>(bytes_of(step.d.index)),
              poison_byte(step.d.index)),
        selected(static_cast<size_t>(made.rows * step.d.num_kv_heads * step.d.params.top_k) * 4,
                 kNoBlock),
        out(static_cast<size_t>(made.rows * step.num_q_heads() * kM3HeadSize) * 2, kNan),
        lse(static_cast<size_t>(made.rows * step.num_q_heads()) * 4, kNan),
        rows(made.rows) {
    plan.write(0, made.blob.get(), made.bytes);
    q.write(0, step.q.data(), q.bytes());
    index_q.write(0, step.index_q.data(), index_q.bytes());
    step.cache_image().upload(&cache);
    step.index_image().upload(&index);
  }

  Buffer plan, q, index_q, cache, index, selected, out, lse;
  const int32_t rows;
};

void run(const M3Step& step, const M3Layer& layer, const M3Plan& plan, M3Tensors* tensors) {
  attnplan_error error = ATTNPLAN_ERROR_INIT;
  attnplan_hip_plan both = ATTNPLAN_HIP_PLAN_INIT;
  both.host = plan.blob.get();
  both.device = tensors->plan.device();
  both.bytes = plan.bytes;
  attnplan_hip_kv kv = ATTNPLAN_HIP_KV_INIT;
  kv.k = tensors->cache.device();
  size_t index_bytes = 0, bytes = 0;
  check(attnplan_hip_select_workspace_size(&layer.attention, both.host, both.bytes, plan.longest,
                                           &index_bytes, &error),
        error, "workspace of the selection");
  check(attnplan_hip_workspace_size(&layer.attention, both.host, both.bytes, &bytes, &error), error,
        "workspace");
  const Buffer index_workspace(index_bytes, kNan), workspace(bytes, kNan);

  attnplan_hip_index index = ATTNPLAN_HIP_INDEX_INIT;
  index.k = tensors->index.device();
  index.dtype = dtype_of(step.d.index);
  index.init_blocks = step.d.params.init_blocks;
  index.local_blocks = step.d.params.local_blocks;
  attnplan_hip_select_args select = ATTNPLAN_HIP_SELECT_ARGS_INIT;
  select.attention = &layer.attention;
  select.index = &index;
  select.plan = &both;
  select.q = tensors->index_q.device();
  select.selected = static_cast<int32_t*>(tensors->selected.device());
  select.workspace = index_workspace.device();
  select.workspace_bytes = index_bytes;
  select.max_seq_len = plan.longest;
  attnplan_hip_launch_args args = ATTNPLAN_HIP_LAUNCH_ARGS_INIT;
  args.attention = &layer.attention;
  args.kv = &kv;
  args.plan = &both;
  args.q = tensors->q.device();
  args.out = tensors->out.device();
  args.lse = static_cast<float*>(tensors->lse.device());
  args.workspace = workspace.device();
  args.workspace_bytes = bytes;
  args.selected = select.selected;
  for (int32_t s = 0; s < std::max(plan.segments, 1); ++s) {
    select.segment = args.segment = s;
    check(attnplan_hip_select(&select, nullptr, &error), error, "selection");
    check(attnplan_hip_launch(&args, nullptr, &error), error, "launch");
  }
  for (const Buffer* buffer : {&index_workspace, &workspace}) {
    if (!buffer->guards_intact()) throw std::runtime_error("written outside of a workspace");
  }
}

class Judge {
 public:
  Judge(const M3Step& step, const M3Tensors& tensors)
      : step_(step),
        rows_(tensors.rows),
        selected_(read<int32_t>(tensors.selected)),
        out_(read<uint16_t>(tensors.out)),
        lse_(read<float>(tensors.lse)) {
    for (const Buffer* buffer : {&tensors.plan, &tensors.q, &tensors.index_q, &tensors.cache,
                                 &tensors.index, &tensors.selected, &tensors.out, &tensors.lse}) {
      if (!buffer->guards_intact()) fail("a guard region was written to");
    }
  }

  std::vector<std::string> judge() {
    for (int32_t r = 0; r < step_.num_requests(); ++r) {
      const std::vector<double> index_keys = step_.index_keys(r);
      for (int32_t head = 0; head < step_.d.num_kv_heads; ++head) {
        const std::vector<double> keys = step_.keys(r, head), values = step_.values(r, head);
        const int32_t first = step_.starts[static_cast<size_t>(r)];
        for (int32_t row = first; row < first + step_.query_lens[static_cast<size_t>(r)]; ++row) {
          judge_row(row, head, index_keys, keys, values);
        }
      }
    }
    judge_pads();
    return failures_;
  }

 private:
  template <class T>
  static std::vector<T> read(const Buffer& buffer) {
    const std::vector<uint8_t> bytes = buffer.read(0, buffer.bytes());
    std::vector<T> values(bytes.size() / sizeof(T));
    std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
    return values;
  }

  // Rows behind the batch attend nothing.
  void judge_pads() {
    const auto none = [&](const auto& values, int64_t per_row, auto value, const char* what) {
      for (auto i = static_cast<size_t>(step_.rows() * per_row); i < values.size(); ++i) {
        if (values[i] == value) continue;
        return fail("row " + std::to_string(static_cast<int64_t>(i) / per_row) + " of " +
                    std::to_string(rows_) + ": " + what + " " + std::to_string(values[i]));
      }
    };
    none(out_, step_.num_q_heads() * kM3HeadSize, 0, "output");
    none(lse_, step_.num_q_heads(), -HUGE_VALF, "log-sum-exp");
    for (int32_t head = 0; head < step_.d.num_kv_heads; ++head) {
      for (int32_t i = step_.rows() * step_.d.params.top_k; i < rows_ * step_.d.params.top_k; ++i) {
        const int32_t block =
            selected_[static_cast<size_t>(head * rows_ * step_.d.params.top_k + i)];
        if (block != -1) return fail("a row of the graph has block " + std::to_string(block));
      }
    }
  }

  void judge_row(int32_t row, int32_t kv_head, const std::vector<double>& index_keys,
                 const std::vector<double>& keys, const std::vector<double>& values) {
    const int32_t position = step_.position(row);
    const std::vector<double> query = step_.index_query(row, kv_head);
    const auto blocks = cpu::oracle_m3_blocks(step_.d.params, query.data(),
                                              {index_keys.data(), kM3HeadSize}, position);
    const int32_t* found =
        &selected_[static_cast<size_t>((kv_head * rows_ + row) * step_.d.params.top_k)];
    if (!std::equal(blocks.begin(), blocks.end(), found)) {
      std::ostringstream text;
      text << "row " << row << ", head " << kv_head << ": blocks";
      for (size_t i = 0; i < blocks.size(); ++i) text << " " << found[i] << "(" << blocks[i] << ")";
      return fail(text.str());
    }
    std::vector<int64_t> visible;
    for (int64_t key = 0; key <= position; ++key) visible.push_back(key);
    const auto listed = cpu::oracle_m3_keys(step_.d.params, blocks, visible);
    for (int32_t head = kv_head * step_.d.group; head < (kv_head + 1) * step_.d.group; ++head) {
      judge_head(row, head, listed, keys, values);
    }
  }

  void judge_head(int32_t row, int32_t head, const std::vector<int64_t>& listed,
                  const std::vector<double>& keys, const std::vector<double>& values) {
    cpu::AttentionShape shape;
    std::vector<double> right(kM3HeadSize);
    const double lse =
        cpu::oracle_attend(shape, step_.query(row, head).data(), {keys.data(), kM3HeadSize},
                           {values.data(), kM3HeadSize}, listed, right);
    const auto at = static_cast<size_t>(row * step_.d.num_kv_heads * step_.d.group + head);
    double largest = 0, error = 0;
    for (size_t e = 0; e < kM3HeadSize; ++e) {
      const double difference = std::fabs(decode(step_.d.q, out_[at * kM3HeadSize + e]) - right[e]);
      largest = std::fmax(largest, std::fabs(right[e]));
      if (!(difference <= error)) error = difference;  // NaN stays
    }
    const double tolerance = step_.d.cache == Format::kFp16 ? 2e-3 : 2e-2;
    if (!(error <= tolerance * largest) || !(std::fabs(lse_[at] - lse) <= tolerance)) {
      std::ostringstream text;
      text << "row " << row << ", head " << head << ": error " << error << " of " << largest
           << ", log-sum-exp " << lse_[at] << " instead of " << lse;
      fail(text.str());
    }
  }

  void fail(const std::string& what) {
    if (failures_.size() < 5) failures_.push_back(what);
  }

  const M3Step& step_;
  const int32_t rows_;
  const std::vector<int32_t> selected_;
  const std::vector<uint16_t> out_;
  const std::vector<float> lse_;
  std::vector<std::string> failures_;
};

}  // namespace

M3Description draw_m3(uint64_t seed, Format cache, bool shuffle) {
  property::Dice dice(seed);
  M3Description d;
  d.seed = seed;
  d.cache = cache;
  d.shuffle = shuffle;
  d.q = bytes_of(cache) == 2 ? cache : dice.pick({Format::kBf16, Format::kFp16});
  d.index = dice.pick({d.q, Format::kE4m3fn, Format::kE4m3fnuz, Format::kE5m2});
  d.num_kv_heads = dice.in32(1, 2);
  d.group = dice.pick({1, 4, 8, 16});
  d.packed = dice.percent(50);
  d.page_table = dice.percent(50);
  d.page_size = dice.pick({16, 32, 64, 128});
  d.requests = dice.in32(1, 5);
  d.max_len = dice.pick({200, 900});
  d.params.top_k = dice.pick({1, 3, 16});
  d.params.init_blocks = dice.in32(0, 1);
  d.params.local_blocks = dice.in32(1, 2);
  if (d.params.top_k == 1) {  // more that are always taken are refused
    d.params.init_blocks = 0;
    d.params.local_blocks = 1;
  }
  if (dice.percent(60)) d.graph_pads = dice.in32(1, 20);
  d.idle = d.graph_pads > 0 && dice.percent(30);
  return d;
}

std::string words(const M3Description& d) {
  std::ostringstream text;
  text << "seed " << d.seed << ", q " << name_of(d.q) << ", cache " << name_of(d.cache)
       << (d.packed ? " packed" : "") << (d.shuffle ? " shuffled" : "") << ", index "
       << name_of(d.index) << ", " << d.num_kv_heads << " x " << d.group << " heads, page "
       << d.page_size << ", " << d.requests << " requests to " << d.max_len << ", top_k "
       << d.params.top_k << ", init " << d.params.init_blocks << ", local "
       << d.params.local_blocks;
  if (d.graph_pads >= 0) text << ", " << d.graph_pads << " rows of a graph";
  if (d.idle) text << ", idle";
  return text.str();
}

std::vector<std::string> solve_m3(const M3Description& description) {
  try {
    const M3Step step(description);
    const M3Layer layer(step);
    const M3Plan plan(step, layer);
    M3Tensors tensors(step, plan);
    run(step, layer, plan, &tensors);
    return Judge(step, tensors).judge();
  } catch (const std::exception& error) {
    return {error.what()};
  }
}

}  // namespace attnplan::hip_test
