// The planner: one per KV group, immutable, shared by threads. C++ face without an ABI promise; the
// C ABI (capi/attnplan.h) is a thin shell around it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attnplan/batch.h"
#include "attnplan/contract.h"
#include "attnplan/error.h"
#include "attnplan/kv_cache.h"

namespace attnplan {

enum class Order : int32_t { kAsGiven = 0, kSort = 1 };
enum class Ragged : int32_t {
  kDefault = 0,
  kDemote = 1,
  kUniformPrefix = 2,
  kSplitRuns = 3,
  kAuto = 4
};
enum class ChunkPolicy : int32_t { kFill = 0, kEqual = 1 };
enum class SectionLayout : int32_t { kAuto = 0, kFixed = 1, kCompact = 2 };
enum class Work : int32_t { kNone = 0, kAuto = 1, kStreamK = 2, kEqualChunks = 3, kFixed = 4 };

struct Limits {                        // 0: unlimited
  int32_t max_model_len = 0;           // tokens
  int32_t max_num_seqs = 0;            // requests
  int32_t max_num_batched_tokens = 0;  // rows
  int64_t max_sections_bytes = 0;      // 0: 1 GiB, or what a fixed layout takes
};

struct GraphConfig {
  explicit GraphConfig(std::pmr::memory_resource* memory) : full(memory), piecewise(memory) {}

  bool enabled = false;
  std::pmr::vector<int32_t> full;  // rows
  std::pmr::vector<int32_t> piecewise;
  int32_t width = 0;         // 0: decode_threshold
  int32_t max_num_seqs = 0;  // 0: that of the limits
};

// A KV group of a model on a device, and how to plan for it.
struct Config {
  explicit Config(std::pmr::memory_resource* memory = std::pmr::get_default_resource())
      : profile(memory), contracts(memory), arch("gfx950", memory), graph(memory) {}

  std::pmr::string profile;              // a built-in one's name, or a label for `contracts`
  std::pmr::vector<Contract> contracts;  // in order of preference; empty: the built-in profile
  Ragged profile_ragged = Ragged::kDefault;
  std::pmr::string arch;
  int32_t num_workers = 256;
  int32_t num_q_heads = 16;
  int32_t num_kv_heads = 1;
  int32_t head_size = 128;
  int32_t v_head_size = 128;
  int32_t decode_threshold = 1;
  Mask mask = Mask::kCausal;
  uint32_t features = 0;
  int32_t sliding_window = 0;
  Limits limits;
  std::optional<KvCache> kv_cache;
  GraphConfig graph;
  uint64_t sections = 0;  // bits 1 << ATTNPLAN_SECTION_*
  Order order = Order::kAsGiven;
  Ragged ragged = Ragged::kDefault;
  int32_t max_segments = 8;
  bool short_extend_decode = false;
  ChunkPolicy chunk_policy = ChunkPolicy::kFill;
  int32_t chunk_workspace_tokens = 32768;
  Work work = Work::kNone;
  int32_t work_fixed_tokens = 0;
  SectionLayout section_layout = SectionLayout::kAuto;
  int32_t context_parallel_world = 1;
  int32_t context_parallel_rank = 0;
  int32_t context_parallel_interleave = 1;
  int32_t local_attention_chunk = 0;
};

// What a kernel of the profile is to a group, whatever the batch.
struct KernelInfo {
  Route route = Route::kDecode;
  uint32_t reasons = 0;        // bits of Reason: why it can serve no batch of this group
  int32_t page_size = 0;       // tokens; 0 without a cache, or where none of its pages fits
  Dtype label = Dtype::kNone;  // what its cache argument must carry
};

class Scratch;

class Planner {
 public:
  // Resolves the cache and the contracts. Memory comes from `memory` and from what `config` was
  // built with; both must outlive the planner. Throws std::bad_alloc only.
  static Status create(Config config, std::pmr::memory_resource* memory, Planner** planner,
                       Error* error);
  static void destroy(Planner* planner);

  int32_t num_kernels() const;
  const Contract& contract(int32_t kernel) const;
  KernelInfo kernel_info(int32_t kernel) const;
  const Config& config() const;
  const KvView* kv_view() const;  // null without a cache
  uint64_t hash() const;          // identity, as plans carry it

  // Plans one step into out[0, capacity); *bytes is what the plan takes. With out == nullptr only
  // the size is computed. BUFFER_TOO_SMALL writes nothing but *error.
  Status build(const Step& step, const Group& group, Scratch* scratch, std::byte* out,
               size_t capacity, size_t* bytes, Error* error) const;

  struct Output {
    std::byte* data;
    size_t capacity;
  };
  // One step for several KV groups; lengths are scanned once for all planners that agree on how to
  // read them. Stops at the first failure, whose index is *failed.
  static Status build_many(std::span<const Planner* const> planners, const Step& step,
                           std::span<const Group> groups, Scratch* scratch,
                           std::span<const Output> outputs, size_t* bytes, size_t* failed,
                           Error* error);

  // Bytes that no plan of a step within the limits exceeds; INVALID_ARGUMENT names a limit that is
  // missing.
  Status bound(size_t* bytes, Error* error) const;

  struct State;
  const State& state() const { return *state_; }

 private:
  explicit Planner(State* state) : state_(state) {}
  State* state_;
};

// Working memory of one call at a time; grows to the largest step it has seen.
class Scratch {
 public:
  explicit Scratch(std::pmr::memory_resource* memory);
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  // After a NO_ROUTE or NEED_EXACT_SEQ_LENS: refusals of every kernel tried, and the requests of
  // the step that were left without a kernel, ascending.
  const std::pmr::vector<std::pair<int32_t, uint32_t>>& failed_refusals() const;
  const std::pmr::vector<int32_t>& failed_requests() const;

  struct Buffers;
  Buffers& buffers() { return *buffers_; }

 private:
  Buffers* buffers_;
};

}  // namespace attnplan
