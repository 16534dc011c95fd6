#include "hip/contracts.h"

#include <array>
#include <iterator>

#include "hip/contract_table.h"

namespace attnplan::hip {
namespace {

constexpr size_t kRoutes = 3;
static_assert(std::size(kDenseRoutes) == kRoutes && std::size(kM3Routes) == kRoutes);

// What narrows the contracts of a layer.
struct Variant {
  attnplan_dtype q_dtype;
  bool sparse;
  bool shuffle;
  int width;    // of cache elements: 0 any, else bytes
  size_t pair;  // of kDensePairs or kM3Pairs; their count: none of them
};

constexpr std::array<attnplan_dtype, 2> kQueryDtypes = {ATTNPLAN_DTYPE_BF16, ATTNPLAN_DTYPE_FP16};
constexpr size_t kWidths = 3;
constexpr size_t kVariants =
    kQueryDtypes.size() * 2 * kWidths * (kDensePairs.count + 1 + kM3Pairs.count + 1);
constexpr int32_t kM3Blocks[] = {kM3BlockTokens};

template <size_t kLines>
constexpr uint32_t dtypes_of(const KernelKey (&lines)[kLines], const HeadPairs<kLines>& pairs,
                             const Variant& v) {
  uint32_t bits = 0;
  if (v.pair < pairs.count) {
    bits = cache_dtypes(lines, pairs.head_sizes[v.pair], pairs.v_head_sizes[v.pair], v.shuffle);
  }
  for (const attnplan_dtype dtype : kQueryDtypes) {
    if (dtype != v.q_dtype || v.width == 1) bits &= ~(1u << dtype);
  }
  if (v.width == 2) bits &= 1u << v.q_dtype;
  return bits != 0 ? bits : ATTNPLAN_SET_EMPTY;
}

template <size_t kLines>
constexpr void narrow(const KernelKey (&lines)[kLines], const HeadPairs<kLines>& pairs,
                      const Variant& v, attnplan_contract* c) {
  const size_t count = v.pair < pairs.count ? 1 : 0;
  const size_t first = count > 0 ? v.pair : 0;
  c->head_sizes = {pairs.head_sizes.data() + first, count};
  c->v_head_sizes = {pairs.v_head_sizes.data() + first, count};
  c->dtypes = dtypes_of(lines, pairs, v);
}

constexpr attnplan_contract make_contract(const Variant& v, size_t route) {
  attnplan_contract c = ATTNPLAN_CONTRACT_INIT;
  const KernelRoute& r = v.sparse ? kM3Routes[route] : kDenseRoutes[route];
  c.name = r.name;
  c.route = r.route;
  c.max_query_len = r.max_query_len;
  c.groups = {kGroups.data(), kGroups.size()};
  c.page_sizes = {kPageSizes.data(), kPageSizes.size()};
  c.archs = {kArchs.data(), kArchs.size()};
  c.scales = v.width == 2 ? kScalesOf16Bit : kScales;
  c.layouts = kLayouts;
  c.graph = ATTNPLAN_CAPTURE_ALWAYS;
  c.query_tile = kQueryTile;
  c.kv_tile = kKvTile;
  if (v.sparse) {
    narrow(kM3SparseLines, kM3Pairs, v, &c);
    c.masks = kCausal;
    c.features = ATTNPLAN_FEATURE_LSE;
    c.flags = ATTNPLAN_CONTRACT_NO_SLIDING_WINDOW;
    c.block_sizes = {kM3Blocks, 1};
  } else {
    narrow(kAttentionLines, kDensePairs, v, &c);
    c.masks = kMasks;
    c.features = kFeatures;
  }
  return c;
}

constexpr size_t index_of(const Variant& v) {
  const size_t pairs = kDensePairs.count + 1 + kM3Pairs.count + 1;
  const size_t pair = v.sparse ? kDensePairs.count + 1 + v.pair : v.pair;
  const size_t q = v.q_dtype == kQueryDtypes[0] ? 0 : 1;
  return ((q * 2 + (v.shuffle ? 1 : 0)) * kWidths + static_cast<size_t>(v.width)) * pairs + pair;
}

using Contracts = std::array<attnplan_contract, kVariants * kRoutes>;

constexpr Contracts make_contracts() {
  Contracts contracts{};
  for (const attnplan_dtype q : kQueryDtypes) {
    for (const bool sparse : {false, true}) {
      for (const bool shuffle : {false, true}) {
        for (int width = 0; width < static_cast<int>(kWidths); ++width) {
          for (size_t pair = 0; pair <= (sparse ? kM3Pairs.count : kDensePairs.count); ++pair) {
            const Variant v{q, sparse, shuffle, width, pair};
            for (size_t route = 0; route < kRoutes; ++route) {
              contracts[index_of(v) * kRoutes + route] = make_contract(v, route);
            }
          }
        }
      }
    }
  }
  return contracts;
}
constexpr Contracts kContracts = make_contracts();

constexpr auto kPointers = [] {
  std::array<const attnplan_contract*, kContracts.size()> pointers{};
  for (size_t i = 0; i < pointers.size(); ++i) pointers[i] = &kContracts[i];
  return pointers;
}();

template <size_t kMost>
size_t pair_of(const HeadPairs<kMost>& pairs, const attnplan_hip_attention& a) {
  for (size_t i = 0; i < pairs.count; ++i) {
    if (pairs.head_sizes[i] == a.head_size && pairs.v_head_sizes[i] == a.v_head_size) return i;
  }
  return pairs.count;
}

}  // namespace

ContractList layer_contracts(const Layer& layer) {
  const attnplan_hip_attention& a = layer.attention;
  Variant v{a.q_dtype, layer.sparse(), layer.shuffled(), 0, 0};
  v.pair = v.sparse ? pair_of(kM3Pairs, a) : pair_of(kDensePairs, a);
  if (layer.has_cache()) v.width = is_16_bit(layer.view_dtype) ? 2 : 1;
  if (!is_16_bit(a.q_dtype)) v.pair = v.sparse ? kM3Pairs.count : kDensePairs.count;
  return {kPointers.data() + index_of(v) * kRoutes, kRoutes};
}

}  // namespace attnplan::hip
