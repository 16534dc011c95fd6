#include "hip/layer.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>

#include "attnplan/kv_cache.h"
#include "convert_cache.h"
#include "hip/contract_table.h"
#include "versioned.h"

namespace attnplan::hip {
namespace {

constexpr int32_t kMostHeads = 1 << 16;
constexpr int32_t kMostTopK = 32;

template <class T>
void default_to(T& field, T value) {
  if (field == 0) field = value;
}

void fill_defaults(attnplan_hip_attention* a) {
  if (a->arch == nullptr) a->arch = "gfx950";
  default_to(a->q_dtype, attnplan_dtype{ATTNPLAN_DTYPE_BF16});
  default_to(a->num_q_heads, 16);
  default_to(a->num_kv_heads, 1);
  default_to(a->head_size, 128);
  default_to(a->v_head_size, a->head_size);
  default_to(a->softmax_scale, 1.0f / std::sqrt(static_cast<float>(a->head_size)));
  default_to(a->k_scale, 1.0f);
  default_to(a->v_scale, 1.0f);
}

struct Number {
  char text[32];
};
// The sign of what is no number says nothing.
Number number(float value) {
  Number n;
  const bool nan = std::isnan(value);
  std::snprintf(n.text, sizeof n.text, nan ? "nan" : "%g", static_cast<double>(value));
  return n;
}

Status out_of_range(Error* error, const char* what, int64_t value, int64_t least, int64_t most) {
  return error->set(
      Status::kInvalidArgument, Code::kValueOutOfRange, -1, value, value < least ? least : most,
      "attention: %s is %lld, it has to be %lld to %lld", what, static_cast<long long>(value),
      static_cast<long long>(least), static_cast<long long>(most));
}

Status check_numbers(const attnplan_hip_attention& a, Error* error) {
  const struct {
    const char* name;
    int64_t value, least, most;
  } fields[] = {{"num_q_heads", a.num_q_heads, 1, kMostHeads},
                {"num_kv_heads", a.num_kv_heads, 1, kMostHeads},
                {"head_size", a.head_size, 1, kMostHeads},
                {"v_head_size", a.v_head_size, 1, kMostHeads},
                {"sliding_window", a.sliding_window, 0, INT32_MAX},
                {"top_k", a.top_k, 0, kMostTopK}};
  for (const auto& f : fields) {
    if (f.value < f.least || f.value > f.most) {
      return out_of_range(error, f.name, f.value, f.least, f.most);
    }
  }
  if (a.num_q_heads % a.num_kv_heads != 0) {
    return error->set(Status::kInvalidArgument, Code::kValueOutOfRange, -1, a.num_q_heads,
                      a.num_kv_heads, "attention: num_kv_heads %d does not divide num_q_heads %d",
                      a.num_kv_heads, a.num_q_heads);
  }
  const struct {
    const char* name;
    float value;
    bool may_be_zero;
  } factors[] = {{"softmax_scale", a.softmax_scale, false},
                 {"soft_cap", a.soft_cap, true},
                 {"k_scale", a.k_scale, false},
                 {"v_scale", a.v_scale, false}};
  for (const auto& f : factors) {
    if (std::isfinite(f.value) && (f.value > 0 || (f.may_be_zero && f.value == 0))) continue;
    return error->set(Status::kInvalidArgument, Code::kValueOutOfRange, -1, 0, 0,
                      "attention: %s is %s, it has to be positive and finite", f.name,
                      number(f.value).text);
  }
  return Status::kOk;
}

Status read_cache(Layer* layer, Error* error) {
  const attnplan_hip_attention& a = layer->attention;
  const attnplan_kv_cache* given;
  Status status = read_struct(a.kv_cache, &layer->cache, &given, "attnplan_kv_cache", error);
  if (status != Status::kOk) return status;
  layer->cache = *given;
  KvCache cache;
  KvView view;
  status = to_cache(given, &cache, error);
  if (status == Status::kOk) {
    status =
        resolve_kv_view(cache, a.num_kv_heads, a.head_size, a.v_head_size, a.arch, &view, error);
  }
  if (status != Status::kOk) return status;
  layer->view_dtype = static_cast<attnplan_dtype>(view.view_dtype);
  layer->storage_dtype = static_cast<attnplan_dtype>(view.storage_dtype);
  layer->block_size = cache.block_size;
  layer->page_size = view.page_size;
  layer->pages_per_block = view.pages_per_block;
  layer->block_page_stride = view.block_page_stride;
  layer->max_page_id = view.max_page_id;
  return Status::kOk;
}

Status unsupported(Error* error, Code code, int64_t value, const char* what, const char* found) {
  return error->set(Status::kUnimplemented, code, -1, value, 0, "no kernel: %s %s", what, found);
}

template <size_t kLines>
bool has_line(const KernelKey (&lines)[kLines], const Layer& layer) {
  const attnplan_hip_attention& a = layer.attention;
  const uint32_t dtypes = cache_dtypes(lines, a.head_size, a.v_head_size, layer.shuffled());
  return (dtypes >> layer.view_dtype & 1u) != 0;
}

Status check_model(const Layer& layer, Error* error) {
  const attnplan_hip_attention& a = layer.attention;
  if (const Status query = check_query_dtype(layer, error); query != Status::kOk) return query;
  if (layer.group() > kGroups.back()) {
    return error->set(Status::kUnimplemented, Code::kNone, -1, layer.group(), kGroups.back(),
                      "no kernel: %d query heads per KV head, at most %d", layer.group(),
                      kGroups.back());
  }
  const bool pair = layer.sparse() ? kM3Pairs.has(a.head_size, a.v_head_size)
                                   : kDensePairs.has(a.head_size, a.v_head_size);
  if (!pair) {
    return error->set(Status::kUnimplemented, Code::kNone, -1, a.head_size, a.v_head_size,
                      "no kernel: head_size %d with v_head_size %d", a.head_size, a.v_head_size);
  }
  if (a.mask < 0 || a.mask > ATTNPLAN_MASK_FULL) return unknown_value(error, "mask", a.mask);
  if (!layer.sparse()) return Status::kOk;
  if (a.mask != ATTNPLAN_MASK_CAUSAL) {
    return unsupported(error, Code::kNone, a.mask, "top_k needs", "the causal mask");
  }
  if (a.sliding_window > 0 || a.soft_cap > 0) {
    return unsupported(error, Code::kNone, a.sliding_window, "top_k excludes",
                       "sliding_window and soft_cap");
  }
  return Status::kOk;
}

Status check_cache(const Layer& layer, Error* error) {
  const attnplan_hip_attention& a = layer.attention;
  const attnplan_kv_cache& cache = layer.cache;
  if ((kLayouts >> cache.layout & 1u) == 0) {
    return unsupported(error, Code::kLayoutUnsupported, cache.layout, "the cache's layout is",
                       "mla");
  }
  const auto dtype = static_cast<Dtype>(layer.view_dtype);
  if (!serves_query(layer.view_dtype, a.q_dtype)) {
    return error->set(Status::kUnimplemented, Code::kDtypeMismatch, -1, layer.view_dtype, a.q_dtype,
                      "no kernel: the cache is %s, so q_dtype has to be, and is %s", name(dtype),
                      name(static_cast<Dtype>(a.q_dtype)));
  }
  const bool found =
      layer.sparse() ? has_line(kM3SparseLines, layer) : has_line(kAttentionLines, layer);
  if (!found) {
    return unsupported(error, Code::kDtypeMismatch, layer.view_dtype, "the cache is viewed as",
                       name(dtype));
  }
  const uint32_t scales = is_16_bit(layer.view_dtype) ? kScalesOf16Bit : kScales;
  if ((scales >> cache.scale & 1u) == 0) {
    constexpr const char* kWords[] = {"no scales", "per-tensor scales", "per-head scales",
                                      "scales of single tokens and heads",
                                      "scales of tokens inside its rows"};
    return error->set(Status::kUnimplemented, Code::kDtypeMismatch, -1, cache.scale, 0,
                      "no kernel: cache of %s with %s", name(dtype), kWords[cache.scale]);
  }
  if (layer.sparse() && cache.block_size != kM3BlockTokens) {
    return error->set(Status::kUnimplemented, Code::kBlockSizeUnsupported, -1, cache.block_size,
                      kM3BlockTokens,
                      "no kernel: top_k with blocks of %d tokens, they have to be %d",
                      cache.block_size, kM3BlockTokens);
  }
  return Status::kOk;
}

}  // namespace

Status read_layer(const attnplan_hip_attention* given, Layer* layer, Error* error) {
  attnplan_hip_attention copy;
  const attnplan_hip_attention* read;
  *layer = {};
  const Status status = read_struct(given, &copy, &read, "attnplan_hip_attention", error);
  if (status != Status::kOk) return status;
  layer->attention = *read;
  fill_defaults(&layer->attention);
  if (const Status checked = check_numbers(layer->attention, error); checked != Status::kOk) {
    return checked;
  }
  return layer->has_cache() ? read_cache(layer, error) : Status::kOk;
}

Status need_cache(const Layer& layer, Error* error) {
  if (layer.has_cache()) return Status::kOk;
  return error->set(Status::kInvalidArgument, Code::kNone, -1, 0, 0, "attention: kv_cache is NULL");
}

int32_t kernel_page_size(const Layer& layer) {
  if (layer.cache.page_size > 0) return layer.cache.page_size;
  int32_t best = 0;
  for (const int32_t page : kPageSizes) {
    if (layer.cache.block_size % page == 0) best = page;
  }
  return best;
}

Status check_supported(const Layer& layer, Error* error) {
  const Status status = check_model(layer, error);
  if (status != Status::kOk || !layer.has_cache()) return status;
  return check_cache(layer, error);
}

Status check_query_dtype(const Layer& layer, Error* error) {
  const attnplan_dtype dtype = layer.attention.q_dtype;
  if (is_16_bit(dtype)) return Status::kOk;
  return unsupported(error, Code::kDtypeMismatch, dtype, "q_dtype is neither", "bf16 nor fp16");
}

Status check_page_size(const Layer& layer, int32_t page_size, Error* error) {
  const int32_t own = layer.cache.page_size, block = layer.cache.block_size;
  if (std::find(kPageSizes.begin(), kPageSizes.end(), page_size) == kPageSizes.end()) {
    return error->set(Status::kPlanError, Code::kPageSizeMismatch, -1, page_size, own,
                      "plan: its pages have %d tokens, the kernels take 16, 32, 64 or 128",
                      page_size);
  }
  if ((own == 0 || own == page_size) && block % page_size == 0) return Status::kOk;
  return error->set(Status::kPlanError, Code::kPageSizeMismatch, -1, page_size, own,
                    "plan: its pages have %d tokens, but kv_cache has a page_size of %d and blocks "
                    "of %d: the plan is of another cache",
                    page_size, own, block);
}

Status layer_strides(const Layer& layer, int32_t page_size, CacheStrides* strides, Error* error) {
  const attnplan_hip_attention& a = layer.attention;
  if (const Status pages = check_page_size(layer, page_size, error); pages != Status::kOk) {
    return pages;
  }
  *strides = make_cache_strides(
      layer.cache, {a.num_kv_heads, a.head_size, a.v_head_size,
                    bytes_per_element(static_cast<Dtype>(layer.view_dtype)), page_size});
  if (!aligned_for_kernels(*strides)) {
    return error->set(Status::kInvalidArgument, Code::kLayoutUnsupported, -1,
                      layer.cache.block_stride, 16,
                      "kv_cache: with block_stride %lld not every row begins at a multiple of 16 "
                      "bytes",
                      static_cast<long long>(layer.cache.block_stride));
  }
  return Status::kOk;
}

}  // namespace attnplan::hip
