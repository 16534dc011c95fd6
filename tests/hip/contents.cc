#include "hip/contents.h"

#include <algorithm>
#include <cmath>

#include "hip/parallel.h"
#include "property/dice.h"

namespace attnplan::hip_test {
namespace {

using property::Dice;

constexpr size_t kPool = 4096;  // codes drawn once; vectors are picks from them

double uniform(Dice* dice) {  // [-1, 1)
  return static_cast<double>(static_cast<int64_t>(dice->next())) * 0x1p-63;
}

}  // namespace

Contents::Contents(const Description& description, const Step& step)
    : d_(description),
      step_(step),
      softmax_scale_(description.softmax_scale > 0 ? description.softmax_scale
                                                   : 1 / std::sqrt(description.head_size)) {
  draw_pools();
  draw_queries();
}

void Contents::draw_pools() {
  Dice dice(d_.seed * 3 + 11);
  // With scales the stored numbers use more of their format's range.
  const double size = d_.scales == Scales::kNone ? 1 : 12;
  for (int t = 0; t < 2; ++t) {
    if (d_.scales == Scales::kTensor) {
      tensor_scale_[t] = static_cast<float>((1 + 0.5 * uniform(&dice)) / size);
    }
    for (size_t i = 0; i < kPool; ++i) {
      const uint32_t code = encode(d_.cache, size * uniform(&dice));
      pool_[t].push_back({code, decode(d_.cache, code)});
    }
  }
}

uint64_t Contents::hash(Tensor tensor, int32_t block, int32_t token, int32_t kv_head) const {
  const auto place = (static_cast<uint64_t>(block) * static_cast<uint64_t>(d_.block_size) +
                      static_cast<uint64_t>(token)) *
                         static_cast<uint64_t>(d_.num_kv_heads) +
                     static_cast<uint64_t>(kv_head);
  return Dice(d_.seed ^ (2 * place + static_cast<uint64_t>(tensor)) * 0x9e3779b97f4a7c15u).next();
}

void Contents::codes(Tensor tensor, int32_t block, int32_t token, int32_t kv_head,
                     std::span<uint32_t> codes) const {
  Dice dice(hash(tensor, block, token, kv_head));
  const std::vector<Code>& pool = pool_[static_cast<int>(tensor)];
  for (uint32_t& code : codes) code = pool[dice.next() % kPool].code;
}

float Contents::token_scale(Tensor tensor, int32_t block, int32_t token, int32_t kv_head) const {
  if (d_.scales != Scales::kTokenHead) return 1;
  Dice dice(hash(tensor, block, token, kv_head) ^ 0x5ca1e);
  return static_cast<float>((1 + 0.8 * uniform(&dice)) / 12);
}

void Contents::numbers(Tensor tensor, int32_t block, int32_t token, int32_t kv_head,
                       std::span<double> numbers) const {
  Dice dice(hash(tensor, block, token, kv_head));
  const std::vector<Code>& pool = pool_[static_cast<int>(tensor)];
  const double scale = static_cast<double>(token_scale(tensor, block, token, kv_head)) *
                       static_cast<double>(tensor_scale(tensor));
  for (double& number : numbers) number = scale * pool[dice.next() % kPool].number;
}

void Contents::draw_queries() {
  const auto size = static_cast<size_t>(d_.head_size);
  const auto heads = static_cast<size_t>(d_.num_q_heads());
  queries_.resize(static_cast<size_t>(step_.rows()) * heads * size);
  parallel_for(step_.requests(), [&](int64_t r) {
    const auto request = static_cast<int32_t>(r);
    for (int64_t row = 0; row < step_.query_lens[static_cast<size_t>(r)]; ++row) {
      for (size_t h = 0; h < heads; ++h) {
        const auto at = static_cast<size_t>(step_.row_begin[static_cast<size_t>(r)] + row);
        draw_query(request, row, static_cast<int32_t>(h),
                   std::span(queries_).subspan((at * heads + h) * size, size));
      }
    }
  });
}

void Contents::draw_query(int32_t request, int64_t row, int32_t head,
                          std::span<uint16_t> query) const {
  const auto at = static_cast<uint64_t>(step_.row_begin[static_cast<size_t>(request)] + row) *
                      static_cast<uint64_t>(d_.num_q_heads()) +
                  static_cast<uint64_t>(head);
  Dice dice(d_.seed + at * 0xd1b54a32d192ed03u);
  const int64_t needle = draw_needle(request, step_.position(request, row), dice.next());
  if (needle < 0) {
    for (uint16_t& code : query) code = static_cast<uint16_t>(encode(d_.q, 4 * uniform(&dice)));
    return;
  }
  std::vector<double> key(query.size());
  numbers(Tensor::kKey, step_.block(request, needle), static_cast<int32_t>(needle % d_.block_size),
          head / d_.group, key);
  double square = 0;
  for (const double number : key) square += number * number;
  const double score = std::log(static_cast<double>(step_.keys(request))) + 4 + uniform(&dice);
  const double factor = score / (softmax_scale_ * square);
  for (size_t e = 0; e < query.size(); ++e) {
    query[e] = static_cast<uint16_t>(encode(d_.q, factor * key[e]));
  }
}

// -1: none.
int64_t Contents::draw_needle(int32_t request, int64_t position, uint64_t seed) const {
  Dice dice(seed);
  const int64_t keys = step_.keys(request);
  if (keys == 0 || dice.percent(40)) return -1;
  const int64_t window = d_.sliding_window > 0 ? d_.sliding_window : keys;
  const int64_t cut = dice.in(0, keys / 64) * 64;  // where work may be cut
  const int64_t needle =
      dice.pick({position, position + 1, keys - 1, int64_t{0}, position - window + 1,
                 position - window, cut, cut - 1, dice.in(0, keys - 1)});
  return needle < 0 || needle >= keys ? -1 : needle;
}

}  // namespace attnplan::hip_test
