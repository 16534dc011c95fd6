#include <algorithm>
#include <cmath>

#include "cpu/oracle.h"

namespace attnplan::cpu {
namespace {

// Largest score of the visible keys of a block; no number if one of them is none.
double block_score(const M3Params& params, const double* index_query, RowsView keys, int64_t begin,
                   int64_t end) {
  std::vector<double> scores;
  for (int64_t key = begin; key < end; ++key) {
    double score = 0;
    for (int32_t e = 0; e < params.index_head_size; ++e) {
      score += index_query[e] * keys.row(key)[e];
    }
    if (std::isnan(score)) return score;
    scores.push_back(score / std::sqrt(static_cast<double>(params.index_head_size)));
  }
  return *std::max_element(scores.begin(), scores.end());
}

}  // namespace

std::vector<int32_t> oracle_m3_blocks(const M3Params& params, const double* index_query,
                                      RowsView keys, int64_t position) {
  std::vector<int32_t> init;
  std::vector<int32_t> local;
  std::vector<int32_t> numbers;
  std::vector<int32_t> others;
  std::vector<double> score;
  const int64_t live = position / params.block_tokens + 1;
  for (int64_t block = live - 1; block >= 0; --block) {  // the higher block wins a stable sort
    const int64_t begin = block * params.block_tokens;
    const int64_t end = std::min(begin + params.block_tokens, position + 1);
    score.push_back(block_score(params, index_query, keys, begin, end));
    auto& list = block < params.init_blocks            ? init
                 : block >= live - params.local_blocks ? local
                 : std::isnan(score.back())            ? others
                                                       : numbers;
    list.push_back(static_cast<int32_t>(block));
  }
  std::reverse(score.begin(), score.end());
  std::stable_sort(numbers.begin(), numbers.end(),
                   [&score](int32_t a, int32_t b) { return score[a] > score[b]; });
  std::vector<int32_t> ranked;
  for (const auto* list : {&init, &local, &numbers, &others}) {
    ranked.insert(ranked.end(), list->begin(), list->end());
  }
  ranked.resize(static_cast<size_t>(params.top_k), -1);
  return ranked;
}

std::vector<int64_t> oracle_m3_keys(const M3Params& params, std::span<const int32_t> blocks,
                                    std::span<const int64_t> visible) {
  std::vector<int64_t> keys;
  for (const int64_t key : visible) {
    const auto block = static_cast<int32_t>(key / params.block_tokens);
    if (std::find(blocks.begin(), blocks.end(), block) != blocks.end()) keys.push_back(key);
  }
  return keys;
}

}  // namespace attnplan::cpu
