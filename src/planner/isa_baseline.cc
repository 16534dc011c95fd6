#include "planner/isa.h"

#define ATTNPLAN_ISA kIsaBaseline
#define ATTNPLAN_ISA_NAME "baseline"
#include "planner/isa_loops.inc"
