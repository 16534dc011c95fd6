#include "planner/order.h"

#include <algorithm>

#include "planner/scratch.h"

namespace attnplan {
namespace {

// Buckets from the front: decodes by width, widest first; short extends; other extends; prefills;
// pads.
uint32_t bucket_of(int32_t cls, int32_t query_len, int32_t threshold) {
  const auto behind_decodes = static_cast<uint32_t>(threshold);
  switch (static_cast<Route>(cls)) {
    case Route::kDecode:  // 1 to threshold rows
      return static_cast<uint32_t>(threshold - query_len);
    case Route::kExtend:
      return behind_decodes + (query_len <= threshold ? 0 : 1);
    case Route::kPrefill:
      return behind_decodes + 2;
    case Route::kPad:
      break;
  }
  return behind_decodes + 3;
}

// Counts, then places: stable, and linear for every threshold that engines use.
constexpr int32_t kMostBuckets = 1024;

void place_by_bucket(const Config& config, const Lanes& lanes, uint64_t* counts, int32_t* order) {
  const int32_t threshold = config.decode_threshold;
  std::fill_n(counts, threshold + 5, 0);
  for (int32_t i = 0; i < lanes.n; ++i) {
    ++counts[bucket_of(lanes.classes[i], lanes.query_lens[i], threshold) + 1];
  }
  for (int32_t bucket = 1; bucket < threshold + 5; ++bucket) counts[bucket] += counts[bucket - 1];
  for (int32_t i = 0; i < lanes.n; ++i) {
    order[counts[bucket_of(lanes.classes[i], lanes.query_lens[i], threshold)]++] = i;
  }
}

// Keys carry their position in the lower half, so equal buckets stay in order.
void place_by_key(const Config& config, const Lanes& lanes, uint64_t* keys, int32_t* order) {
  for (int32_t i = 0; i < lanes.n; ++i) {
    const uint64_t bucket =
        bucket_of(lanes.classes[i], lanes.query_lens[i], config.decode_threshold);
    keys[i] = bucket << 32 | static_cast<uint32_t>(i);
  }
  std::sort(keys, keys + lanes.n);
  for (int32_t i = 0; i < lanes.n; ++i) order[i] = static_cast<int32_t>(keys[i] & UINT32_MAX);
}

void sort_positions(const Config& config, const Lanes& lanes, Scratch::Buffers& buffers,
                    int32_t* order) {
  if (config.decode_threshold <= kMostBuckets) {
    place_by_bucket(config, lanes, buffers.sort_keys.fit(kMostBuckets + 5), order);
  } else {
    place_by_key(config, lanes, buffers.sort_keys.fit(static_cast<size_t>(lanes.n)), order);
  }
}

void move_marks(const Lanes& lanes, ScanResult* scan) {
  const auto count = [&lanes](auto belongs) {
    int32_t found = 0;
    for (int32_t i = 0; i < lanes.n; ++i) found += belongs(static_cast<Route>(lanes.classes[i]));
    return found;
  };
  const int32_t decodes = count([](Route cls) { return cls == Route::kDecode; });
  const int32_t extends = count([](Route cls) { return cls == Route::kExtend; });
  const int32_t prefills = count([](Route cls) { return cls == Route::kPrefill; });
  const int32_t live = decodes + extends + prefills;
  scan->first_live = live > 0 ? 0 : lanes.n;
  scan->last_live = live - 1;
  scan->first_prompt = live > decodes ? decodes : lanes.n;
  scan->last_unprompt = decodes + extends - 1;
}

}  // namespace

void sort_lanes(const Config& config, Scratch::Buffers& buffers, Lanes* lanes, ScanResult* scan) {
  const auto n = static_cast<size_t>(lanes->n);
  int32_t* order = buffers.order.fit(n + 1);  // never null: an empty plan is sorted, too
  sort_positions(config, *lanes, buffers, order);
  int32_t* sorted = buffers.sorted.fit(4 * n);
  const int32_t** const arrays[] = {&lanes->query_lens, &lanes->seq_lens, &lanes->context_lens,
                                    &lanes->classes};
  for (const int32_t** array : arrays) {
    for (size_t i = 0; i < n; ++i) sorted[i] = (*array)[order[i]];
    *array = sorted;
    sorted += n;
  }
  const auto permute = [&](const uint8_t** array, uint8_t* copy) {
    if (*array == nullptr) return;
    for (size_t i = 0; i < n; ++i) copy[i] = (*array)[order[i]];
    *array = copy;
  };
  permute(&lanes->inexact, buffers.sorted_inexact.fit(n));
  permute(&lanes->cut, buffers.sorted_cut.fit(n));
  lanes->order = order;
  move_marks(*lanes, scan);
}

}  // namespace attnplan
