#include "planner/isa.h"

namespace attnplan {

const Isa& best_isa() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
    return kIsaAvx512;
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2")) return kIsaAvx2;
#endif
  return kIsaBaseline;
}

}  // namespace attnplan
