#include "planner/isa.h"

#define ATTNPLAN_ISA kIsaAvx2
#define ATTNPLAN_ISA_NAME "avx2"
#include "planner/isa_loops.inc"
