// What is timed: the rows of the speed table of docs/performance.md.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace attnplan::hip::bench {

enum class Kind { kAttention, kM3Index, kM3Sparse };

struct Workload {
  const char* name;
  Kind kind;
  int32_t requests;
  int32_t context;  // KV tokens of a request, its rows included
  int32_t q_heads;
  int32_t kv_heads;
  int32_t rows;  // of a request
};

inline constexpr Workload kWorkloads[] = {
    {"decode 1 x 32768, 16/1, 1 row", Kind::kAttention, 1, 32768, 16, 1, 1},
    {"decode 1 x 32768, 16/1, 4 rows", Kind::kAttention, 1, 32768, 16, 1, 4},
    {"decode 8 x 32768, 16/1, 4 rows", Kind::kAttention, 8, 32768, 16, 1, 4},
    {"decode 64 x 8192, 16/1, 1 row", Kind::kAttention, 64, 8192, 16, 1, 1},
    {"decode 64 x 8192, 16/1, 4 rows", Kind::kAttention, 64, 8192, 16, 1, 4},
    {"decode 64 x 8192, 64/8, 1 row", Kind::kAttention, 64, 8192, 64, 8, 1},
    {"decode 64 x 8192, 64/8, 4 rows", Kind::kAttention, 64, 8192, 64, 8, 4},
    {"decode 256 x 4096, 64/8, 1 row", Kind::kAttention, 256, 4096, 64, 8, 1},
    {"decode 256 x 4096, 64/8, 4 rows", Kind::kAttention, 256, 4096, 64, 8, 4},
    {"extend 16 x 8192, 64/8, 128 rows", Kind::kAttention, 16, 8192, 64, 8, 128},
    {"prefill 1 x 8192, 64/8", Kind::kAttention, 1, 8192, 64, 8, 8192},
    {"M3 index top-k 8 x 131072, 1 KV head, 1 row", Kind::kM3Index, 8, 131072, 16, 1, 1},
    {"M3 index top-k 64 x 32768, 1 KV head, 4 rows", Kind::kM3Index, 64, 32768, 16, 1, 4},
    {"M3 sparse decode 64 x 32768, 16/1, top 16", Kind::kM3Sparse, 64, 32768, 16, 1, 1},
};

inline constexpr int32_t kHeadSize = 128;
inline constexpr int32_t kTopK = 16;          // blocks
inline constexpr int32_t kBlockTokens = 128;  // of MiniMax-M3

struct Measurement {
  std::string name;
  std::string cache;  // "bf16", "fp8"
  std::string work;   // policy that the planner settled on
  int32_t workers = 0;
  double median_us = 0;
  double least_us = 0;
  double kv_bytes = 0;  // read once
  double flops = 0;
  double error = 0;  // largest |out - reference| over the largest |reference| of a row
};

struct Report {
  std::string device;
  std::string arch;
  double copy_bytes_per_second = 0;  // of this run: read plus written
  double empty_us = 0;               // an empty graph of one kernel by the same method
  std::vector<Measurement> rows;
};

void print(const Report& report);
bool write_json(const Report& report, const char* path);

}  // namespace attnplan::hip::bench
