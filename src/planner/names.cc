// Names of enumerators, as documents and messages spell them.
#include <array>
#include <cstddef>

#include "attnplan/contract.h"
#include "attnplan/error.h"
#include "attnplan/kv_cache.h"

namespace attnplan {
namespace {

template <size_t kCount, typename Enum>
const char* pick(const std::array<const char*, kCount>& names, Enum value) {
  const auto index = static_cast<size_t>(static_cast<int32_t>(value));
  return index < kCount ? names[index] : "?";
}

constexpr std::array<const char*, 7> kStatusNames = {"OK",
                                                     "PLAN_ERROR",
                                                     "INVALID_ARGUMENT",
                                                     "UNIMPLEMENTED",
                                                     "BUFFER_TOO_SMALL",
                                                     "OUT_OF_MEMORY",
                                                     "INTERNAL"};
constexpr std::array<const char*, 21> kCodeNames = {"NONE",
                                                    "QUERY_START_LOC_INVALID",
                                                    "VALUE_OUT_OF_RANGE",
                                                    "SEQ_SHORTER_THAN_QUERY",
                                                    "SEQ_MISMATCH",
                                                    "ROW_COUNT_MISMATCH",
                                                    "QUERY_LEN_BOUND_TOO_SMALL",
                                                    "QUERY_DRAFT_MISMATCH",
                                                    "BLOCK_TABLE_TOO_NARROW",
                                                    "PAGE_OUT_OF_RANGE",
                                                    "NEED_EXACT_SEQ_LENS",
                                                    "NO_ROUTE",
                                                    "CAPACITY_EXCEEDED",
                                                    "KV_ROWS_UNADDRESSABLE",
                                                    "DTYPE_MISMATCH",
                                                    "OFFSET_OVERFLOW",
                                                    "LAYOUT_UNSUPPORTED",
                                                    "BLOCK_SIZE_UNSUPPORTED",
                                                    "PAGE_SIZE_MISMATCH",
                                                    "SEQ_LEN_CLAMPED",
                                                    "BAD_DOCUMENT"};
constexpr std::array<const char*, kNumReasons> kReasonNames = {"RAGGED",
                                                               "INTERIOR_PAD",
                                                               "QUERY_LENS_NOT_EXACT",
                                                               "WIDTH_UNSUPPORTED",
                                                               "GROUP_TOO_WIDE",
                                                               "GROUP_UNSUPPORTED",
                                                               "CONTEXT_UNSUPPORTED",
                                                               "SEQ_LENS_NOT_EXACT",
                                                               "TOO_FEW_REQUESTS",
                                                               "TOO_MANY_REQUESTS",
                                                               "SEQ_TOO_LONG",
                                                               "HEAD_SIZE_UNSUPPORTED",
                                                               "ARCH_UNSUPPORTED",
                                                               "MASK_UNSUPPORTED",
                                                               "WINDOW_UNSUPPORTED",
                                                               "FEATURE_UNSUPPORTED",
                                                               "BLOCK_SIZE_UNSUPPORTED",
                                                               "PAGE_SIZE_UNSUPPORTED",
                                                               "DTYPE_UNSUPPORTED",
                                                               "LAYOUT_UNSUPPORTED",
                                                               "TILE_MISALIGNED",
                                                               "OFFSET_OVERFLOW"};
constexpr std::array<const char*, 4> kRouteNames = {"pad", "decode", "extend", "prefill"};
constexpr std::array<const char*, 8> kDtypeNames = {"none",   "bf16",     "fp16", "uint8",
                                                    "e4m3fn", "e4m3fnuz", "e5m2", "e5m2fnuz"};

}  // namespace

const char* name(Status status) { return pick(kStatusNames, status); }
const char* name(Code code) { return pick(kCodeNames, code); }
const char* name(Reason reason) { return pick(kReasonNames, reason); }
const char* name(Route route) { return pick(kRouteNames, route); }
const char* name(Dtype dtype) { return pick(kDtypeNames, dtype); }

}  // namespace attnplan
