// Makes a failing batch small, so that a person can see what fails.
#pragma once

#include <functional>
#include <string>

#include "batch.h"

namespace attnplan::property {

// What is wrong with a batch; empty: nothing.
using Check = std::function<std::string(const oracle::Batch&)>;

// Leaves out requests, arrays, kernels and demands as long as `check` complains of the same thing
// (the same words; numbers may change).
oracle::Batch shrink(oracle::Batch batch, const Check& check);

}  // namespace attnplan::property
