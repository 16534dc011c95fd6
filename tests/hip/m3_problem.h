// MiniMax-M3 through the C ABI: plan, selection of blocks, attention over them, on the device under
// test, against the oracle. Index keys and queries are multiples of 1/4, so that selections have to
// be the oracle's, ties included.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cpu/formats.h"
#include "cpu/shape.h"

namespace attnplan::hip_test {

using cpu::Format;

struct M3Description {
  uint64_t seed = 1;
  Format q = Format::kBf16;
  Format cache = Format::kBf16;
  Format index = Format::kBf16;
  int32_t num_kv_heads = 1;
  int32_t group = 16;
  bool packed = false;
  bool shuffle = false;
  bool page_table = false;
  int32_t page_size = 16;
  int32_t requests = 5;     // decodes, then extends, then pads
  int32_t rows = 40;        // of an extend, at most
  int32_t max_len = 1500;   // tokens
  int32_t graph_pads = -1;  // rows that a full graph adds; negative: there is no graph
  bool idle = false;        // nothing but pads, under the graph
  cpu::M3Params params;
};
M3Description draw_m3(uint64_t seed, Format cache, bool shuffle);
std::string words(const M3Description& description);

// What was wrong; nothing if all was right.
std::vector<std::string> solve_m3(const M3Description& description);

}  // namespace attnplan::hip_test
