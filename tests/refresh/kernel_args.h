// The kernel's arguments for a subject, and one launch on the simulated device.
#pragma once

#include <vector>

#include "cpu/refresh.h"
#include "hip/refresh_args.h"
#include "subject.h"

namespace attnplan::refresh {

// Memory behind the arguments that the tensors do not have in the kernel's types.
class KernelArgs {
 public:
  // `narrow`: 32-bit slots and table rows.
  KernelArgs(const Tensors& tensors, const cpu::RefreshRules& rules, bool narrow);
  KernelArgs(const KernelArgs&) = delete;
  KernelArgs& operator=(const KernelArgs&) = delete;

  hip::RefreshArgs args{};

 private:
  Ints rows_, slots_;
};

uint32_t status_bits(const cpu::RefreshFindings& findings);

struct Grid {
  bool wave64 = true;
  int blocks = 1;
  int threads = 64;
  uint64_t seed = 1;
};
Grid random_grid(Dice* dice);

// Refreshes `plan`; returns the status word.
uint32_t launch_refresh(const Grid& grid, hip::RefreshArgs args, Buffer* plan);

}  // namespace attnplan::refresh
