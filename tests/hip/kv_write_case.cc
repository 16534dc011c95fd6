#include "hip/kv_write_case.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <sstream>

#include "property/dice.h"

namespace attnplan::hip_test {
namespace {

using property::Dice;

constexpr const char* kLayoutNames[] = {"lbnhc", "lbhnc", "lhbnc", "blhnc", "blnhc", "bhlnc"};
constexpr const char* kScaleNames[] = {"none", "tensor", "token"};

cpu::AttentionShape shape_of(const KvWriteCase& c) {
  cpu::AttentionShape shape;
  shape.num_q_heads = shape.num_kv_heads = c.num_kv_heads;
  shape.head_size = c.head_size;
  shape.v_head_size = c.v_head_size;
  return shape;
}

void draw_sizes(Dice* dice, KvWriteCase* c) {
  c->num_blocks = dice->in32(1, 5);
  c->page_size = dice->pick<int32_t>({16, 16, 32, 64, 128});
  c->block_size = c->page_size * dice->pick<int32_t>({1, 1, 2, 3});
  c->num_kv_heads = dice->in32(1, 4);
  c->head_size = dice->pick<int32_t>({64, 128, 192, 256});
  c->v_head_size = c->head_size == 192 ? 128 : c->head_size;
  if (dice->percent(40)) c->block_stride_pad = 16 * c->num_kv_heads * dice->in(1, 20);
  c->dense = dice->percent(50);
  c->contents = dice->next();
}

// Numbers of every size, now and then NaN, infinity or next to nothing.
uint16_t draw_code(Format format, Dice* dice) {
  if (dice->percent(1)) return static_cast<uint16_t>(dice->next());
  const double size = std::exp2(static_cast<double>(dice->in(-12000, 9000)) / 1000);
  return static_cast<uint16_t>(cpu::encode(format, dice->percent(50) ? size : -size));
}

float number_of(Format format, uint16_t code) {
  const uint16_t infinity = format == Format::kBf16 ? 0x7f80 : 0x7c00;
  if ((code & 0x7fff) == infinity) return code >> 15 != 0 ? -INFINITY : INFINITY;
  return static_cast<float>(cpu::decode(format, code));
}

uint8_t fp8_code(Format format, float value) {
  if (std::isnan(value)) return format == Format::kE4m3fnuz ? 0x80 : 0x7f;
  return static_cast<uint8_t>(cpu::encode(format, value));
}

// By the largest magnitude of a token and head.
float scale_of(Format cache, Format source, const uint16_t* codes, int32_t size) {
  constexpr float kMost = std::numeric_limits<float>::max();
  float largest = 0;
  for (int32_t e = 0; e < size; ++e) {
    const float magnitude = std::fabs(number_of(source, codes[e]));
    if (magnitude > largest) largest = magnitude;  // never NaN
  }
  if (largest == 0) return 1;
  const auto most = static_cast<float>(cpu::decode(cache, cpu::encode(cache, kMost)));
  return std::max(std::min(largest, kMost) / most, std::numeric_limits<float>::min());
}

int64_t elements_of(const KvWriteCase& c, const cpu::KvLayout& layout) {
  if (c.packed) return c.num_blocks * layout.k.block_stride;
  const int64_t planes = c.layout == ATTNPLAN_LAYOUT_LHBNC ? c.num_kv_heads : 1;
  return layout.v.base + planes * c.num_blocks * layout.v.block_stride;
}

}  // namespace

std::string words(const KvWriteCase& c) {
  std::ostringstream out;
  out << c.name << " seed " << c.seed << ": " << c.num_blocks << " blocks of " << c.block_size
      << ", page " << c.page_size << ", " << c.num_kv_heads << " heads of " << c.head_size << "/"
      << c.v_head_size;
  if (c.block_stride_pad > 0) out << ", blocks apart";
  if (!c.dense) out << ", strided rows and scales";
  return out.str();
}

attnplan_kv_cache cache_of(const KvWriteCase& c) {
  attnplan_kv_cache cache = ATTNPLAN_KV_CACHE_INIT;
  cache.layout = c.layout;
  cache.flags = (c.packed ? ATTNPLAN_KV_PACKED : 0) | (c.shuffle ? ATTNPLAN_KV_SHUFFLE : 0);
  cache.num_blocks = c.num_blocks;
  cache.block_size = c.block_size;
  cache.page_size = c.page_size;
  if (bytes_of(c.cache) == 2) {
    cache.cache_dtype = c.cache == Format::kBf16 ? ATTNPLAN_CACHE_BF16 : ATTNPLAN_CACHE_FP16;
  } else {  // whatever the architecture calls fp8
    cache.cache_dtype = ATTNPLAN_CACHE_FP8_INC;
    cache.storage_dtype = dtype_of(c.cache);
  }
  constexpr attnplan_scale kScales[] = {ATTNPLAN_SCALE_NONE, ATTNPLAN_SCALE_TENSOR,
                                        ATTNPLAN_SCALE_TOKEN_HEAD};
  cache.scale = kScales[static_cast<int>(c.scales)];
  if (c.block_stride_pad > 0) {
    const int64_t longest = std::max(c.head_size, c.v_head_size);
    cache.block_stride =
        (c.packed ? 2 : 1) * c.block_size * c.num_kv_heads * longest + c.block_stride_pad;
  }
  return cache;
}

std::vector<KvWriteCase> kv_write_cases(Format cache, uint64_t seed) {
  const bool wide = bytes_of(cache) == 2;
  std::vector<KvWriteCase> cases;
  for (int layout = 0; layout < ATTNPLAN_LAYOUT_MLA; ++layout) {
    for (int form = 0; form < 4; ++form) {
      for (const Scales scales : {Scales::kNone, Scales::kTensor, Scales::kTokenHead}) {
        for (const Format source : {Format::kBf16, Format::kFp16}) {
          KvWriteCase c;
          c.layout = static_cast<attnplan_layout>(layout);
          c.packed = form % 2 != 0;
          c.shuffle = form / 2 != 0;
          c.scales = scales;
          c.source = source;
          c.cache = cache;
          if (c.packed && c.layout == ATTNPLAN_LAYOUT_LHBNC) continue;
          if (wide && (source != cache || c.token_scales())) continue;
          c.seed = seed;
          c.name = std::string(name_of(cache)) + "/" + kScaleNames[static_cast<int>(scales)] + "/" +
                   kLayoutNames[layout] + (c.packed ? "+packed" : "") +
                   (c.shuffle ? "+shuffle" : "") + "/" + name_of(source);
          Dice dice(seed * 1'000'003 + static_cast<uint64_t>(cache) * 1009 + cases.size());
          draw_sizes(&dice, &c);
          cases.push_back(c);
        }
      }
    }
  }
  return cases;
}

// Of one head at one token: element e lies at base + offset(e), in elements of the cache.
struct KvWriteData::Place {
  std::vector<uint8_t>* image;
  int64_t base;
  const cpu::TensorLayout* elements;  // null: one after the other
  int64_t at(int32_t e) const {
    return base + (elements != nullptr ? elements->element_offset(e) : e);
  }
};

KvWriteData::KvWriteData(const KvWriteCase& given)
    : c(given), layout(cpu::make_layout(cache_of(given), shape_of(given), given.num_blocks)) {
  const int64_t heads = c.num_kv_heads, pages = c.num_blocks * layout.block_page_stride;
  scale_strides = {heads * c.page_size, c.page_size, 1};
  // Token-major, with room between.
  if (!c.dense) scale_strides = {(heads + 1) * c.page_size + 5, 1, heads + 1};
  cache.assign(static_cast<size_t>(elements_of(c, layout) * bytes_of(c.cache)), kUntouched);
  index.assign(
      static_cast<size_t>(int64_t{c.num_blocks} * c.block_size * kIndexHead * bytes_of(c.cache)),
      kUntouched);
  for (auto& image : scales) {
    if (c.token_scales())
      image.assign(static_cast<size_t>(pages * scale_strides.page * 4), kUntouched);
  }
  draw_slots();
  draw_rows();
  for (size_t row = 0; row < slots.size(); ++row) {
    if (logical_[row] >= 0) expect_row(row);
  }
}

// Distinct tokens in any order, and rows without a slot between them.
void KvWriteData::draw_slots() {
  Dice dice(c.contents);
  std::vector<int64_t> tokens(static_cast<size_t>(int64_t{c.num_blocks} * c.block_size));
  std::iota(tokens.begin(), tokens.end(), 0);
  for (size_t i = tokens.size(); i > 1; --i) std::swap(tokens[i - 1], tokens[dice.next() % i]);
  tokens.resize(std::min(tokens.size(), static_cast<size_t>(dice.in(1, 40))));
  for (const int64_t token : tokens) {
    if (dice.percent(15)) {
      logical_.push_back(-1);
      slots.push_back(-dice.in(1, 100));
    }
    logical_.push_back(token);
    slots.push_back(token / c.block_size * (c.packed ? 2 : 1) * c.block_size +
                    token % c.block_size);
  }
}

void KvWriteData::draw_rows() {
  Dice dice(c.contents + 1);
  const auto draw = [&](int32_t heads, int32_t size, float scale) {
    const int64_t head_stride = size + (c.dense ? 0 : 8);
    const int64_t row_stride = heads * head_stride + (c.dense ? 0 : 24);
    KvWriteRows out = {heads, size, row_stride, head_stride, scale, {}};
    out.codes.resize(slots.size() * static_cast<size_t>(row_stride));
    for (uint16_t& code : out.codes) code = draw_code(c.source, &dice);
    return out;
  };
  const bool tensor = c.scales == Scales::kTensor;
  rows[0] = draw(c.num_kv_heads, c.head_size, tensor ? 0.25f : 1);
  rows[1] = draw(c.num_kv_heads, c.v_head_size, tensor ? 1.7f : 1);
  rows[2] = draw(1, kIndexHead, 0.75f);
  std::fill_n(rows[0].codes.begin(), c.head_size, uint16_t{0});  // a head of zeros
  rows[0].codes[1] = 0x8000;
}

void KvWriteData::expect_row(size_t row) {
  const int64_t block = logical_[row] / c.block_size, token = logical_[row] % c.block_size;
  const int64_t page = layout.page_id(block, token / c.page_size), in_page = token % c.page_size;
  for (int i = 0; i < 3; ++i) {
    const KvWriteRows& from = rows[i];
    const cpu::TensorLayout& to = i == 0 ? layout.k : layout.v;
    for (int32_t head = 0; head < from.heads; ++head) {
      const uint16_t* codes =
          &from.codes[row * static_cast<size_t>(from.row_stride) +
                      static_cast<size_t>(head) * static_cast<size_t>(from.head_stride)];
      if (i == 2) {
        expect_head(from, codes, nullptr, {&index, logical_[row] * kIndexHead, nullptr});
        continue;
      }
      float scale = 0;
      expect_head(from, codes, c.token_scales() ? &scale : nullptr,
                  {&cache, layout.row_address(to, page, head, in_page), &to});
      if (!c.token_scales()) continue;
      const int64_t at =
          page * scale_strides.page + head * scale_strides.head + in_page * scale_strides.token;
      std::memcpy(&scales[i][static_cast<size_t>(at) * 4], &scale, 4);
    }
  }
}

void KvWriteData::expect_head(const KvWriteRows& from, const uint16_t* codes, float* scale_of_token,
                              const Place& place) {
  float scale = from.scale;
  if (scale_of_token != nullptr) {
    scale = *scale_of_token = scale_of(c.cache, c.source, codes, from.head_size);
  }
  const int width = bytes_of(c.cache);
  for (int32_t e = 0; e < from.head_size; ++e) {
    uint8_t* to = &(*place.image)[static_cast<size_t>(place.at(e) * width)];
    if (width == 2) {
      std::memcpy(to, &codes[e], 2);
    } else {
      *to = fp8_code(c.cache, number_of(c.source, codes[e]) / scale);
    }
  }
}

std::string first_difference(const char* what, const std::vector<uint8_t>& found,
                             const std::vector<uint8_t>& expected) {
  if (found.size() != expected.size()) return std::string(what) + " is of another size";
  const auto at = std::mismatch(found.begin(), found.end(), expected.begin());
  if (at.first == found.end()) return "";
  return "byte " + std::to_string(at.first - found.begin()) + " of " +
         std::to_string(found.size()) + " of " + what + ": " + std::to_string(*at.first) + " for " +
         std::to_string(*at.second);
}

}  // namespace attnplan::hip_test
