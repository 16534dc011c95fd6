// Random planners that ask for everything a plan can hold, and steps for them.
#pragma once

#include <string>

#include "element_bytes.h"
#include "generate.h"
#include "library.h"

namespace attnplan::plan {

using oracle::Batch;
using oracle::BatchStructs;
using property::Buffer;
using property::Dice;
using property::Error;
using property::Planner;
using property::Scratch;

// Sections that a configuration may ask for.
constexpr int32_t kFirstSection = ATTNPLAN_SECTION_QUERY_START_LOC;
constexpr int32_t kLastSection = ATTNPLAN_SECTION_LAUNCH;

// Heads, backend, cache, sections, graphs, work list: all that a planner is made of.
Batch random_planner(Dice* dice);
// Limits small enough that steps come close to them.
void set_limits(Dice* dice, Batch* batch);
// Another step, and its tables, for the planner of `batch`.
void random_step(Dice* dice, Batch* batch);
// Both.
Batch random_batch(uint64_t seed);

// Live tokens of all requests: what the size of a plan follows.
int64_t live_tokens(const Batch& batch);
int64_t rows_of(const Batch& batch);
// Whether the step keeps to the limits of the planner, pads counted.
bool within_limits(const Batch& batch);

// In the order of the table: what is there at all.
std::vector<attnplan_section> sections_of(const Buffer& plan);
// The ranges that the header lists.
std::vector<attnplan_byte_range> byte_ranges(const Buffer& plan);

// A random plan and all that it was made from; `plan` is empty where there is none, or only a
// larger one.
struct Subject {
  explicit Subject(uint64_t seed, size_t most_bytes = size_t{1} << 20);

  // attnplan_plan_verify alone, with the planner, and with the step.
  attnplan_status verify(const Buffer& blob, attnplan_error* error = nullptr) const;
  attnplan_status verify_planner(const Buffer& blob, attnplan_error* error = nullptr) const;
  attnplan_status verify_step(const Buffer& blob, attnplan_error* error = nullptr) const;

  Batch batch;
  BatchStructs structs;
  Planner planner;
  Scratch scratch;
  Buffer plan;
};

}  // namespace attnplan::plan
