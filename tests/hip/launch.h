// Runs a plan's segments on the device under test.
#pragma once

#include <string>
#include <vector>

#include "hip/contents.h"
#include "hip/description.h"
#include "hip/planning.h"
#include "hip/runtime.h"
#include "hip/step.h"
#include "hip/tensors.h"

namespace attnplan::hip_test {

// The device's name in attnplan_config.arch.
std::string device_arch();

std::vector<const attnplan_contract*> contracts_of(const Description& description, const Step& step,
                                                   Kernels kernels);
size_t workspace_bytes(const Description& description, const Step& step, const Plan& plan);
// These throw std::runtime_error where a call is refused or a kernel does something wrong.
void launch(const Description& description, const Step& step, const Contents& contents,
            const Plan& plan, const Tensors& tensors, hip::Stream stream = nullptr);

// What the device knows of a step.
struct DeviceLengths {
  explicit DeviceLengths(const Step& step);
  void set(const Step& step);

  Buffer query_start_loc;
  Buffer seq_lens;
  Buffer block_ids;
};
void refresh(const Description& description, const Step& step, const Plan& plan,
             const Tensors& tensors, const DeviceLengths& lengths, hip::Stream stream = nullptr);

// Writes every live token into the cache of `tensors`, some of them twice.
void write_cache(const Description& description, const Step& step, const Contents& contents,
                 const Tensors& tensors);

}  // namespace attnplan::hip_test
