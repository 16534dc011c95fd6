#include "planner/hash.h"

#include <string_view>
#include <type_traits>

namespace attnplan {
namespace {

class Hasher {
 public:
  explicit Hasher(const Isa& isa) : isa_(isa) {}
  void bytes(const void* data, size_t count) { state_ = isa_.hash(data, count, state_); }
  template <typename T>
  void value(const T& v) {
    static_assert(std::is_arithmetic_v<T> || std::is_enum_v<T>);
    bytes(&v, sizeof v);
  }
  void text(std::string_view s) {
    value(s.size());
    bytes(s.data(), s.size());
  }
  void list(const std::pmr::vector<int32_t>& v) {
    value(v.size());
    bytes(v.data(), v.size() * sizeof v[0]);
  }
  void list(const IntList& v) {
    value(v.has_value());
    if (v) list(*v);
  }
  void list(const StringList& v) {
    value(v ? v->size() + 1 : 0);
    if (!v) return;
    for (const auto& s : *v) text(s);
  }
  template <typename T>
  void optional(const std::optional<T>& v) {
    value(v.has_value());
    value(v.value_or(T{}));
  }
  uint64_t result() const { return state_; }

 private:
  const Isa& isa_;
  uint64_t state_ = 0;
};

void add(const Contract& c, Hasher* h) {
  h->text(c.name);
  h->value(c.route);
  for (const bool flag :
       {c.uniform, c.exact_seq_lens, c.sliding_window, c.equal_kv_rows, c.equal_scale_rows}) {
    h->value(flag);
  }
  for (const IntList* list :
       {&c.query_lens, &c.groups, &c.head_sizes, &c.v_head_sizes, &c.block_sizes, &c.page_sizes}) {
    h->list(*list);
  }
  h->list(c.archs);
  h->optional(c.masks);
  h->optional(c.dtypes);
  h->optional(c.layouts);
  h->optional(c.scales);
  h->value(c.features);
  for (const int32_t v :
       {c.max_query_len, c.max_query_len_x_group, c.min_requests, c.max_requests, c.max_seq_len,
        c.tile_tokens, c.query_tile, c.kv_tile, c.num_splits, static_cast<int32_t>(c.context),
        static_cast<int32_t>(c.dtype_label), static_cast<int32_t>(c.pads),
        static_cast<int32_t>(c.graph), static_cast<int32_t>(c.offset_limit.unit)}) {
    h->value(v);
  }
  h->value(c.offset_limit.max);
}

void add(const KvCache& k, Hasher* h) {
  for (const bool flag : {k.packed, k.shuffle, k.typed}) h->value(flag);
  for (const int32_t v :
       {static_cast<int32_t>(k.layout), k.num_blocks, k.block_size, k.page_size,
        static_cast<int32_t>(k.cache_dtype), static_cast<int32_t>(k.storage_dtype),
        static_cast<int32_t>(k.view_dtype), static_cast<int32_t>(k.scale),
        static_cast<int32_t>(k.offset_limit.unit)}) {
    h->value(v);
  }
  for (const int64_t v : {k.offset_limit.max, k.k_pages, k.v_pages, k.k_scale_pages,
                          k.v_scale_pages, k.block_stride}) {
    h->value(v);
  }
}

}  // namespace

uint64_t hash_step(const Step& step, const uint64_t (&prints)[3], const Isa& isa) {
  const void* const arrays[] = {step.seq_lens,          step.num_computed_tokens,
                                step.num_prompt_tokens, step.num_known_tokens,
                                step.num_draft_tokens,  step.is_prefilling,
                                step.seq_len_exact};
  uint64_t flags = 0;
  for (const void* array : arrays) flags = flags << 1 | (array != nullptr);
  flags = flags << 2 | step.query_lens_exact << 1 | step.seq_lens_exact;
  flags = flags << 4 | static_cast<uint64_t>(step.phase);
  flags = flags << 4 | static_cast<uint64_t>(step.graph_allow);
  // Whole words: what is read back at once was written at once.
  const auto pair = [](int32_t a, int32_t b) {
    return uint64_t{static_cast<uint32_t>(a)} << 32 | static_cast<uint32_t>(b);
  };
  const uint64_t words[] = {prints[0],
                            prints[1],
                            prints[2],
                            flags,
                            pair(step.num_reqs, step.num_tokens),
                            pair(step.num_reqs_padded, step.num_tokens_padded),
                            pair(step.max_query_len, 0)};
  uint64_t hash = isa.hash(words, sizeof words, 0);
  const auto n = static_cast<size_t>(step.num_reqs);
  if (step.is_prefilling != nullptr) hash = isa.hash(step.is_prefilling, n, hash);
  if (step.seq_len_exact != nullptr) hash = isa.hash(step.seq_len_exact, n, hash);
  return hash;
}

uint64_t hash_config(const Config& c, const Isa& isa) {
  Hasher h(isa);
  h.text(c.profile);
  h.text(c.arch);
  h.value(c.contracts.size());
  for (const Contract& contract : c.contracts) add(contract, &h);
  for (const int32_t v : {static_cast<int32_t>(c.profile_ragged),
                          c.num_workers,
                          c.num_q_heads,
                          c.num_kv_heads,
                          c.head_size,
                          c.v_head_size,
                          c.decode_threshold,
                          static_cast<int32_t>(c.mask),
                          static_cast<int32_t>(c.features),
                          c.sliding_window,
                          c.limits.max_model_len,
                          c.limits.max_num_seqs,
                          c.limits.max_num_batched_tokens,
                          static_cast<int32_t>(c.order),
                          static_cast<int32_t>(c.ragged),
                          c.max_segments,
                          static_cast<int32_t>(c.chunk_policy),
                          c.chunk_workspace_tokens,
                          static_cast<int32_t>(c.work),
                          c.work_fixed_tokens,
                          static_cast<int32_t>(c.section_layout),
                          c.context_parallel_world,
                          c.context_parallel_rank,
                          c.context_parallel_interleave,
                          c.local_attention_chunk,
                          c.graph.width,
                          c.graph.max_num_seqs}) {
    h.value(v);
  }
  h.value(c.short_extend_decode);
  h.value(c.graph.enabled);
  h.list(c.graph.full);
  h.list(c.graph.piecewise);
  h.value(c.limits.max_sections_bytes);
  h.value(c.sections);
  h.value(c.kv_cache.has_value());
  if (c.kv_cache) add(*c.kv_cache, &h);
  return h.result();
}

}  // namespace attnplan
