// Scores and outputs of AttentionMma on every architecture against plain loops. Operands are small
// multiples of 1/4: every order of summation gives the same bits, so a wrong label is a wrong
// number.
#include <gtest/gtest.h>

#include <vector>

#include "hip/mma.h"
#include "hip/registers.h"
#include "property/dice.h"
#include "simt/launch.h"

namespace attnplan::hip {
namespace {

constexpr int kHeadSize = 64;
constexpr int kQueryTile = 16;

// Exact for what this test stores.
uint16_t encode(float value, bool bf16) {
  const uint32_t bits = bits_of(value);
  if (bf16) return static_cast<uint16_t>(bits >> 16);
  const uint32_t magnitude = bits & 0x7fffffffu;
  const uint32_t half = magnitude == 0 ? 0 : (magnitude >> 13) - ((127 - 15) << 10);
  return static_cast<uint16_t>(((bits >> 16) & 0x8000u) | half);
}

// 16-bit values, and what they stand for.
struct Values {
  Values(size_t count, bool bf16, property::Dice* dice) : numbers(count), bits(count) {
    for (size_t i = 0; i < count; ++i) {
      numbers[i] = static_cast<float>(dice->in(-16, 16)) / 4;
      bits[i] = encode(numbers[i], bf16);
    }
  }
  std::vector<float> numbers;
  std::vector<uint16_t> bits;
};

struct Args {
  const uint16_t* q;  // [16][kHeadSize]
  const uint16_t* k;  // [keys][kHeadSize]
  const uint16_t* v;  // [kHeadSize][keys]
  float* scores;      // [16][keys]
  float* outputs;     // [16][kHeadSize], of the scores' 16-bit bits in `p`
  const uint16_t* p;  // [16][keys]
};

template <class Arch, class E>
void scores_of_block(const Args& args) {
  using Mma = AttentionMma<Arch, E>;
  const int lane = lane_index<Arch>();
  const int group = Mma::group(lane);
  for (int tile = 0; tile < Mma::kTiles; ++tile) {
    Registers<float, 4> scores;
    scores.fill(0);
    for (int chunk = 0; chunk < kHeadSize / 32; ++chunk) {
      const int first = 32 * chunk + 8 * group;
      Words<4> q[Mma::kQueries];
      for (int slot = 0; slot < Mma::kQueries; ++slot) {
        q[slot] = load_words<4>(args.q + Mma::query(lane, slot) * kHeadSize + first);
      }
      const auto k = load_words<4>(args.k + Mma::k_row(lane, tile) * kHeadSize + first);
      Mma::score(k, q, scores.values);
    }
    for (int e = 0; e < 4; ++e) {
      const int key = Mma::kKeys * group + Mma::key_slot(tile, e);
      args.scores[Mma::query(lane, Mma::query_slot(e)) * Mma::kBlockKeys + key] = scores[e];
    }
  }
}

template <class Arch, class E>
void outputs_of_block(const Args& args) {
  using Mma = AttentionMma<Arch, E>;
  const int lane = lane_index<Arch>();
  const int first_key = Mma::kKeys * Mma::group(lane);
  Registers<uint32_t, 4> packed;
  for (int tile = 0; tile < Mma::kTiles; ++tile) {
    for (int half = 0; half < 2; ++half) {
      uint32_t word = 0;
      for (int e = 2 * half; e < 2 * half + 2; ++e) {
        const int row = Mma::query(lane, Mma::query_slot(e));
        const uint32_t bits = args.p[row * Mma::kBlockKeys + first_key + Mma::key_slot(tile, e)];
        word |= bits << (16 * (e % 2));
      }
      packed[2 * tile + half] = word;
    }
  }
  const typename Mma::Pack p = {packed[0], packed[1], packed[2], packed[3]};
  for (int first = 0; first < kHeadSize; first += Mma::kRows) {
    const auto v =
        load_words<Mma::kVWords>(args.v + (first + Mma::row(lane)) * Mma::kBlockKeys + first_key);
    Registers<float, 4> out;
    out.fill(0);
    Mma::output(p, v, out.values);
    for (int e = 0; e < 4; ++e) {
      const int row = Mma::query(lane, Mma::query_slot(e));
      args.outputs[row * kHeadSize + first + Mma::column(lane, e)] = out[e];
    }
  }
}

template <class Arch, class E>
void compare_with_loops(uint64_t seed) {
  constexpr int kKeys = AttentionMma<Arch, E>::kBlockKeys;
  property::Dice dice(seed);
  const Values q(kQueryTile * kHeadSize, E::kBf16, &dice);
  const Values k(kKeys * kHeadSize, E::kBf16, &dice);
  const Values v(kHeadSize * kKeys, E::kBf16, &dice);
  const Values p(kQueryTile * kKeys, E::kBf16, &dice);
  std::vector<float> scores(kQueryTile * kKeys, -1e30f);
  std::vector<float> outputs(kQueryTile * kHeadSize, -1e30f);
  const Args args = {q.bits.data(), k.bits.data(),  v.bits.data(),
                     scores.data(), outputs.data(), p.bits.data()};
  const auto options = simt::options_for<Arch>(seed);
  simt::launch(options, 1, Arch::kWave, [&] { scores_of_block<Arch, E>(args); });
  simt::launch(options, 1, Arch::kWave, [&] { outputs_of_block<Arch, E>(args); });
  for (int row = 0; row < kQueryTile; ++row) {
    for (int key = 0; key < kKeys; ++key) {
      float sum = 0;
      for (int d = 0; d < kHeadSize; ++d) {
        sum += q.numbers[row * kHeadSize + d] * k.numbers[key * kHeadSize + d];
      }
      ASSERT_EQ(scores[row * kKeys + key], sum) << "row " << row << ", key " << key;
    }
    for (int d = 0; d < kHeadSize; ++d) {
      float sum = 0;
      for (int key = 0; key < kKeys; ++key) {
        sum += p.numbers[row * kKeys + key] * v.numbers[d * kKeys + key];
      }
      ASSERT_EQ(outputs[row * kHeadSize + d], sum) << "row " << row << ", element " << d;
    }
  }
}

template <class Arch>
class AttentionMmaTest : public testing::Test {};
using Architectures = testing::Types<Gfx90a, Gfx942, Gfx950, Sm90>;
TYPED_TEST_SUITE(AttentionMmaTest, Architectures);

TYPED_TEST(AttentionMmaTest, ScoresAndOutputsAreThoseOfPlainLoops) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    compare_with_loops<TypeParam, Bf16>(seed);
    compare_with_loops<TypeParam, Fp16>(seed);
  }
}

}  // namespace
}  // namespace attnplan::hip
