#include "cpu/m3_select.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace attnplan::cpu {
namespace {

double product(const double* a, const double* b, int32_t size) {
  double sum = 0;
  for (int32_t e = 0; e < size; ++e) sum += a[e] * b[e];
  return sum;
}

// Rank of a block: forced ones before scored ones, NaN behind everything.
struct Rank {
  int32_t band;  // 0 init, 1 local, 2 scored, 3 NaN
  double score;
  int32_t block;

  bool operator<(const Rank& other) const {
    if (band != other.band) return band < other.band;
    if (band == 2 && score != other.score) return score > other.score;
    return block > other.block;
  }
};

}  // namespace

std::vector<std::vector<double>> m3_block_scores(const M3Params& params,
                                                 std::span<const IndexQuery> rows, RowsView keys) {
  const double scale = 1.0 / std::sqrt(static_cast<double>(params.index_head_size));
  std::vector<std::vector<double>> scores(rows.size());
  int64_t last = -1;
  for (size_t i = 0; i < rows.size(); ++i) {
    const int64_t live = (rows[i].position + params.block_tokens) / params.block_tokens;
    scores[i].assign(static_cast<size_t>(std::max<int64_t>(live, 0)),
                     -std::numeric_limits<double>::infinity());
    last = std::max(last, rows[i].position);
  }
  for (int64_t key = 0; key <= last; ++key) {
    for (size_t i = 0; i < rows.size(); ++i) {
      if (key > rows[i].position) continue;
      const double score = scale * product(rows[i].vector, keys.row(key), params.index_head_size);
      double& best = scores[i][key / params.block_tokens];
      if (std::isnan(score) || score > best) best = std::isnan(best) ? best : score;
    }
  }
  return scores;
}

std::vector<int32_t> m3_select(const M3Params& params, std::span<const double> scores) {
  const auto live = static_cast<int32_t>(scores.size());
  std::vector<Rank> ranks;
  for (int32_t block = 0; block < live; ++block) {
    const double score = scores[block];
    int32_t band = std::isnan(score) ? 3 : 2;
    if (block >= live - params.local_blocks) band = 1;
    if (block < params.init_blocks) band = 0;
    ranks.push_back({band, score, block});
  }
  const int32_t taken = std::min(params.top_k, live);
  std::partial_sort(ranks.begin(), ranks.begin() + taken, ranks.end());
  std::vector<int32_t> selected(static_cast<size_t>(params.top_k), -1);
  for (int32_t i = 0; i < taken; ++i) selected[i] = ranks[i].block;
  return selected;
}

std::vector<KeyRange> blocks_to_ranges(const M3Params& params, std::span<const int32_t> selected,
                                       KeyRange visible) {
  std::vector<KeyRange> ranges;
  for (const int32_t block : selected) {
    if (block < 0) break;
    const int64_t begin = static_cast<int64_t>(block) * params.block_tokens;
    const KeyRange keys{std::max(begin, visible.begin),
                        std::min(begin + params.block_tokens, visible.end)};
    if (!keys.empty()) ranges.push_back(keys);
  }
  return ranges;
}

}  // namespace attnplan::cpu
