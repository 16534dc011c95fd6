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
       {&c.query_lens, &c.groups, &c.head_sizes, &c.block_sizes, &c.page_sizes}) {
    h->list(*list);
  }
  h->list(c.archs);
  h->optional(c.masks);
  h->optional(c.dtypes);
  h->optional(c.layouts);
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

namespace {
constexpr int32_t kGathered = 4;
constexpr int32_t kScalars = 7;
}  // namespace

uint64_t hash_step(const Step& step, bool lengths_add_up, const Isa& isa) {
  const auto n = static_cast<size_t>(step.num_reqs);
  const int32_t* const ints[] = {
      step.query_lens,          step.query_start_loc,   lengths_add_up ? nullptr : step.seq_lens,
      step.num_computed_tokens, step.num_prompt_tokens, step.num_known_tokens,
      step.num_draft_tokens};
  const uint8_t* const flags[] = {step.is_prefilling, step.seq_len_exact};
  // Scalars first; the arrays of a short batch follow, so that one hash covers all of it.
  int32_t gathered[kScalars + 9 * (kGathered + 1)];
  gathered[0] = step.num_reqs;
  gathered[1] = static_cast<int32_t>(step.phase) | step.query_lens_exact << 8 |
                step.seq_lens_exact << 9 | static_cast<int32_t>(step.graph_allow) << 16;
  gathered[2] = step.num_tokens;
  gathered[3] = step.max_query_len;
  gathered[4] = step.num_reqs_padded;
  gathered[5] = step.num_tokens_padded;
  int32_t present = 0;
  for (int i = 0; i < 7; ++i) present |= (ints[i] != nullptr) << i;
  present |= (step.seq_lens != nullptr) << 9;
  for (int i = 0; i < 2; ++i) present |= (flags[i] != nullptr) << (7 + i);
  gathered[6] = present;
  const auto length = [n](int i) { return n + (i == 1 ? 1 : 0); };
  if (step.num_reqs <= kGathered) {
    int32_t* end = gathered + kScalars;
    for (int i = 0; i < 7; ++i) {
      if (ints[i] == nullptr) continue;
      const size_t count = length(i);
      for (size_t j = 0; j < count; ++j) end[j] = ints[i][j];
      end += count;
    }
    for (const uint8_t* array : flags) {
      if (array == nullptr) continue;
      for (size_t j = 0; j < n; ++j) *end++ = array[j];
    }
    return isa.hash(gathered, static_cast<size_t>(end - gathered) * sizeof gathered[0], 0);
  }
  uint64_t state = isa.hash(gathered, kScalars * sizeof gathered[0], 0);
  const auto chain = [&](const void* data, size_t bytes) {
    if (data == nullptr) return;
    state = (state ^ isa.hash(data, bytes, 0)) * 0x9e3779b97f4a7c15u;
    state ^= state >> 32;
  };
  for (int i = 0; i < 7; ++i) chain(ints[i], length(i) * sizeof(int32_t));
  for (const uint8_t* array : flags) chain(array, n);
  return state;
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
