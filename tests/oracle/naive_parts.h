// The parts of the naive planner, in the order in which naive_plan() uses them. Internal.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "contract.h"
#include "naive_plan.h"

namespace attnplan::oracle {

using MaybeError = std::optional<NaiveError>;

NaiveError plan_error(attnplan_code code, int64_t request, int64_t value, int64_t limit);
NaiveError call_error(attnplan_status status);

// ---- naive_setup.cc, naive_cache.cc: what is known before any step

struct NaiveCache {
  attnplan_kv_cache given = ATTNPLAN_KV_CACHE_INIT;
  attnplan_kv_view view = ATTNPLAN_KV_VIEW_INIT;
};

struct NaiveSetup {
  std::vector<Contract> kernels;
  std::optional<NaiveCache> cache;
  std::string arch;
  int64_t num_q_heads = 16, num_kv_heads = 1, head_size = 128, v_head_size = 128;
  int64_t decode_threshold = 1;
  attnplan_mask mask = ATTNPLAN_MASK_CAUSAL;
  attnplan_features features = 0;
  int64_t sliding_window = 0;
  bool short_extend_decode = false;
  bool sort = false;
  attnplan_ragged_policy ragged = ATTNPLAN_RAGGED_DEMOTE;
  int64_t max_segments = 8;
  int64_t max_model_len = 0, max_num_seqs = 0, max_num_batched_tokens = 0;  // 0: unlimited

  bool has_kernel(attnplan_route route) const;
};

MaybeError read_setup(const attnplan_config& config, NaiveSetup* setup);
MaybeError resolve_cache(const attnplan_kv_cache& given, const NaiveSetup& setup,
                         NaiveCache* cache);
int64_t element_bytes(attnplan_dtype dtype);

// ---- naive_step.cc: the step, request by request

enum class Class { kPad, kDecode, kExtend, kPrefill };

struct NaiveRequest {
  int32_t input = 0;  // index in the step
  int64_t query = 0, seq = 0, context = 0;
  std::optional<int64_t> computed, prompt, known, draft;
  std::optional<bool> prefilling, seq_exact_given;
  Class cls = Class::kPad;
  int rule = 0;  // of the planning page, section 3, that gave the class
  bool exact_query = true, exact_seq = true, exact_context = true;
  int64_t max_query = 0, min_query = 0, max_seq = 0, min_seq = 0;  // bounds; else query and seq
  std::optional<int64_t> clamp;  // tokens that the block table of a draft step can hold

  bool live() const { return query > 0; }
};

struct NaiveStep {
  std::vector<NaiveRequest> requests;
  attnplan_phase phase = ATTNPLAN_PHASE_TARGET;
  bool query_flag = true, seq_flag = true;  // as the caller set them
  int64_t num_tokens = 0, max_query_len = 0, num_reqs_padded = 0, num_tokens_padded = 0;
  attnplan_graph_mode graph_allow = ATTNPLAN_GRAPH_ALLOW_FULL;
  int64_t query_len_bound = 0;

  bool dummies() const { return phase == ATTNPLAN_PHASE_CAPTURE || phase == ATTNPLAN_PHASE_IDLE; }
  bool all_lengths_exact() const;  // section 2: by the flags
  int64_t num_rows() const;
};

// Reads and range-checks: the first two checks.
MaybeError read_step(const attnplan_step& in, NaiveStep* step);
// Classes and exactness. Bounds follow once the block tables have clamped what they clamp.
void classify(const NaiveSetup& setup, NaiveStep* step);

// ---- naive_validate.cc: the checks behind the ranges, in table order

MaybeError validate_lengths(const NaiveSetup& setup, const NaiveStep& step);
MaybeError validate_blocks(const NaiveSetup& setup, const attnplan_group* group, NaiveStep* step,
                           std::vector<NaiveWarning>* warnings);
MaybeError validate_capacity(const NaiveSetup& setup, const NaiveStep& step);

// ---- naive_contract.cc

// Bits of attnplan_reason: why `kernel` may not have `requests` (a range, pads included).
uint32_t refusal(const NaiveSetup& setup, const Contract& kernel,
                 std::span<const NaiveRequest> requests);
int64_t kernel_page_size(const NaiveSetup& setup, const Contract& kernel);  // 0: none fits

// ---- naive_resolve.cc

struct Range {
  int begin = 0, end = 0;  // plan positions

  bool empty() const { return begin == end; }
  bool contains(const Range& other) const { return begin <= other.begin && other.end <= end; }
  bool operator==(const Range&) const = default;
};

struct RoutedRange {
  Range range;
  attnplan_route route = ATTNPLAN_ROUTE_PAD;
  int kernel = 0;
  std::vector<NaiveRefusal> refusals;
};

struct Resolution {
  MaybeError error;
  std::vector<RoutedRange> segments;  // in plan order
  attnplan_ragged_policy policy = ATTNPLAN_RAGGED_DEFAULT;
  Range decode;  // D
};

// `requests` in plan order.
Resolution resolve_routes(const NaiveSetup& setup, std::span<const NaiveRequest> requests);

// ---- naive_measure.cc

NaiveSegment measure(const NaiveSetup& setup, std::span<const NaiveRequest> requests,
                     const RoutedRange& routed);
NaiveSections make_sections(std::span<const NaiveRequest> requests,
                            const std::vector<NaiveSegment>& segments);

}  // namespace attnplan::oracle
