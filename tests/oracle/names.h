// Names of the batch document for the numbers of the C header, as the tests' own JSON spells them.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "attnplan.h"

namespace attnplan::oracle {

using Names = std::vector<std::pair<const char*, int64_t>>;

inline const Names kPhases = {{"target", 0}, {"draft", 1}, {"capture", 2}, {"idle", 3}};
inline const Names kMasks = {{"causal", 0}, {"full", 1}};
inline const Names kRoutes = {{"pad", 0}, {"decode", 1}, {"extend", 2}, {"prefill", 3}};
inline const Names kContexts = {{"any", 0}, {"none", 1}, {"some", 2}};
inline const Names kLabels = {{"view", 0}, {"storage", 1}};
inline const Names kPads = {{"empty", 0}, {"full_width", 1}};
inline const Names kCaptures = {{"uniform", 1}, {"always", 2}, {"never", 3}};
inline const Names kUnits = {{"elements", 1}, {"bytes", 2}};
inline const Names kOrders = {{"as_given", 0}, {"sort", 1}};
inline const Names kPolicies = {
    {"demote", 1}, {"uniform_prefix", 2}, {"split_runs", 3}, {"auto", 4}};
inline const Names kAllows = {{"full", 0}, {"piecewise", 1}, {"none", 2}};
inline const Names kFeatures = {{"sinks", 1}, {"soft_cap", 2}, {"alibi", 4}, {"lse", 8}};
inline const Names kDtypes = {{"bf16", 1},     {"fp16", 2}, {"uint8", 3},   {"e4m3fn", 4},
                              {"e4m3fnuz", 5}, {"e5m2", 6}, {"e5m2fnuz", 7}};
inline const Names kCacheDtypes = {{"auto", 0},     {"bf16", 1},     {"fp16", 2},   {"fp8", 3},
                                   {"fp8_e4m3", 4}, {"fp8_e5m2", 5}, {"fp8_inc", 6}};
inline const Names kLayouts = {{"lbnhc", 0}, {"lbhnc", 1}, {"lhbnc", 2}, {"blhnc", 3}, {"blnhc", 4},
                               {"bhlnc", 5}, {"mla", 6},   {"nhd", 0},   {"hnd", 1}};
inline const Names kScales = {
    {"none", 0}, {"tensor", 1}, {"head", 2}, {"token_head", 3}, {"token_inline", 4}};
inline const Names kSections = {{"query_start_loc", ATTNPLAN_SECTION_QUERY_START_LOC},
                                {"seq_lens", ATTNPLAN_SECTION_SEQ_LENS},
                                {"context_lens", ATTNPLAN_SECTION_CONTEXT_LENS},
                                {"row_request", ATTNPLAN_SECTION_ROW_REQUEST},
                                {"row_position", ATTNPLAN_SECTION_ROW_POSITION}};
inline const Names kContractFlags = {{"uniform", ATTNPLAN_CONTRACT_UNIFORM},
                                     {"exact_seq_lens", ATTNPLAN_CONTRACT_EXACT_SEQ_LENS},
                                     {"equal_kv_rows", ATTNPLAN_CONTRACT_EQUAL_KV_ROWS},
                                     {"equal_scale_rows", ATTNPLAN_CONTRACT_EQUAL_SCALE_ROWS}};
inline const Names kCodes = {{"QUERY_START_LOC_INVALID", 1},
                             {"VALUE_OUT_OF_RANGE", 2},
                             {"SEQ_SHORTER_THAN_QUERY", 3},
                             {"SEQ_MISMATCH", 4},
                             {"ROW_COUNT_MISMATCH", 5},
                             {"QUERY_LEN_BOUND_TOO_SMALL", 6},
                             {"QUERY_DRAFT_MISMATCH", 7},
                             {"BLOCK_TABLE_TOO_NARROW", 8},
                             {"PAGE_OUT_OF_RANGE", 9},
                             {"NEED_EXACT_SEQ_LENS", 10},
                             {"NO_ROUTE", 11},
                             {"CAPACITY_EXCEEDED", 12},
                             {"KV_ROWS_UNADDRESSABLE", 13},
                             {"DTYPE_MISMATCH", 14},
                             {"OFFSET_OVERFLOW", 15},
                             {"LAYOUT_UNSUPPORTED", 16},
                             {"BLOCK_SIZE_UNSUPPORTED", 17},
                             {"PAGE_SIZE_MISMATCH", 18},
                             {"SEQ_LEN_CLAMPED", 19},
                             {"BAD_DOCUMENT", 20}};
// In the order of the contract table: index is attnplan_reason.
inline const std::vector<const char*> kReasons = {"RAGGED",
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

inline std::string name_of(const Names& names, int64_t value) {
  for (const auto& [name, number] : names) {
    if (number == value) return name;
  }
  return std::to_string(value);
}

}  // namespace attnplan::oracle
