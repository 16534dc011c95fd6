// Runs a plan's segments on the device under test.
#pragma once

#include <string>
#include <vector>

#include "hip/contents.h"
#include "hip/description.h"
#include "hip/planning.h"
#include "hip/step.h"
#include "hip/tensors.h"

namespace attnplan::hip_test {

// The device's name in attnplan_config.arch.
std::string device_arch();

std::vector<const attnplan_contract*> contracts_of(const Description& description,
                                                   const Step& step, Kernels kernels);
size_t workspace_bytes(const Description& description, const Step& step, const Plan& plan);
// Throws std::runtime_error where a launch is refused or a kernel does something wrong.
void launch(const Description& description, const Step& step, const Contents& contents,
            const Plan& plan, const Tensors& tensors);

}  // namespace attnplan::hip_test
