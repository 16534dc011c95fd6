// What a planner is created from: the model, the backend and the cache.
#include <algorithm>

#include "generate.h"

namespace attnplan::property {
namespace {

using oracle::Contract;
using oracle::IntList;

IntList some_of(Dice* dice, std::initializer_list<int32_t> values, int keep_percent) {
  std::vector<int32_t> kept;
  for (int32_t value : values) {
    if (dice->percent(keep_percent)) kept.push_back(value);
  }
  return kept;
}

uint32_t some_bits(Dice* dice, int count, int keep_percent) {
  uint32_t bits = 0;
  for (int bit = 0; bit < count; ++bit) {
    if (dice->percent(keep_percent)) bits |= 1u << bit;
  }
  return bits;
}

uint32_t some_set(Dice* dice, int first, int last) {
  uint32_t bits = 0;
  for (int bit = first; bit <= last; ++bit) {
    if (dice->percent(70)) bits |= 1u << bit;
  }
  return bits == 0 ? ATTNPLAN_SET_EMPTY : bits;
}

uint32_t contract_flags(Dice* dice, attnplan_route route) {
  uint32_t flags = 0;
  if (dice->percent(route == ATTNPLAN_ROUTE_DECODE ? 65 : 8)) flags |= ATTNPLAN_CONTRACT_UNIFORM;
  if (dice->percent(25)) flags |= ATTNPLAN_CONTRACT_EXACT_SEQ_LENS;
  if (dice->percent(10)) flags |= ATTNPLAN_CONTRACT_NO_SLIDING_WINDOW;
  if (dice->percent(10)) flags |= ATTNPLAN_CONTRACT_EQUAL_KV_ROWS;
  if (dice->percent(10)) flags |= ATTNPLAN_CONTRACT_EQUAL_SCALE_ROWS;
  return flags;
}

void demand_of_requests(Dice* dice, Contract* out) {
  const auto sometimes = [dice] { return dice->percent(10); };
  if (sometimes()) out->query_lens = some_of(dice, {1, 2, 3, 4, 5, 6, 7, 8}, 70);
  if (sometimes()) out->max_query_len = dice->in32(1, 9);
  if (sometimes()) out->max_query_len_x_group = dice->in32(1, 80);
  if (sometimes()) out->context = dice->in32(ATTNPLAN_CONTEXT_NONE, ATTNPLAN_CONTEXT_SOME);
  if (sometimes()) out->min_requests = dice->in32(1, 4);
  if (sometimes()) out->max_requests = dice->in32(1, 8);
  if (sometimes()) out->max_seq_len = dice->in32(1, 300);
}

void demand_of_model(Dice* dice, Contract* out) {
  const auto seldom = [dice] { return dice->percent(4); };
  if (seldom()) out->groups = some_of(dice, {1, 2, 4, 8, 16, 32}, 70);
  if (seldom()) out->head_sizes = some_of(dice, {64, 128, 192, 576}, 75);
  Dice own = *dice;  // so that older seeds go on drawing the same batches
  if (own.percent(4)) {
    out->head_sizes = std::vector<int32_t>{64, 128, 192, 576};
    out->v_head_sizes = std::vector<int32_t>{64, 128, 128, 512};
    if (own.percent(20)) out->v_head_sizes->resize(own.in32(0, 3));
  }
  if (seldom()) out->archs = std::vector<std::string>{"gfx942", "gfx950"};
  if (seldom()) out->archs = std::vector<std::string>{};
  if (dice->percent(15)) out->masks = some_set(dice, 0, 1);
  if (dice->percent(40)) out->features = some_bits(dice, 4, 70);
}

void demand_of_cache(Dice* dice, Contract* out) {
  const auto seldom = [dice] { return dice->percent(7); };
  if (seldom()) out->block_sizes = some_of(dice, {1, 16, 48, 100, 128, 256, 2112}, 75);
  if (dice->percent(20)) out->page_sizes = some_of(dice, {1, 4, 16, 32, 48, 64, 128, 1024}, 60);
  if (seldom()) out->dtypes = some_set(dice, 1, 7);
  if (seldom()) out->layouts = some_set(dice, 0, 6);
  Dice own = *dice;
  if (own.percent(4)) out->scales = some_set(&own, 0, 4);
  if (seldom()) out->tile_tokens = dice->pick<int32_t>({1, 8, 16, 64});
  if (seldom()) {
    out->offset_unit = dice->in32(ATTNPLAN_OFFSET_ELEMENTS, ATTNPLAN_OFFSET_BYTES);
    out->offset_max = dice->pick<int64_t>({INT32_MAX, UINT32_MAX, 1 << 20, 262143, 524287});
  }
  out->dtype_label = dice->in32(0, 1);
  out->pads = dice->percent(10) ? ATTNPLAN_PADS_FULL_WIDTH : ATTNPLAN_PADS_EMPTY;
  out->graph = dice->in32(0, 3);
}

Contract generate_contract(Dice* dice, int index) {
  Contract out;
  out.route = dice->in32(ATTNPLAN_ROUTE_DECODE, ATTNPLAN_ROUTE_PREFILL);
  out.name = std::string(1, "-dep"[out.route]) + std::to_string(index);
  out.flags = contract_flags(dice, out.route);
  if (dice->percent(70)) demand_of_requests(dice, &out);
  demand_of_model(dice, &out);
  demand_of_cache(dice, &out);
  return out;
}

// A kernel that takes whatever the others leave.
Contract last_resort(Dice* dice) {
  Contract out;
  out.route = dice->percent(70) ? ATTNPLAN_ROUTE_EXTEND : ATTNPLAN_ROUTE_PREFILL;
  out.name = "any";
  out.masks = 3;
  out.features = 15;
  if (dice->percent(20)) out.flags = ATTNPLAN_CONTRACT_EXACT_SEQ_LENS;
  return out;
}

void generate_options(Dice* dice, attnplan_config* config) {
  if (dice->percent(35)) config->order = ATTNPLAN_ORDER_SORT;
  config->ragged = dice->pick<attnplan_ragged_policy>(
      {ATTNPLAN_RAGGED_DEFAULT, ATTNPLAN_RAGGED_DEMOTE, ATTNPLAN_RAGGED_UNIFORM_PREFIX,
       ATTNPLAN_RAGGED_SPLIT_RUNS, ATTNPLAN_RAGGED_SPLIT_RUNS});
  if (dice->percent(30)) config->max_segments = dice->in32(1, 4);
  if (dice->percent(20)) config->flags |= ATTNPLAN_CONFIG_SHORT_EXTEND_DECODE;
  for (int section = ATTNPLAN_SECTION_QUERY_START_LOC; section <= ATTNPLAN_SECTION_ROW_POSITION;
       ++section) {
    if (dice->percent(50)) config->sections |= uint64_t{1} << section;
  }
}

void generate_dtypes(Dice* dice, attnplan_kv_cache* kv) {
  kv->cache_dtype = dice->in32(ATTNPLAN_CACHE_AUTO, ATTNPLAN_CACHE_FP8_INC);
  if (dice->percent(60)) return;
  if (kv->cache_dtype == ATTNPLAN_CACHE_FP8 || kv->cache_dtype == ATTNPLAN_CACHE_FP8_E5M2) {
    kv->storage_dtype = ATTNPLAN_DTYPE_UINT8;
  }
  if (dice->percent(4)) kv->view_dtype = dice->in32(ATTNPLAN_DTYPE_BF16, ATTNPLAN_DTYPE_E5M2FNUZ);
  if (dice->percent(2)) kv->storage_dtype = ATTNPLAN_DTYPE_BF16;
}

void generate_page_counts(Dice* dice, attnplan_kv_cache* kv) {
  const int64_t page = kv->page_size > 0 ? kv->page_size : kv->block_size;
  const int64_t stride = kv->block_size / page * ((kv->flags & ATTNPLAN_KV_PACKED) != 0 ? 2 : 1);
  const int64_t all = kv->num_blocks * stride;
  for (int64_t* pages : {&kv->k_pages, &kv->v_pages, &kv->k_scale_pages, &kv->v_scale_pages}) {
    if (dice->percent(2)) *pages = std::max<int64_t>(0, all - dice->in(-2, stride));
  }
}

}  // namespace

void generate_model(Dice* dice, Batch* batch) {
  attnplan_config* config = &batch->config;
  batch->arch =
      dice->pick<const char*>({"gfx950", "gfx950", "gfx950", "gfx942", "gfx1201", "sm_90"});
  config->num_kv_heads = dice->pick<int32_t>({0, 1, 1, 2, 8});
  config->num_q_heads =
      std::max(config->num_kv_heads, 1) * dice->pick<int32_t>({1, 4, 8, 16, 16, 32});
  config->head_size = dice->pick<int32_t>({0, 0, 128, 128, 128, 64, 192, 576});
  if (dice->percent(15)) config->v_head_size = dice->pick<int32_t>({64, 128, 512});
  config->decode_threshold = dice->pick<int32_t>({0, 1, 1, 2, 3, 4, 4, 4, 5, 6, 9});
  if (dice->percent(5)) config->mask = ATTNPLAN_MASK_FULL;
  if (dice->percent(8)) config->features = static_cast<uint32_t>(dice->in(1, 15));
  if (dice->percent(15)) config->sliding_window = dice->pick<int32_t>({1, 16, 128});
  generate_options(dice, config);
}

void generate_backend(Dice* dice, Batch* batch) {
  if (dice->percent(45)) {
    batch->profile = dice->pick<const char*>(
        {"aiter_mha", "aiter_mha", "aiter_fa", "minimax_m3_sparse", "unified"});
    Dice own = *dice;
    if (own.percent(3)) batch->profile = own.pick<const char*>({"hip", "hip_m3"});
    return;
  }
  batch->profile = "custom";
  batch->kernels.emplace();
  const int count = dice->in32(1, 6);
  for (int i = 0; i < count; ++i) batch->kernels->push_back(generate_contract(dice, i));
  if (dice->percent(60)) batch->kernels->push_back(last_resort(dice));
  batch->config.profile_ragged = dice->in32(ATTNPLAN_RAGGED_DEFAULT, ATTNPLAN_RAGGED_SPLIT_RUNS);
}

void generate_cache(Dice* dice, Batch* batch) {
  if (dice->percent(50)) return;
  attnplan_kv_cache kv = ATTNPLAN_KV_CACHE_INIT;
  kv.num_blocks = dice->pick<int32_t>({1, 7, 64, 300, 4096, 55673});
  kv.block_size = dice->pick<int32_t>({1, 16, 16, 48, 100, 128, 128, 128, 256, 2112, 4192});
  if (dice->percent(40)) {
    kv.page_size = dice->pick<int32_t>({1, 4, 16, 16, 32, 64});
    if (kv.block_size % kv.page_size != 0 && !dice->percent(10)) kv.page_size = 0;
  }
  if (dice->percent(50)) kv.layout = dice->in32(ATTNPLAN_LAYOUT_LBNHC, ATTNPLAN_LAYOUT_MLA);
  if (dice->percent(30)) kv.scale = dice->in32(ATTNPLAN_SCALE_NONE, ATTNPLAN_SCALE_TOKEN_INLINE);
  const bool contradiction = kv.layout == ATTNPLAN_LAYOUT_LHBNC ||
                             kv.layout == ATTNPLAN_LAYOUT_MLA ||
                             kv.scale == ATTNPLAN_SCALE_TOKEN_INLINE;
  if (dice->percent(contradiction ? 5 : 40)) kv.flags |= ATTNPLAN_KV_PACKED;
  if (dice->percent(20)) kv.flags |= ATTNPLAN_KV_SHUFFLE;
  if (dice->percent(30)) kv.flags |= ATTNPLAN_KV_TYPED;
  generate_dtypes(dice, &kv);
  generate_page_counts(dice, &kv);
  if (dice->percent(10)) kv.block_stride = dice->pick<int64_t>({276480, 2048, int64_t{1} << 33});
  if (dice->percent(8)) {
    kv.offset_unit = dice->in32(ATTNPLAN_OFFSET_ELEMENTS, ATTNPLAN_OFFSET_BYTES);
    kv.offset_max = dice->pick<int64_t>({INT32_MAX, UINT32_MAX, INT64_MAX});
  }
  batch->kv_cache = kv;
}

}  // namespace attnplan::property
