#include "planner/isa.h"

#define ATTNPLAN_ISA kIsaAvx512
#define ATTNPLAN_ISA_NAME "avx512"
#include "planner/isa_loops.inc"
