// What a kernel demands of the metadata it is handed. Contracts are data: the planner proves one
// before it dispatches, and no kernel name appears in planner logic. docs/planning.md, "Contracts".
#pragma once

#include <cstdint>
#include <memory_resource>
#include <optional>
#include <string>
#include <vector>

#include "attnplan/kv_cache.h"

namespace attnplan {

enum class Route : int32_t { kPad = 0, kDecode = 1, kExtend = 2, kPrefill = 3 };
enum class Mask : int32_t { kCausal = 0, kFull = 1 };
enum class Context : int32_t { kAny = 0, kNone = 1, kSome = 2 };
enum class DtypeLabel : int32_t { kView = 0, kStorage = 1 };
enum class Pads : int32_t { kEmpty = 0, kFullWidth = 1 };
enum class Capture : int32_t { kDefault = 0, kUniform = 1, kAlways = 2, kNever = 3 };

inline constexpr uint32_t kFeatureSinks = 1, kFeatureSoftCap = 2, kFeatureAlibi = 4,
                          kFeatureLse = 8, kAllFeatures = 15;

// Bit numbers, in the order of the contract table; messages list them in this order.
enum class Reason : int32_t {
  kRagged,
  kInteriorPad,
  kQueryLensNotExact,
  kWidthUnsupported,
  kGroupTooWide,
  kGroupUnsupported,
  kContextUnsupported,
  kSeqLensNotExact,
  kTooFewRequests,
  kTooManyRequests,
  kSeqTooLong,
  kHeadSizeUnsupported,
  kArchUnsupported,
  kMaskUnsupported,
  kWindowUnsupported,
  kFeatureUnsupported,
  kBlockSizeUnsupported,
  kPageSizeUnsupported,
  kDtypeUnsupported,
  kLayoutUnsupported,
  kTileMisaligned,
  kOffsetOverflow,
};
inline constexpr int kNumReasons = 22;
constexpr uint32_t bit(Reason reason) { return 1u << static_cast<int>(reason); }
const char* name(Reason reason);
const char* name(Route route);

// A list that may be absent (any value); a present and empty one admits nothing.
using IntList = std::optional<std::pmr::vector<int32_t>>;
using StringList = std::optional<std::pmr::vector<std::pmr::string>>;

struct Contract {
  explicit Contract(std::pmr::memory_resource* memory = std::pmr::get_default_resource())
      : name(memory) {}

  std::pmr::string name;
  Route route = Route::kDecode;
  bool uniform = false;  // maps row / width to a request
  bool exact_seq_lens = false;
  bool sliding_window = true;
  bool equal_kv_rows = false;
  bool equal_scale_rows = false;
  IntList query_lens;
  IntList groups;
  IntList head_sizes;
  IntList v_head_sizes;  // where given: each belongs to the head size at the same place
  IntList block_sizes;
  IntList page_sizes;
  StringList archs;
  std::optional<uint32_t> masks;  // bits of Mask; absent: causal
  uint32_t features = 0;
  std::optional<uint32_t> dtypes;   // bits of Dtype, view labels; absent: any
  std::optional<uint32_t> layouts;  // bits of Layout
  std::optional<uint32_t> scales;   // bits of Scale
  int32_t max_query_len = 0;        // rows; 0: none, likewise the bounds below
  int32_t max_query_len_x_group = 0;
  Context context = Context::kAny;
  int32_t min_requests = 0;
  int32_t max_requests = 0;
  int32_t max_seq_len = 0;  // tokens
  int32_t tile_tokens = 0;
  int32_t query_tile = 64;  // packed rows (rows x group) of one query tile of the work list
  int32_t kv_tile = 128;    // tokens of one KV tile
  int32_t num_splits = 0;   // of a kernel that always splits KV so; 0: none
  OffsetLimit offset_limit;
  DtypeLabel dtype_label = DtypeLabel::kView;
  Pads pads = Pads::kEmpty;
  Capture graph = Capture::kDefault;

  Capture capture() const {
    if (graph != Capture::kDefault) return graph;
    return route == Route::kDecode ? Capture::kUniform : Capture::kNever;
  }
};

}  // namespace attnplan
