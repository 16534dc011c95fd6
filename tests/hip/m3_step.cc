#include "hip/m3_step.h"

#include <algorithm>
#include <numeric>

#include "property/dice.h"

namespace attnplan::hip_test {
namespace {

using cpu::bytes_of;
using cpu::decode;
using cpu::dtype_of;
using cpu::encode;
using cpu::poison_byte;

using property::Dice;

template <class Code>
void draw_codes(size_t count, Format format, bool exact, double width, Dice* dice,
                std::vector<Code>* codes) {
  codes->resize(count);
  for (Code& code : *codes) {
    const double number = exact ? static_cast<double>(dice->in(-8, 8)) / 4
                                : width * static_cast<double>(dice->in(-1000, 1000)) / 1000;
    code = static_cast<Code>(encode(format, number));
  }
}

}  // namespace

M3Step::M3Step(const M3Description& description) : d(description) {
  Dice dice(d.seed);
  draw_lengths();
  for (const int32_t length : seq_lens) {
    num_blocks += (length + kM3BlockSize - 1) / kM3BlockSize;
    columns = std::max(columns, (length + kM3BlockSize - 1) / kM3BlockSize);
  }
  num_blocks += 2;
  std::vector<int32_t> ids(static_cast<size_t>(num_blocks));
  std::iota(ids.begin(), ids.end(), 0);
  for (size_t i = ids.size(); i > 1; --i) std::swap(ids[i - 1], ids[dice.next() % i]);
  block_ids.assign(static_cast<size_t>(num_requests() * columns), -7);
  size_t next = 0;
  for (int32_t r = 0; r < num_requests(); ++r) {
    for (int32_t b = 0; b * kM3BlockSize < seq_lens[static_cast<size_t>(r)]; ++b) {
      block_ids[static_cast<size_t>(r * columns + b)] = ids[next++];
    }
  }
  cpu::AttentionShape shape;
  shape.num_q_heads = shape.num_kv_heads = d.num_kv_heads;
  layout = cpu::make_layout(cache(), shape, num_blocks);
  const auto tokens = static_cast<size_t>(num_blocks) * kM3BlockSize * kM3HeadSize;
  const auto heads = static_cast<size_t>(d.num_kv_heads);
  draw_codes(tokens * heads, d.cache, false, 1, &dice, &k);
  draw_codes(tokens * heads, d.cache, false, 1, &dice, &v);
  draw_codes(tokens, d.index, true, 0, &dice, &index_k);
  const auto row_elements = static_cast<size_t>(rows()) * heads * kM3HeadSize;
  draw_codes(row_elements * static_cast<size_t>(d.group), d.q, false, 4, &dice, &q);
  draw_codes(row_elements, d.q, true, 0, &dice, &index_q);
}

void M3Step::draw_lengths() {
  Dice dice(d.seed + 1);
  for (int32_t r = 0; r < d.requests; ++r) {
    const bool pad = d.idle || (r > 0 && r == d.requests - 1);
    const bool extends = 2 * r >= d.requests;
    const int32_t query = pad ? 0 : extends ? dice.in32(9, d.rows) : dice.in32(1, 4);
    const int32_t context = dice.percent(20) ? 0 : dice.in32(1, d.max_len);
    starts.push_back(rows());
    query_lens.push_back(query);
    seq_lens.push_back(pad ? 0 : query + context);
    row_request.resize(row_request.size() + static_cast<size_t>(query), r);
  }
}

attnplan_kv_cache M3Step::cache() const {
  attnplan_kv_cache cache = ATTNPLAN_KV_CACHE_INIT;
  cache.layout = d.packed ? ATTNPLAN_LAYOUT_LBHNC : ATTNPLAN_LAYOUT_LBNHC;
  cache.flags = (d.packed ? ATTNPLAN_KV_PACKED : 0) | (d.shuffle ? ATTNPLAN_KV_SHUFFLE : 0);
  cache.num_blocks = num_blocks;
  cache.block_size = kM3BlockSize;
  cache.page_size = d.page_size;
  if (bytes_of(d.cache) == 2) {
    cache.cache_dtype = d.cache == Format::kBf16 ? ATTNPLAN_CACHE_BF16 : ATTNPLAN_CACHE_FP16;
  } else {
    cache.cache_dtype = ATTNPLAN_CACHE_FP8_INC;
    cache.storage_dtype = dtype_of(d.cache);
  }
  return cache;
}

int64_t M3Step::token(int32_t request, int32_t position) const {
  const int32_t block = block_ids[static_cast<size_t>(request * columns + position / kM3BlockSize)];
  return int64_t{block} * kM3BlockSize + position % kM3BlockSize;
}

std::vector<double> M3Step::rows_of(const std::vector<uint32_t>& codes, Format format,
                                    int32_t request, int32_t heads, int32_t head) const {
  std::vector<double> numbers;
  for (int32_t t = 0; t < seq_lens[static_cast<size_t>(request)]; ++t) {
    const int64_t at = (token(request, t) * heads + head) * kM3HeadSize;
    for (int64_t e = 0; e < kM3HeadSize; ++e) {
      numbers.push_back(decode(format, codes[static_cast<size_t>(at + e)]));
    }
  }
  return numbers;
}
std::vector<double> M3Step::keys(int32_t request, int32_t head) const {
  return rows_of(k, d.cache, request, d.num_kv_heads, head);
}
std::vector<double> M3Step::values(int32_t request, int32_t head) const {
  return rows_of(v, d.cache, request, d.num_kv_heads, head);
}
std::vector<double> M3Step::index_keys(int32_t request) const {
  return rows_of(index_k, d.index, request, 1, 0);
}

std::vector<double> M3Step::query(int32_t row, int32_t head) const {
  std::vector<double> numbers;
  const auto first = static_cast<size_t>((row * d.num_kv_heads * d.group + head) * kM3HeadSize);
  for (size_t e = 0; e < kM3HeadSize; ++e) numbers.push_back(decode(d.q, q[first + e]));
  return numbers;
}
std::vector<double> M3Step::index_query(int32_t row, int32_t head) const {
  std::vector<double> numbers;
  const auto first = static_cast<size_t>((row * d.num_kv_heads + head) * kM3HeadSize);
  for (size_t e = 0; e < kM3HeadSize; ++e) numbers.push_back(decode(d.q, index_q[first + e]));
  return numbers;
}

int64_t M3Step::cache_elements() const {
  return d.packed ? num_blocks * layout.k.block_stride
                  : layout.v.base + num_blocks * layout.v.block_stride;
}

Image M3Step::cache_image() const {
  const auto width = static_cast<size_t>(bytes_of(d.cache));
  Image image(static_cast<size_t>(cache_elements()) * width, poison_byte(d.cache));
  for (int32_t r = 0; r < num_requests(); ++r) {
    for (int32_t t = 0; t < seq_lens[static_cast<size_t>(r)]; ++t) {
      const int64_t at = token(r, t);
      const int32_t in_block = t % kM3BlockSize;
      const int64_t page = layout.page_id(at / kM3BlockSize, in_block / layout.page_size);
      for (int32_t head = 0; head < d.num_kv_heads; ++head) {
        for (int32_t e = 0; e < kM3HeadSize; ++e) {
          const auto code = static_cast<size_t>((at * d.num_kv_heads + head) * kM3HeadSize + e);
          const int32_t in_page = in_block % layout.page_size;
          const auto put = [&](const cpu::TensorLayout& tensor, uint32_t value) {
            const int64_t element =
                layout.row_address(tensor, page, head, in_page) + tensor.element_offset(e);
            image.put(static_cast<size_t>(element) * width, value, width);
          };
          put(layout.k, k[code]);
          put(layout.v, v[code]);
        }
      }
    }
  }
  return image;
}

Image M3Step::index_image() const {
  const auto width = static_cast<size_t>(bytes_of(d.index));
  Image image(index_k.size() * width, poison_byte(d.index));
  for (int32_t r = 0; r < num_requests(); ++r) {
    for (int32_t t = 0; t < seq_lens[static_cast<size_t>(r)]; ++t) {
      for (int64_t e = 0; e < kM3HeadSize; ++e) {
        const auto at = static_cast<size_t>(token(r, t) * kM3HeadSize + e);
        image.put(at * width, index_k[at], width);
      }
    }
  }
  return image;
}

}  // namespace attnplan::hip_test
