#include "work_batch.h"

#include <algorithm>
#include <sstream>

namespace attnplan::schedule {
namespace {

const char* const kKernelNames[] = {"pad", "decode", "extend", "prefill"};

void make_kernels(Dice* dice, WorkBatch* batch) {
  const Tiles tiles{dice->pick<int32_t>({0, 1, 4, 16, 16, 32, 64, 128}),
                    dice->pick<int32_t>({0, 1, 16, 16, 32, 64, 128, 256})};
  if (dice->percent(60)) batch->add_kernel(ATTNPLAN_ROUTE_DECODE, tiles);
  batch->add_kernel(ATTNPLAN_ROUTE_EXTEND, tiles);
  if (dice->percent(30)) batch->add_kernel(ATTNPLAN_ROUTE_PREFILL, tiles);
}

int32_t random_query(Dice* dice, Size size, int32_t threshold) {
  const int64_t roll = dice->in(0, 99);
  if (roll < 10) return 0;
  if (roll < 55) return dice->in32(1, threshold);
  if (roll < 85) return dice->in32(1, size == Size::kSmall ? 12 : 100);
  return dice->in32(1, size == Size::kSmall ? 60 : 1000);
}

int32_t random_context(Dice* dice, Size size) {
  const int64_t roll = dice->in(0, 99);
  if (roll < 20) return 0;
  if (roll < 60) return dice->in32(1, size == Size::kSmall ? 60 : 2000);
  return dice->in32(1, size == Size::kSmall ? 600 : 40000);
}

void make_inexact(Dice* dice, WorkBatch* batch) {
  if (dice->percent(60)) batch->flags |= ATTNPLAN_STEP_SEQ_LENS_INEXACT;
  if (dice->percent(40)) batch->flags |= ATTNPLAN_STEP_QUERY_LENS_INEXACT;
  const size_t n = batch->query.size();
  if (dice->percent(40)) {
    batch->is_prefilling.resize(n);
    for (uint8_t& flag : batch->is_prefilling) flag = dice->percent(30);
  }
  if (dice->percent(30)) {
    batch->seq_len_exact.resize(n);
    for (uint8_t& flag : batch->seq_len_exact) flag = dice->percent(50);
  }
}

}  // namespace

WorkBatch::WorkBatch() {
  settings.profile = "tiles";
  settings.decode_threshold = 1;
  settings.work = ATTNPLAN_WORK_AUTO;
  contracts_.reserve(8);  // the pointers stay good
}

void WorkBatch::add_kernel(attnplan_route route, Tiles tiles) {
  attnplan_contract contract = ATTNPLAN_CONTRACT_INIT;
  contract.name = kKernelNames[route];
  contract.route = route;
  contract.masks = 1u << ATTNPLAN_MASK_CAUSAL | 1u << ATTNPLAN_MASK_FULL;
  if (route == ATTNPLAN_ROUTE_DECODE) contract.flags = ATTNPLAN_CONTRACT_UNIFORM;
  contract.query_tile = tiles.query_tile;
  contract.kv_tile = tiles.kv_tile;
  contracts_.push_back(contract);
  pointers_.push_back(&contracts_.back());
}

void WorkBatch::add_request(int32_t query_len, int32_t seq_len) {
  query.push_back(query_len);
  seq.push_back(seq_len);
}

const attnplan_config& WorkBatch::config() {
  settings.contracts = pointers_.data();
  settings.num_contracts = pointers_.size();
  return settings;
}

const attnplan_step& WorkBatch::step() {
  static const int32_t kNone[1] = {0};  // an empty array is there, too
  step_ = ATTNPLAN_STEP_INIT;
  step_.query_lens = query.empty() ? kNone : query.data();
  step_.seq_lens = seq.empty() ? kNone : seq.data();
  step_.is_prefilling = is_prefilling.empty() ? nullptr : is_prefilling.data();
  step_.seq_len_exact = seq_len_exact.empty() ? nullptr : seq_len_exact.data();
  step_.num_reqs = static_cast<int32_t>(query.size());
  step_.phase = phase;
  step_.flags = flags;
  step_.max_query_len = max_query_len;
  return step_;
}

int32_t WorkBatch::group() const { return settings.num_q_heads / settings.num_kv_heads; }

std::string WorkBatch::words() const {
  std::ostringstream out;
  out << "work " << settings.work << ":" << settings.work_fixed_tokens << ", workers "
      << settings.num_workers << ", heads " << settings.num_q_heads << "/" << settings.num_kv_heads
      << ", mask " << settings.mask << ", window " << settings.sliding_window << ", threshold "
      << threshold() << ", order " << settings.order << ", ragged " << settings.ragged << ", phase "
      << phase << ", flags " << flags << "; kernels";
  for (const attnplan_contract& contract : contracts_) {
    out << " " << contract.name << " " << contract.query_tile << "x" << contract.kv_tile;
  }
  out << "; requests (query/seq)";
  for (size_t i = 0; i < std::min<size_t>(query.size(), 40); ++i) {
    out << " " << query[i] << "/" << seq[i];
    if (!is_prefilling.empty() && is_prefilling[i]) out << "p";
    if (!seq_len_exact.empty()) out << (seq_len_exact[i] ? "e" : "i");
  }
  return out.str();
}

void make_planner(Dice* dice, Size size, WorkBatch* batch) {
  attnplan_config* config = &batch->settings;
  config->num_kv_heads = dice->pick<int32_t>({1, 1, 1, 2, 3, 4, 8});
  config->num_q_heads = config->num_kv_heads * dice->pick<int32_t>({1, 2, 3, 4, 5, 8, 16, 32});
  config->num_workers =
      dice->percent(60) ? dice->in32(1, 24) : dice->in32(1, size == Size::kSmall ? 128 : 512);
  config->work = dice->in32(ATTNPLAN_WORK_AUTO, ATTNPLAN_WORK_FIXED);
  if (config->work == ATTNPLAN_WORK_FIXED) {
    config->work_fixed_tokens = dice->pick<int32_t>({128, 256, 512, 1024});
  }
  config->mask = dice->percent(20) ? ATTNPLAN_MASK_FULL : ATTNPLAN_MASK_CAUSAL;
  if (dice->percent(30)) config->sliding_window = dice->pick<int32_t>({1, 2, 16, 100, 128, 400});
  config->decode_threshold = dice->pick<int32_t>({1, 1, 2, 4, 4, 6});
  if (dice->percent(30)) config->order = ATTNPLAN_ORDER_SORT;
  config->ragged = dice->in32(ATTNPLAN_RAGGED_DEMOTE, ATTNPLAN_RAGGED_AUTO);
  make_kernels(dice, batch);
}

void make_requests(Dice* dice, Size size, WorkBatch* batch) {
  batch->query.clear();
  batch->seq.clear();
  const int most = size == Size::kSmall ? 9 : 80;
  const int count = dice->percent(3) ? 0 : dice->in32(1, dice->percent(40) ? 3 : most);
  const bool decodes_only = dice->percent(30);
  const bool one_width = dice->percent(50);
  for (int i = 0; i < count; ++i) {
    int32_t query = random_query(dice, size, batch->threshold());
    if (decodes_only) query = dice->percent(4) ? 0 : dice->in32(1, batch->threshold());
    if (decodes_only && one_width && query > 0) query = batch->threshold();
    const bool stale = query == 0 && dice->percent(50);  // what a pad's length says means nothing
    const int32_t context = query > 0 || stale ? random_context(dice, size) : 0;
    int32_t seq = context + query;
    const attnplan_config& config = batch->settings;
    if (config.mask == ATTNPLAN_MASK_FULL && config.sliding_window == 0 && dice->percent(8)) {
      seq = dice->percent(50) ? 0 : dice->in32(0, query);  // fewer keys than queries
    }
    batch->add_request(query, seq);
  }
}

void make_random(Dice* dice, Size size, WorkBatch* batch) {
  make_planner(dice, size, batch);
  make_requests(dice, size, batch);
  if (dice->percent(10)) batch->phase = dice->in32(ATTNPLAN_PHASE_DRAFT, ATTNPLAN_PHASE_IDLE);
  if (dice->percent(20)) make_inexact(dice, batch);
}

}  // namespace attnplan::schedule
