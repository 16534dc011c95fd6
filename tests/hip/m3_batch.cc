#include "hip/m3_batch.h"

#include <cstring>
#include <numeric>

#include "hip/fp8_definition.h"

namespace attnplan::hip {
namespace {

const Fp8Definition& fp8(Cache format) {
  static const Fp8Definition kFormats[] = {
      Fp8Definition(Cache::kE4m3fn), Fp8Definition(Cache::kE4m3fnuz), Fp8Definition(Cache::kE5m2)};
  return kFormats[static_cast<int>(format) - static_cast<int>(Cache::kE4m3fn)];
}

int bytes_of(Cache format) { return is_fp8(format) ? 1 : 2; }

// Stored in every format without rounding.
float draw_exact(property::Dice* dice) { return static_cast<float>(dice->in(-8, 8)) / 4; }
float draw_any(property::Dice* dice) {
  return static_cast<float>(dice->in(-(1 << 20), 1 << 20)) / (1 << 20);
}

}  // namespace

double decode(Cache format, uint32_t code) {
  if (format == Cache::kBf16) return bf16_low(code);
  if (format == Cache::kFp16) return fp16_low(code);
  return fp8(format).decode(static_cast<uint8_t>(code));
}

uint32_t encode(Cache format, float value) {
  if (format == Cache::kBf16) return pack_bf16(value, 0) & 0xffffu;
  if (format == Cache::kFp16) return pack_fp16(value, 0) & 0xffffu;
  return fp8(format).encode(value);
}

M3Batch::M3Batch(int32_t requests, int32_t max_rows, int32_t max_len, int32_t page_size_,
                 property::Dice* dice)
    : page_size(page_size_) {
  const int32_t before = dice->in32(0, 2);  // requests of the segment in front
  page_indptr.push_back(0);
  int32_t total = 0;
  for (int32_t i = 0; i < before + requests; ++i) {
    if (i == before) {
      segment.req_begin = i;
      segment.row_begin = num_rows();
    }
    const bool pad = i >= before && dice->percent(15);
    const int32_t rows = pad ? dice->in32(0, 2) : dice->in32(1, max_rows);
    const int32_t length = pad ? 0 : dice->in32(rows, std::max(rows, max_len));
    const int32_t behind = !pad && dice->percent(20) ? dice->in32(0, rows - 1) : 0;
    const int32_t context = pad ? 0 : length - (rows - behind);
    if (i >= before) starts.push_back(num_rows() - segment.row_begin);
    for (int32_t row = 0; row < rows; ++row) {
      row_request.push_back(pad ? -1 : i);
      row_position.push_back(pad || context + row >= length ? -1 : context + row);
    }
    seq_lens.push_back(length);
    context_lens.push_back(context);
    total += (length + page_size - 1) / page_size;
    page_indptr.push_back(total);
  }
  header.num_segments = 1;
  segment.req_end = num_requests();
  segment.row_end = num_rows();
  starts.push_back(num_rows() - segment.row_begin);
  num_pages = total + dice->in32(1, 3);
  std::vector<int32_t> ids(static_cast<size_t>(num_pages));
  std::iota(ids.begin(), ids.end(), 0);
  for (size_t i = ids.size(); i > 1; --i) std::swap(ids[i - 1], ids[dice->next() % i]);
  page_indices.assign(ids.begin(), ids.begin() + total);
  dense = dice->percent(50);
  header.num_rows = header.graph_rows = num_rows();
  if (dice->percent(50)) {
    header.graph_kind = ATTNPLAN_GRAPH_FULL;
    header.graph_rows += dice->in32(0, 9);
  }
  fill_table();
}

void M3Batch::fill_table() {
  for (int32_t i = 0; i < num_requests(); ++i) {
    page_table_width = std::max(page_table_width, page_indptr[i + 1] - page_indptr[i]);
  }
  for (int32_t i = 0; i < num_requests(); ++i) {
    page_table.insert(page_table.end(), page_indices.begin() + page_indptr[i],
                      page_indices.begin() + page_indptr[i + 1]);
    page_table.resize(static_cast<size_t>((i + 1) * page_table_width), -1);
  }
}

void M3Batch::fill(AttentionArgs* args) const {
  args->header = &header;
  args->segment = &segment;
  args->query_start_loc = starts.data();
  args->seq_lens = seq_lens.data();
  args->context_lens = context_lens.data();
  args->page_indptr = dense ? nullptr : page_indptr.data();
  args->page_indices = dense ? page_table.data() : page_indices.data();
  args->page_table_width = page_table_width;
  args->page_shift = 0;
  while (1 << args->page_shift < page_size) ++args->page_shift;
  args->pages_per_stride = 2;
  args->causal = 1;
}

M3Cache::M3Cache(const M3Batch& batch, Cache format_, int32_t heads_, int32_t head_size_,
                 Form form_, bool exact, property::Dice* dice)
    : format(format_),
      heads(heads_),
      head_size(head_size_),
      page_size(batch.page_size),
      form(form_) {
  storage.resize(static_cast<size_t>(batch.num_pages * page_bytes() / 16));
  // Every byte 0xff is NaN in all formats but one.
  std::memset(storage.data(), format == Cache::kE4m3fnuz ? 0x80 : 0xff, storage.size() * 16);
  for (int32_t request = 0; request < batch.num_requests(); ++request) {
    for (int32_t token = 0; token < batch.seq_lens[request]; ++token) {
      for (int32_t head = 0; head < heads; ++head) {
        for (int32_t e = 0; e < head_size; ++e) {
          set(batch.page_of(request, token), head, token % page_size, e,
              encode(format, exact ? draw_exact(dice) : draw_any(dice)));
        }
      }
    }
  }
}

int64_t M3Cache::page_bytes() const {
  return int64_t{heads} * page_size * head_size * bytes_of(format);
}

CacheTensor M3Cache::tensor() const {
  const int64_t row = head_size * bytes_of(format);
  CacheTensor tensor = {reinterpret_cast<const uint8_t*>(storage.data()),
                        2 * page_bytes(),
                        page_bytes(),
                        page_size * row,
                        row,
                        16};
  if (form == Form::kShuffledKeys) {
    tensor.token_stride = 16;
    tensor.chunk_stride = page_size * 16;
  } else if (form == Form::kShuffledValues) {
    tensor.token_stride = head_size * 16;
  }
  return tensor;
}

int64_t M3Cache::offset(int64_t page, int32_t head, int32_t token, int32_t element) const {
  const int32_t bytes = bytes_of(format), x = 16 / bytes;
  int64_t inside = int64_t{token} * head_size + element;  // elements
  if (form == Form::kShuffledKeys) inside = element / x * page_size * x + token * x + element % x;
  if (form == Form::kShuffledValues) inside = token / x * head_size * x + element * x + token % x;
  return page * page_bytes() + (int64_t{head} * page_size * head_size + inside) * bytes;
}

uint32_t M3Cache::code(int64_t page, int32_t head, int32_t token, int32_t element) const {
  const auto* from =
      reinterpret_cast<const uint8_t*>(storage.data()) + offset(page, head, token, element);
  return bytes_of(format) == 1 ? from[0] : from[0] | static_cast<uint32_t>(from[1]) << 8;
}

void M3Cache::set(int64_t page, int32_t head, int32_t token, int32_t element, uint32_t code) {
  auto* to = reinterpret_cast<uint8_t*>(storage.data()) + offset(page, head, token, element);
  to[0] = static_cast<uint8_t>(code);
  if (bytes_of(format) == 2) to[1] = static_cast<uint8_t>(code >> 8);
}

std::vector<double> M3Cache::rows(const M3Batch& batch, int32_t request, int32_t head) const {
  std::vector<double> rows;
  for (int32_t token = 0; token < batch.seq_lens[request]; ++token) {
    for (int32_t e = 0; e < head_size; ++e) {
      const int64_t page = batch.page_of(request, token);
      rows.push_back(decode(format, code(page, head, token % page_size, e)));
    }
  }
  return rows;
}

std::vector<uint16_t> draw_queries(size_t count, bool bf16, bool exact, property::Dice* dice) {
  std::vector<uint16_t> queries(count);
  for (uint16_t& query : queries) {
    const float value = exact ? draw_exact(dice) : draw_any(dice) * 4;
    query = static_cast<uint16_t>(encode(bf16 ? Cache::kBf16 : Cache::kFp16, value));
  }
  return queries;
}

}  // namespace attnplan::hip
