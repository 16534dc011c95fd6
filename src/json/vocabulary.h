// Every closed list of words in the documents, with the numbers of the C ABI.
#pragma once

#include "attnplan.h"
#include "json/reader.h"

namespace attnplan::json {

// The order of the words is the order in which messages list them.
inline constexpr Word kProfiles[] = {
    {"aiter_mha", 0}, {"aiter_fa", 0}, {"minimax_m3_sparse", 0}, {"unified", 0}, {"hip", 0},
    {"hip_m3", 0}};
inline constexpr Word kPhases[] = {{"target", ATTNPLAN_PHASE_TARGET},
                                   {"draft", ATTNPLAN_PHASE_DRAFT},
                                   {"capture", ATTNPLAN_PHASE_CAPTURE},
                                   {"idle", ATTNPLAN_PHASE_IDLE}};
inline constexpr Word kMasks[] = {{"causal", ATTNPLAN_MASK_CAUSAL}, {"full", ATTNPLAN_MASK_FULL}};
// Bit numbers.
inline constexpr Word kFeatures[] = {{"sinks", 0}, {"soft_cap", 1}, {"alibi", 2}, {"lse", 3}};
static_assert(ATTNPLAN_FEATURE_SINKS == 1u << 0 && ATTNPLAN_FEATURE_SOFT_CAP == 1u << 1 &&
              ATTNPLAN_FEATURE_ALIBI == 1u << 2 && ATTNPLAN_FEATURE_LSE == 1u << 3);
inline constexpr Word kDtypes[] = {
    {"bf16", ATTNPLAN_DTYPE_BF16},         {"fp16", ATTNPLAN_DTYPE_FP16},
    {"uint8", ATTNPLAN_DTYPE_UINT8},       {"e4m3fn", ATTNPLAN_DTYPE_E4M3FN},
    {"e4m3fnuz", ATTNPLAN_DTYPE_E4M3FNUZ}, {"e5m2", ATTNPLAN_DTYPE_E5M2},
    {"e5m2fnuz", ATTNPLAN_DTYPE_E5M2FNUZ}};
inline constexpr Word kCacheDtypes[] = {
    {"auto", ATTNPLAN_CACHE_AUTO},         {"bf16", ATTNPLAN_CACHE_BF16},
    {"fp16", ATTNPLAN_CACHE_FP16},         {"fp8", ATTNPLAN_CACHE_FP8},
    {"fp8_e4m3", ATTNPLAN_CACHE_FP8_E4M3}, {"fp8_e5m2", ATTNPLAN_CACHE_FP8_E5M2},
    {"fp8_inc", ATTNPLAN_CACHE_FP8_INC}};
inline constexpr Word kLayouts[] = {
    {"lbnhc", ATTNPLAN_LAYOUT_LBNHC}, {"nhd", ATTNPLAN_LAYOUT_LBNHC},
    {"lbhnc", ATTNPLAN_LAYOUT_LBHNC}, {"hnd", ATTNPLAN_LAYOUT_LBHNC},
    {"lhbnc", ATTNPLAN_LAYOUT_LHBNC}, {"blhnc", ATTNPLAN_LAYOUT_BLHNC},
    {"blnhc", ATTNPLAN_LAYOUT_BLNHC}, {"bhlnc", ATTNPLAN_LAYOUT_BHLNC},
    {"mla", ATTNPLAN_LAYOUT_MLA}};
inline constexpr Word kScales[] = {{"none", ATTNPLAN_SCALE_NONE},
                                   {"tensor", ATTNPLAN_SCALE_TENSOR},
                                   {"head", ATTNPLAN_SCALE_HEAD},
                                   {"token_head", ATTNPLAN_SCALE_TOKEN_HEAD},
                                   {"token_inline", ATTNPLAN_SCALE_TOKEN_INLINE}};
inline constexpr Word kConsumers[] = {{"raw", 0}, {"typed", 1}};
inline constexpr Word kOffsetUnits[] = {{"elements", ATTNPLAN_OFFSET_ELEMENTS},
                                        {"bytes", ATTNPLAN_OFFSET_BYTES}};
inline constexpr Word kGraphModes[] = {{"full", ATTNPLAN_GRAPH_ALLOW_FULL},
                                       {"piecewise", ATTNPLAN_GRAPH_ALLOW_PIECEWISE},
                                       {"none", ATTNPLAN_GRAPH_ALLOW_NONE}};
inline constexpr Word kRaggedPolicies[] = {{"demote", ATTNPLAN_RAGGED_DEMOTE},
                                           {"uniform_prefix", ATTNPLAN_RAGGED_UNIFORM_PREFIX},
                                           {"split_runs", ATTNPLAN_RAGGED_SPLIT_RUNS},
                                           {"auto", ATTNPLAN_RAGGED_AUTO}};
inline constexpr Word kOrders[] = {{"as_given", ATTNPLAN_ORDER_AS_GIVEN},
                                   {"sort", ATTNPLAN_ORDER_SORT}};
inline constexpr Word kShortExtends[] = {{"extend", 0}, {"decode", 1}};
inline constexpr Word kChunkPolicies[] = {{"fill", ATTNPLAN_CHUNKS_FILL},
                                          {"equal", ATTNPLAN_CHUNKS_EQUAL}};
inline constexpr Word kSectionLayouts[] = {{"fixed", ATTNPLAN_SECTIONS_FIXED},
                                           {"compact", ATTNPLAN_SECTIONS_COMPACT}};
inline constexpr Word kWorkPolicies[] = {{"none", ATTNPLAN_WORK_NONE},
                                         {"auto", ATTNPLAN_WORK_AUTO},
                                         {"stream_k", ATTNPLAN_WORK_STREAM_K},
                                         {"equal_chunks", ATTNPLAN_WORK_EQUAL_CHUNKS},
                                         {"fixed:<tokens>", ATTNPLAN_WORK_FIXED}};
inline constexpr Word kRoutes[] = {{"decode", ATTNPLAN_ROUTE_DECODE},
                                   {"extend", ATTNPLAN_ROUTE_EXTEND},
                                   {"prefill", ATTNPLAN_ROUTE_PREFILL}};
inline constexpr Word kContexts[] = {{"any", ATTNPLAN_CONTEXT_ANY},
                                     {"none", ATTNPLAN_CONTEXT_NONE},
                                     {"some", ATTNPLAN_CONTEXT_SOME}};
inline constexpr Word kDtypeLabels[] = {{"view", ATTNPLAN_LABEL_VIEW},
                                        {"storage", ATTNPLAN_LABEL_STORAGE}};
inline constexpr Word kPads[] = {{"empty", ATTNPLAN_PADS_EMPTY},
                                 {"full_width", ATTNPLAN_PADS_FULL_WIDTH}};
inline constexpr Word kCaptures[] = {{"uniform", ATTNPLAN_CAPTURE_UNIFORM},
                                     {"always", ATTNPLAN_CAPTURE_ALWAYS},
                                     {"never", ATTNPLAN_CAPTURE_NEVER}};
// Section ids. Some bring others with them that have no word of their own.
inline constexpr Word kSections[] = {{"query_start_loc", ATTNPLAN_SECTION_QUERY_START_LOC},
                                     {"seq_lens", ATTNPLAN_SECTION_SEQ_LENS},
                                     {"context_lens", ATTNPLAN_SECTION_CONTEXT_LENS},
                                     {"row_request", ATTNPLAN_SECTION_ROW_REQUEST},
                                     {"row_position", ATTNPLAN_SECTION_ROW_POSITION},
                                     {"page_indptr", ATTNPLAN_SECTION_PAGE_INDPTR},
                                     {"page_indices", ATTNPLAN_SECTION_PAGE_INDICES},
                                     {"last_page_len", ATTNPLAN_SECTION_LAST_PAGE_LEN},
                                     {"page_table", ATTNPLAN_SECTION_PAGE_TABLE},
                                     {"slots", ATTNPLAN_SECTION_SLOTS},
                                     {"chunks", ATTNPLAN_SECTION_CHUNKS},
                                     {"window", ATTNPLAN_SECTION_WINDOW},
                                     {"local", ATTNPLAN_SECTION_LOCAL},
                                     {"context_parallel", ATTNPLAN_SECTION_CONTEXT_PARALLEL},
                                     {"launch", ATTNPLAN_SECTION_LAUNCH}};

}  // namespace attnplan::json
