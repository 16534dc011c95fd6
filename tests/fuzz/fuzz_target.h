// The entry point that libFuzzer calls, and that the replay calls with each file of a corpus.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace attnplan::fuzz {

// What must hold of every input. Aborts, which both the fuzzer and CTest report.
inline void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "broken: %s\n", what);
  std::abort();
}

}  // namespace attnplan::fuzz
