#include "hip/tensors.h"

#include <algorithm>

#include "hip/image.h"

namespace attnplan::hip_test {
namespace {

constexpr uint8_t kNan = 0xff;  // of float32, bf16 and fp16

cpu::AttentionShape shape_of(const Description& d) {
  cpu::AttentionShape shape;
  shape.num_q_heads = d.num_q_heads();
  shape.num_kv_heads = d.num_kv_heads;
  shape.head_size = d.head_size;
  shape.v_head_size = d.v_head_size;
  return shape;
}

size_t query_bytes(const Description& d, const Step& step) {
  return 2 * static_cast<size_t>(step.rows() * strides_of(d).q_row);
}
size_t out_bytes(const Description& d, const Plan& plan) {
  return 2 * static_cast<size_t>(plan.rows() * strides_of(d).out_row);
}
size_t lse_bytes(const Description& d, const Plan& plan) {
  return 4 * static_cast<size_t>(plan.rows() * strides_of(d).lse_row);
}

size_t cache_bytes(const Description& d, const Step& step) {
  const cpu::KvLayout layout = layout_of(d, step);
  const int64_t planes = d.layout == ATTNPLAN_LAYOUT_LHBNC ? d.num_kv_heads : 1;
  const int64_t elements = d.packed
                               ? step.num_blocks * layout.k.block_stride
                               : layout.v.base + planes * step.num_blocks * layout.v.block_stride;
  return static_cast<size_t>(elements * bytes_of(d.cache));
}

// Calls f(block, token in it, page id, token of the page) for every live token.
template <class F>
void for_each_token(const Step& step, const cpu::KvLayout& layout, F f) {
  for (int32_t r = 0; r < step.requests(); ++r) {
    for (int64_t t = 0; t < step.keys(r); ++t) {
      const int32_t block = step.block(r, t);
      const auto token = static_cast<int32_t>(t % step.block_size);
      f(block, token, layout.page_id(block, token / layout.page_size), token % layout.page_size);
    }
  }
}

class CacheFill {
 public:
  CacheFill(const Description& d, const Step& step, const Contents& contents,
            const cpu::KvLayout& layout, Buffer* buffer)
      : d_(d), layout_(layout), contents_(contents), image_(buffer->bytes(), poison_byte(d.cache)) {
    for_each_token(step, layout, [&](int32_t block, int32_t token, int64_t page, int32_t in_page) {
      for (int32_t head = 0; head < d.num_kv_heads; ++head) {
        put(Tensor::kKey, layout.k, d.head_size, block, token, page, in_page, head);
        put(Tensor::kValue, layout.v, d.v_head_size, block, token, page, in_page, head);
      }
    });
    image_.upload(buffer);
  }

 private:
  void put(Tensor tensor, const cpu::TensorLayout& where, int32_t size, int32_t block,
           int32_t token, int64_t page, int32_t in_page, int32_t head) {
    codes_.resize(static_cast<size_t>(size));
    contents_.codes(tensor, block, token, head, codes_);
    const auto width = static_cast<size_t>(bytes_of(d_.cache));
    const int64_t row = layout_.row_address(where, page, head, in_page);
    for (int32_t e = 0; e < size; ++e) {
      image_.put(static_cast<size_t>(row + where.element_offset(e)) * width,
                 codes_[static_cast<size_t>(e)], width);
    }
  }

  const Description& d_;
  const cpu::KvLayout& layout_;
  const Contents& contents_;
  Image image_;
  std::vector<uint32_t> codes_;
};

void fill_scales(const Description& d, const Step& step, const Contents& contents,
                 const cpu::KvLayout& layout, Tensor tensor, std::optional<Buffer>* buffer) {
  const ScaleStrides strides = scale_strides_of(d);
  const int64_t pages = step.num_blocks * layout.block_page_stride;
  buffer->emplace(static_cast<size_t>(pages * strides.page) * 4, kNan);
  Image image((*buffer)->bytes(), kNan);
  for_each_token(step, layout, [&](int32_t block, int32_t token, int64_t page, int32_t in_page) {
    for (int32_t head = 0; head < d.num_kv_heads; ++head) {
      const int64_t at = page * strides.page + head * strides.head + in_page * strides.token;
      const float scale = contents.token_scale(tensor, block, token, head);
      image.put(static_cast<size_t>(at) * 4, __builtin_bit_cast(uint32_t, scale), 4);
    }
  });
  image.upload(&**buffer);
}

void fill_queries(const Description& d, const Step& step, const Contents& contents, Buffer* q) {
  const Strides strides = strides_of(d);
  const auto size = static_cast<size_t>(d.head_size);
  Image image(q->bytes(), kNan);
  const uint16_t* code = contents.queries().data();
  for (int64_t row = 0; row < step.rows(); ++row) {
    for (int32_t head = 0; head < d.num_q_heads(); ++head) {
      const int64_t at = row * strides.q_row + head * strides.q_head;
      for (size_t e = 0; e < size; ++e) image.put(2 * (static_cast<size_t>(at) + e), *code++, 2);
    }
  }
  image.upload(q);
}

}  // namespace

Strides strides_of(const Description& d) {
  const int64_t q = d.head_size + (d.dense ? 0 : 16), v = d.v_head_size + (d.dense ? 0 : 24);
  const int64_t heads = d.num_q_heads();
  return {heads * q + (d.dense ? 0 : 40), q, heads * v + (d.dense ? 0 : 8), v,
          heads + (d.dense ? 0 : 3)};
}

ScaleStrides scale_strides_of(const Description& d) {
  if (d.seed % 2 == 0) return {int64_t{d.num_kv_heads} * d.page_size, d.page_size, 1};
  const int64_t token = d.num_kv_heads + 1;  // token-major, with room between
  return {token * d.page_size + 5, 1, token};
}

cpu::KvLayout layout_of(const Description& d, const Step& step) {
  return cpu::make_layout(cache_of(d, step), shape_of(d), step.num_blocks);
}

Tensors::Tensors(const Description& d, const Step& step, const Contents& contents, const Plan& made,
                 size_t workspace_bytes)
    : layout(layout_of(d, step)),
      q(query_bytes(d, step), kNan),
      cache(cache_bytes(d, step), poison_byte(d.cache)),
      plan(made.bytes(), kNan, Buffer::Aligned::k64) {
  plan.write(0, made.data(), made.bytes());
  fill_queries(d, step, contents, &q);
  CacheFill(d, step, contents, layout, &cache);
  if (d.scales == Scales::kTokenHead) {
    fill_scales(d, step, contents, layout, Tensor::kKey, &k_scales);
    fill_scales(d, step, contents, layout, Tensor::kValue, &v_scales);
  }
  out.emplace(out_bytes(d, made), kNan);
  if (d.lse) lse.emplace(lse_bytes(d, made), kNan);
  workspace.emplace(workspace_bytes, kNan);
}

std::vector<const Buffer*> Tensors::all() const {
  std::vector<const Buffer*> buffers = {&q, &cache, &plan};
  for (const auto* buffer : {&k_scales, &v_scales, &out, &lse, &workspace}) {
    if (buffer->has_value()) buffers.push_back(&**buffer);
  }
  return buffers;
}

}  // namespace attnplan::hip_test
