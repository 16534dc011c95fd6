#include "struct_input.h"

#include <algorithm>
#include <string>

namespace attnplan::fuzz {
namespace {

const char* const kProfiles[] = {"aiter_mha", "aiter_fa", "minimax_m3_sparse",
                                 "unified",   "hip",      "hip_m3"};
const char* const kArchs[] = {"gfx942", "gfx950", "gfx1201", "sm_90"};

// A struct of this release, or a shorter or longer one. Structs end where a field ends: half a
// pointer is nothing that a caller of any release can have meant.
template <typename T>
T* any_version(const T& value, Bytes* bytes, Heap* heap) {
  const uint8_t choice = bytes->take<uint8_t>();
  size_t size = sizeof(T);
  uint8_t tail = 0;
  if (choice >= 224) size = bytes->take<uint8_t>() % (sizeof(T) / 8 + 1) * 8;
  if (choice >= 240) size = sizeof(T) + choice - 240;
  if (choice >= 250) tail = bytes->take<uint8_t>();
  return heap->versioned(value, size, tail);
}

template <size_t kCount>
const char* string(Bytes* bytes, Heap* heap, const char* const (&known)[kCount]) {
  std::string text = known[bytes->below(kCount)];
  if (bytes->one_in(16)) text.resize(bytes->below(20), static_cast<char>(bytes->take<uint8_t>()));
  return static_cast<const char*>(heap->block(text.c_str(), text.size() + 1, text.size() + 1, 0));
}

std::vector<int32_t> lengths(Bytes* bytes, int64_t count) {
  std::vector<int32_t> out;
  for (int64_t i = 0; i < count; ++i) out.push_back(bytes->length());
  return out;
}

attnplan_int32_list int_list(Bytes* bytes, Heap* heap) {
  if (!bytes->one_in(4)) return {nullptr, 0};
  const std::vector<int32_t> values = lengths(bytes, bytes->below(6));
  return {heap->copy(values), values.size()};
}

attnplan_string_list string_list(Bytes* bytes, Heap* heap) {
  if (!bytes->one_in(8)) return {nullptr, 0};
  std::vector<const char*> names;
  for (uint32_t i = bytes->below(3); i > 0; --i) names.push_back(string(bytes, heap, kArchs));
  return {heap->copy(names), names.size()};
}

// Mostly 0, at times a small number, seldom any.
int32_t optional(Bytes* bytes) { return bytes->one_in(4) ? bytes->length() : 0; }
int32_t choice(Bytes* bytes, uint32_t count) {
  return bytes->one_in(32) ? bytes->take<int32_t>() : static_cast<int32_t>(bytes->below(count));
}
uint32_t bits(Bytes* bytes, uint32_t known) {
  return bytes->one_in(32) ? bytes->take<uint32_t>() : bytes->take<uint32_t>() & known;
}
uint32_t some_bits(Bytes* bytes, uint32_t known) {
  return bytes->one_in(4) ? bits(bytes, known) : 0;
}

const attnplan_contract* contract(Bytes* bytes, Heap* heap) {
  attnplan_contract out = ATTNPLAN_CONTRACT_INIT;
  const char* const names[] = {"a", "b", "c", "a kernel with a long name"};
  out.name = bytes->one_in(64) ? nullptr : string(bytes, heap, names);
  out.route = choice(bytes, 4);
  out.flags = some_bits(bytes, 31);
  out.query_lens = int_list(bytes, heap);
  out.groups = int_list(bytes, heap);
  out.head_sizes = int_list(bytes, heap);
  out.block_sizes = int_list(bytes, heap);
  out.page_sizes = int_list(bytes, heap);
  out.archs = string_list(bytes, heap);
  out.masks = some_bits(bytes, 3);
  out.features = bits(bytes, 15);
  out.dtypes = some_bits(bytes, 0x8000007f);
  out.layouts = some_bits(bytes, 0x8000007f);
  out.max_query_len = optional(bytes);
  out.max_query_len_x_group = optional(bytes);
  out.context = choice(bytes, 3);
  out.min_requests = optional(bytes);
  out.max_requests = optional(bytes);
  out.max_seq_len = optional(bytes);
  out.tile_tokens = optional(bytes);
  out.dtype_label = choice(bytes, 2);
  out.pads = choice(bytes, 2);
  out.graph = choice(bytes, 4);
  out.offset_unit = bytes->one_in(8) ? choice(bytes, 3) : 0;
  out.offset_max = bytes->take<int32_t>();
  out.scales = some_bits(bytes, 0x8000001f);
  if (bytes->one_in(4)) out.v_head_sizes = int_list(bytes, heap);
  return any_version(out, bytes, heap);
}

const attnplan_kv_cache* kv_cache(Bytes* bytes, Heap* heap) {
  attnplan_kv_cache out = ATTNPLAN_KV_CACHE_INIT;
  out.layout = choice(bytes, 7);
  out.flags = bits(bytes, 7);
  out.num_blocks = bytes->one_in(8) ? bytes->length() : 20;
  out.block_size = bytes->one_in(4) ? bytes->length() : 16;
  out.page_size = optional(bytes);
  out.cache_dtype = choice(bytes, 7);
  out.storage_dtype = bytes->one_in(8) ? choice(bytes, 8) : 0;
  out.view_dtype = bytes->one_in(8) ? choice(bytes, 8) : 0;
  out.scale = choice(bytes, 5);
  out.offset_unit = bytes->one_in(8) ? choice(bytes, 3) : 0;
  out.offset_max = bytes->one_in(2) ? bytes->take<int64_t>() : INT64_MAX;
  for (int64_t* pages :
       {&out.k_pages, &out.v_pages, &out.k_scale_pages, &out.v_scale_pages, &out.block_stride}) {
    if (bytes->one_in(16)) *pages = bytes->take<int64_t>();
  }
  return any_version(out, bytes, heap);
}

void fill_contracts(Bytes* bytes, Heap* heap, attnplan_config* config) {
  if (!bytes->one_in(2)) return;
  std::vector<const attnplan_contract*> contracts;
  for (uint32_t i = 1 + bytes->below(4); i > 0; --i) contracts.push_back(contract(bytes, heap));
  if (bytes->one_in(64)) contracts.back() = nullptr;
  config->contracts = heap->copy(contracts);
  config->num_contracts = contracts.size();
}

// Sections of one request or row, and one group of the others.
uint64_t sections(Bytes* bytes) {
  if (bytes->one_in(32)) return bytes->take<uint64_t>();
  const auto from = [](int first, int last) {
    return (uint64_t{2} << last) - (uint64_t{1} << first);
  };
  const uint64_t groups[] = {0,
                             from(ATTNPLAN_SECTION_PAGE_INDPTR, ATTNPLAN_SECTION_PAGE_TABLE),
                             from(ATTNPLAN_SECTION_SLOTS, ATTNPLAN_SECTION_SLOTS),
                             from(ATTNPLAN_SECTION_CHUNKS, ATTNPLAN_SECTION_CHUNK_TOKEN_TO_REQUEST),
                             from(ATTNPLAN_SECTION_WINDOW, ATTNPLAN_SECTION_WINDOW_CU_LEN),
                             from(ATTNPLAN_SECTION_LOCAL, ATTNPLAN_SECTION_CONTEXT_PARALLEL),
                             from(ATTNPLAN_SECTION_LAUNCH, ATTNPLAN_SECTION_LAUNCH),
                             from(ATTNPLAN_SECTION_PAGE_INDPTR, ATTNPLAN_SECTION_LAUNCH)};
  const uint64_t selector = bytes->take<uint16_t>();
  const uint64_t plain = from(ATTNPLAN_SECTION_QUERY_START_LOC, ATTNPLAN_SECTION_ROW_POSITION);
  return (selector & plain) | groups[selector >> 13];
}

bool grows_with_tokens(const attnplan_config& config) {
  return config.sections >> ATTNPLAN_SECTION_PAGE_INDPTR != 0 || config.work != 0;
}

const attnplan_config* config(Bytes* bytes, Heap* heap, const attnplan_allocator* allocator,
                              bool* per_token) {
  attnplan_config out = ATTNPLAN_CONFIG_INIT;
  out.profile = bytes->one_in(64) ? nullptr : string(bytes, heap, kProfiles);
  fill_contracts(bytes, heap, &out);
  if (bytes->one_in(2)) out.kv_cache = kv_cache(bytes, heap);
  out.allocator = allocator;
  if (bytes->one_in(4)) out.arch = string(bytes, heap, kArchs);
  out.sections = sections(bytes);
  if (bytes->one_in(8)) out.graph_full = int_list(bytes, heap);
  if (bytes->one_in(8)) out.graph_piecewise = int_list(bytes, heap);
  if (bytes->one_in(16)) out.max_sections_bytes = bytes->take<int16_t>();
  for (int32_t* value : {&out.max_model_len, &out.max_num_seqs, &out.max_num_batched_tokens,
                         &out.num_workers, &out.num_q_heads, &out.num_kv_heads, &out.head_size,
                         &out.v_head_size, &out.sliding_window, &out.max_segments}) {
    if (bytes->one_in(8)) *value = bytes->length();
  }
  out.decode_threshold = optional(bytes);
  out.mask = bytes->one_in(8) ? choice(bytes, 2) : 0;
  out.features = bytes->one_in(8) ? bits(bytes, 15) : 0;
  out.flags = some_bits(bytes, 3);
  out.order = choice(bytes, 2);
  out.ragged = choice(bytes, 4);
  for (int32_t* value :
       {&out.chunk_policy, &out.chunk_workspace_tokens, &out.work, &out.work_fixed_tokens,
        &out.section_layout, &out.graph_width, &out.graph_max_num_seqs, &out.context_parallel_world,
        &out.context_parallel_rank, &out.context_parallel_interleave, &out.local_attention_chunk}) {
    if (bytes->one_in(8)) *value = bytes->length();
  }
  out.profile_ragged = choice(bytes, 4);
  *per_token = grows_with_tokens(out);
  return any_version(out, bytes, heap);
}

const int32_t* offsets(const std::vector<int32_t>& query, Bytes* bytes, Heap* heap) {
  std::vector<int32_t> out = {bytes->one_in(64) ? bytes->length() : 0};
  for (int32_t length : query) {
    out.push_back(
        static_cast<int32_t>(static_cast<uint32_t>(out.back()) + static_cast<uint32_t>(length)));
  }
  return heap->copy(out);
}

const int32_t* around(const std::vector<int32_t>& base, Bytes* bytes, Heap* heap) {
  std::vector<int32_t> out;
  for (int32_t value : base) {
    const uint32_t sum = static_cast<uint32_t>(value) + static_cast<uint32_t>(bytes->length());
    out.push_back(bytes->one_in(32) ? bytes->take<int32_t>() : static_cast<int32_t>(sum));
  }
  return heap->copy(out);
}

const uint8_t* booleans(Bytes* bytes, Heap* heap, int64_t count) {
  std::vector<uint8_t> out;
  for (int64_t i = 0; i < count; ++i) {
    out.push_back(bytes->one_in(32) ? 7 : static_cast<uint8_t>(bytes->below(2)));
  }
  return heap->copy(out);
}

// Returns the query lengths.
std::vector<int32_t> fill_step(Bytes* bytes, Heap* heap, int64_t n, attnplan_step* out) {
  const std::vector<int32_t> query = lengths(bytes, n);
  const bool as_offsets = bytes->one_in(2);
  if (as_offsets) out->query_start_loc = offsets(query, bytes, heap);
  if (!as_offsets || bytes->one_in(64)) out->query_lens = heap->copy(query);
  if (bytes->one_in(2)) {
    out->num_computed_tokens = heap->copy(lengths(bytes, n));
  }
  if (out->num_computed_tokens == nullptr || bytes->one_in(2)) {
    out->seq_lens = around(query, bytes, heap);
  }
  if (bytes->one_in(3)) out->num_prompt_tokens = heap->copy(lengths(bytes, n));
  if (bytes->one_in(4)) out->num_known_tokens = heap->copy(lengths(bytes, n));
  if (bytes->one_in(4)) out->num_draft_tokens = heap->copy(lengths(bytes, n));
  if (bytes->one_in(4)) out->is_prefilling = booleans(bytes, heap, n);
  if (bytes->one_in(4)) out->seq_len_exact = booleans(bytes, heap, n);
  out->num_reqs = static_cast<int32_t>(n);
  if (bytes->one_in(128)) out->num_reqs = -out->num_reqs;
  out->phase = choice(bytes, 4);
  out->flags = some_bits(bytes, 3);
  for (int32_t* value :
       {&out->num_tokens, &out->max_query_len, &out->num_reqs_padded, &out->num_tokens_padded}) {
    if (bytes->one_in(8)) *value = bytes->length();
  }
  out->graph_allow = bytes->one_in(8) ? choice(bytes, 3) : 0;
  return query;
}

void fill_dense(Bytes* bytes, Heap* heap, int64_t n, attnplan_group* out) {
  out->columns = bytes->length();
  out->row_stride = bytes->one_in(4) ? bytes->length() : 0;
  const int64_t columns = std::clamp(out->columns, 0, 64);
  const int64_t stride = std::clamp<int64_t>(out->row_stride, 0, 64);
  if (columns != out->columns || stride != out->row_stride) return;  // the width alone
  // The last row need not be padded to the stride.
  const int64_t ids = n == 0 ? 0 : (n - 1) * (stride > 0 ? stride : columns) + columns;
  out->block_ids = heap->copy(lengths(bytes, ids));
}

void fill_csr(Bytes* bytes, Heap* heap, int64_t n, attnplan_group* out) {
  std::vector<int32_t> indptr = {0};
  for (int64_t i = 0; i < n; ++i) {
    indptr.push_back(indptr.back() + static_cast<int32_t>(bytes->below(6)));
  }
  const int64_t ids = indptr.back();
  if (bytes->one_in(16))
    indptr[bytes->below(static_cast<uint32_t>(indptr.size()))] = bytes->length();
  // What a caller with a broken index list really has behind it is what its last entry says.
  const int64_t last = std::clamp<int64_t>(indptr.back(), 0, ids);
  out->block_indptr = heap->copy(indptr);
  out->block_ids = heap->copy(lengths(bytes, last));
  if (indptr.back() > last) out->block_ids = nullptr;
}

void fill_slots(Bytes* bytes, Heap* heap, int64_t rows, attnplan_group* out) {
  if (!bytes->one_in(8) || rows > 1000) return;
  const int64_t words = (out->flags & ATTNPLAN_GROUP_SLOTS_INT64) != 0 ? 2 * rows : rows;
  out->slot_mapping = heap->copy(lengths(bytes, words));
}

}  // namespace

StructInput decode(Bytes* bytes, Heap* heap, const attnplan_allocator* allocator) {
  StructInput out;
  if (bytes->one_in(8)) out.fail_after = 1 + bytes->below(40);
  out.config = config(bytes, heap, allocator, &out.per_token);
  out.num_reqs = bytes->below(32);
  attnplan_step step = ATTNPLAN_STEP_INIT;
  const std::vector<int32_t> query = fill_step(bytes, heap, out.num_reqs, &step);
  for (int64_t i = 0; i < out.num_reqs; ++i) {
    out.num_rows += std::max(query[static_cast<size_t>(i)], 0);
    for (const int32_t* tokens : {step.seq_lens, step.num_computed_tokens}) {
      if (tokens != nullptr) out.max_tokens = std::max<int64_t>(out.max_tokens, tokens[i]);
    }
  }
  out.step = any_version(step, bytes, heap);
  if (bytes->one_in(2)) {
    attnplan_group group = ATTNPLAN_GROUP_INIT;
    group.flags = some_bits(bytes, 3);
    if (bytes->one_in(2)) {
      fill_dense(bytes, heap, out.num_reqs, &group);
    } else {
      fill_csr(bytes, heap, out.num_reqs, &group);
    }
    fill_slots(bytes, heap, out.num_rows, &group);
    out.group = any_version(group, bytes, heap);
  }
  return out;
}

}  // namespace attnplan::fuzz
