#include "cpu/step_oracle.h"

#include <algorithm>
#include <limits>

#include "cpu/oracle.h"

namespace attnplan::cpu {
namespace {

// Every vector of one head that rows of a request could ask for, by position.
std::vector<double> vectors(const OracleInput& in, Tensor tensor, int32_t request, int64_t tokens,
                            int32_t head, int32_t made, int32_t used) {
  std::vector<double> whole(static_cast<size_t>(made));
  std::vector<double> out;
  for (int64_t position = 0; position < tokens; ++position) {
    const TokenOrigin origin = in.origins.at(request, position);
    in.values.fill(tensor, origin.request, origin.position, head, made, whole.data());
    out.insert(out.end(), whole.begin(), whole.begin() + used);
  }
  return out;
}

class RequestOracle {
 public:
  RequestOracle(const OracleInput& in, int32_t request)
      : in_(in),
        request_(request),
        seq_len_(std::min<int64_t>(in.lengths.seq_lens[request], in.token_room[request])) {}

  void run(Output& out) const {
    for (int32_t kv_head = 0; kv_head < in_.shape.num_kv_heads; ++kv_head) run_head(kv_head, out);
  }

 private:
  void run_head(int32_t kv_head, Output& out) const;
  std::vector<int64_t> keys_of_row(int64_t index, int32_t kv_head, RowsView index_keys) const;

  const OracleInput& in_;
  int32_t request_;
  int64_t seq_len_;
};

void RequestOracle::run_head(int32_t kv_head, Output& out) const {
  const AttentionShape& shape = in_.shape;
  const int32_t slot = shape.latent ? 0 : kv_head;
  const auto k =
      vectors(in_, Tensor::kKey, request_, seq_len_, slot, shape.head_size, shape.head_size);
  const auto v = shape.latent ? vectors(in_, Tensor::kKey, request_, seq_len_, slot,
                                        shape.head_size, shape.v_head_size)
                              : vectors(in_, Tensor::kValue, request_, seq_len_, slot,
                                        shape.v_head_size, shape.v_head_size);
  std::vector<double> index_keys;
  const int32_t index_size = in_.sparse.has_value() ? in_.sparse->index_head_size : 0;
  if (in_.sparse.has_value()) {
    index_keys = vectors(in_, Tensor::kIndexKey, request_, seq_len_, 0, index_size, index_size);
  }
  std::vector<double> q(static_cast<size_t>(shape.head_size));
  for (int64_t i = 0; i < in_.lengths.query_lens[request_]; ++i) {
    const int64_t row = in_.lengths.row_begin[request_] + i;
    if (!in_.compute[row]) continue;
    if (in_.lengths.first_position(request_) + i >= seq_len_) {
      out.clear(row);  // its token found no room in the cache
      continue;
    }
    const auto keys = keys_of_row(i, kv_head, {index_keys.data(), index_size});
    for (int32_t g = 0; g < shape.group(); ++g) {
      const int32_t head = kv_head * shape.group() + g;
      in_.values.fill(Tensor::kQuery, request_, i, head, shape.head_size, q.data());
      out.lse(row, head) = oracle_attend(shape, q.data(), {k.data(), shape.head_size},
                                         {v.data(), shape.v_head_size}, keys, out.head(row, head));
    }
  }
}

std::vector<int64_t> RequestOracle::keys_of_row(int64_t index, int32_t kv_head,
                                                RowsView index_keys) const {
  const int64_t position = in_.lengths.first_position(request_) + index;
  auto keys = oracle_visible(in_.shape, position, seq_len_);
  if (!in_.sparse.has_value()) return keys;
  std::vector<double> query(static_cast<size_t>(in_.sparse->index_head_size));
  in_.values.fill(Tensor::kIndexQuery, request_, index, kv_head, in_.sparse->index_head_size,
                  query.data());
  const auto blocks = oracle_m3_blocks(*in_.sparse, query.data(), index_keys, position);
  return oracle_m3_keys(*in_.sparse, blocks, keys);
}

}  // namespace

std::vector<int64_t> token_room(const attnplan_config& config, const attnplan_step& step,
                                const attnplan_group* group) {
  std::vector<int64_t> room(static_cast<size_t>(std::max(step.num_reqs, 0)),
                            std::numeric_limits<int64_t>::max());
  if (step.phase != ATTNPLAN_PHASE_DRAFT || config.kv_cache == nullptr || group == nullptr) {
    return room;
  }
  for (size_t r = 0; r < room.size(); ++r) {
    int64_t columns = group->columns;
    if (group->block_indptr != nullptr) {
      columns = static_cast<int64_t>(group->block_indptr[r + 1]) - group->block_indptr[r];
    } else if (columns <= 0) {
      continue;
    }
    room[r] = columns * config.kv_cache->block_size;
  }
  return room;
}

Output oracle(const OracleInput& input) {
  Output out(input.lengths.rows(), input.shape);
  for (int32_t request = 0; request < input.lengths.size(); ++request) {
    if (input.lengths.query_lens[request] > 0) RequestOracle(input, request).run(out);
  }
  return out;
}

}  // namespace attnplan::cpu
