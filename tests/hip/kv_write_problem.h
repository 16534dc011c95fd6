// attnplan_hip_kv_write on the device under test, against images filled by definition.
#pragma once

#include "hip/judge.h"
#include "hip/kv_write_case.h"

namespace attnplan::hip_test {

// `judged` of the verdict: rows written.
Verdict solve_kv_write(const KvWriteCase& c);

}  // namespace attnplan::hip_test
