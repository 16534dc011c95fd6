// Descriptions of problems, drawn for a kernel and a kind of batch.
#pragma once

#include <cstdint>
#include <string>

#include "hip/description.h"

namespace attnplan::hip_test {

// What a line of kernels.inc fixes.
struct KernelLine {
  Format cache;
  int32_t head_size;
  int32_t v_head_size;
  bool shuffle;
};

// Every line, in order.
constexpr KernelLine kKernelLines[] = {
#define ATTNPLAN_ATTENTION(part, cache, head_size, v_head_size, shuffle, tiles) \
  {Format::cache, head_size, v_head_size, shuffle != 0},
#include "hip/kernels.inc"
#undef ATTNPLAN_ATTENTION
};
constexpr int kNumKernelLines = sizeof(kKernelLines) / sizeof(kKernelLines[0]);

// Ways and batches whose plans have rows without keys.
struct PadTrial {
  Way way;
  Batch batch;
};
constexpr PadTrial kPadTrials[] = {
    {Way::kPadded, Batch::kUniform},  {Way::kPadded, Batch::kVerify},
    {Way::kPadded, Batch::kRagged},   {Way::kPadded, Batch::kPads},
    {Way::kPadded, Batch::kMixed},    {Way::kPadded, Batch::kEmpty},
    {Way::kPadded, Batch::kIdle},     {Way::kReplayed, Batch::kVerify},
    {Way::kReplayed, Batch::kRagged}, {Way::kReplayed, Batch::kMixed},
    {Way::kReplayed, Batch::kPads},   {Way::kReplayed, Batch::kPrefill},
    {Way::kReplayed, Batch::kIdle},   {Way::kKeyless, Batch::kRagged},
    {Way::kKeyless, Batch::kMixed},   {Way::kKeyless, Batch::kExtend},
    {Way::kTaken, Batch::kPads}};
constexpr int kNumPadTrials = sizeof(kPadTrials) / sizeof(kPadTrials[0]);

std::string name_of(const KernelLine& line);

// All that the line and the batch leave open follows from the seed; it is mixed with the name, so
// that one seed gives different problems for every kernel and batch.
Description draw(const KernelLine& line, Batch batch, uint64_t seed, const Size& size);
// The same, changed where the way asks for it, and named after it.
Description draw_way(const KernelLine& line, Batch batch, Way way, uint64_t seed, const Size& size);

}  // namespace attnplan::hip_test
