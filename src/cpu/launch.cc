#include "cpu/launch.h"

#include <algorithm>

#include "cpu/m3_select.h"
#include "cpu/online_softmax.h"

namespace attnplan::cpu {
namespace {

// The configured cache, or plain rows, in blocks of the table.
attnplan_kv_cache cache_of(const ExecutorInput& in) {
  attnplan_kv_cache cache = ATTNPLAN_KV_CACHE_INIT;
  if (in.config.kv_cache != nullptr) cache = *in.config.kv_cache;
  cache.block_size = in.table.block_size;
  return cache;
}

}  // namespace

RequestAttention::RequestAttention(const ExecutorInput& input)
    : in_(input), layout_(make_layout(cache_of(input), input.shape, input.table.num_blocks)) {
  const CacheFill fill{in_.values, in_.table, in_.origins, in_.lengths};
  const AttentionShape& shape = in_.shape;
  const int32_t heads = shape.latent ? 1 : shape.num_kv_heads;
  fill_cache(fill, Tensor::kKey, layout_, layout_.k, heads, shape.head_size, cache_);
  if (!shape.latent) {
    fill_cache(fill, Tensor::kValue, layout_, layout_.v, heads, shape.v_head_size, cache_);
  }
  if (in_.sparse.has_value()) {
    const int32_t size = in_.sparse->index_head_size;
    index_layout_ = make_index_layout(in_.table.block_size, size);
    fill_cache(fill, Tensor::kIndexKey, index_layout_, index_layout_.k, 1, size, index_cache_);
  }
}

void RequestAttention::attend(int32_t request, int64_t seq_len, const std::vector<Task>& tasks,
                              Output& out) const {
  const AttentionShape& shape = in_.shape;
  std::vector<double> q(static_cast<size_t>(shape.head_size));
  for (int32_t kv_head = 0; kv_head < shape.num_kv_heads; ++kv_head) {
    const Gathered kv = gather_visible(request, seq_len, tasks, kv_head);
    const auto ranges = selected(request, seq_len, tasks, kv_head);
    for (size_t i = 0; i < tasks.size(); ++i) {
      const Task& task = tasks[i];
      for (int32_t head = kv_head * shape.group(); head < (kv_head + 1) * shape.group(); ++head) {
        in_.values.fill(Tensor::kQuery, task.query_request, task.query_index, head, shape.head_size,
                        q.data());
        OnlineSoftmax softmax(shape, q.data());
        for (const KeyRange& keys : ranges[i]) {
          softmax.add(keys, kv.range.begin, {kv.k.data(), shape.head_size},
                      {kv.v.data(), shape.v_head_size});
        }
        out.lse(task.row, head) = softmax.finish(out.head(task.row, head));
      }
    }
  }
}

KeyRange RequestAttention::visible(int64_t seq_len, int64_t position) const {
  KeyRange keys{0, seq_len};
  if (in_.shape.mask == ATTNPLAN_MASK_CAUSAL) keys.end = std::min(keys.end, position + 1);
  if (in_.shape.sliding_window > 0) {
    keys.begin = std::max<int64_t>(0, position - in_.shape.sliding_window + 1);
  }
  return keys;
}

// All rows of the request share one read of its keys and values.
RequestAttention::Gathered RequestAttention::gather_visible(int32_t request, int64_t seq_len,
                                                            const std::vector<Task>& tasks,
                                                            int32_t kv_head) const {
  Gathered kv{{seq_len, 0}, {}, {}};
  for (const Task& task : tasks) {
    const KeyRange keys = visible(seq_len, task.position);
    kv.range.begin = std::min(kv.range.begin, keys.begin);
    kv.range.end = std::max(kv.range.end, keys.end);
  }
  const AttentionShape& shape = in_.shape;
  const auto count = static_cast<size_t>(std::max<int64_t>(0, kv.range.end - kv.range.begin));
  kv.k.resize(count * shape.head_size);
  kv.v.resize(count * shape.v_head_size);
  const int32_t slot = shape.latent ? 0 : kv_head;
  const std::vector<int64_t> pages = page_table(in_.table, layout_, request);
  gather(cache_, layout_, layout_.k, pages, slot, kv.range, shape.head_size, kv.k.data());
  gather(cache_, layout_, layout_.v, pages, slot, kv.range, shape.v_head_size, kv.v.data());
  return kv;
}

// Keys that each row attends: what its mask shows, and of that the selected blocks where sparse.
std::vector<std::vector<KeyRange>> RequestAttention::selected(int32_t request, int64_t seq_len,
                                                              const std::vector<Task>& tasks,
                                                              int32_t kv_head) const {
  std::vector<std::vector<KeyRange>> ranges(tasks.size());
  for (size_t i = 0; i < tasks.size(); ++i) {
    ranges[i].push_back(visible(seq_len, tasks[i].position));
  }
  if (!in_.sparse.has_value()) return ranges;

  const M3Params& m3 = *in_.sparse;
  const int32_t size = m3.index_head_size;
  int64_t tokens = 0;
  std::vector<double> vectors(tasks.size() * size);
  std::vector<IndexQuery> queries;
  for (size_t i = 0; i < tasks.size(); ++i) {
    double* vector = vectors.data() + i * size;
    in_.values.fill(Tensor::kIndexQuery, tasks[i].query_request, tasks[i].query_index, kv_head,
                    size, vector);
    queries.push_back({vector, tasks[i].position});
    tokens = std::max(tokens, tasks[i].position + 1);
  }
  std::vector<double> keys(static_cast<size_t>(tokens) * size);
  gather(index_cache_, index_layout_, index_layout_.k,
         page_table(in_.table, index_layout_, request), 0, {0, tokens}, size, keys.data());
  const auto scores = m3_block_scores(m3, queries, {keys.data(), size});
  for (size_t i = 0; i < tasks.size(); ++i) {
    ranges[i] = blocks_to_ranges(m3, m3_select(m3, scores[i]), ranges[i][0]);
  }
  return ranges;
}

}  // namespace attnplan::cpu
