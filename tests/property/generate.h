// Random batches that reach every rule of the planner: mostly valid, small and close to the edges
// where a decision changes, some with one thing wrong.
#pragma once

#include <cstdint>

#include "batch.h"
#include "dice.h"

namespace attnplan::property {

using oracle::Batch;

Batch generate_batch(uint64_t seed);

// The parts, in the order in which generate_batch() uses them.
void generate_model(Dice* dice, Batch* batch);     // heads, mask, options, limits
void generate_backend(Dice* dice, Batch* batch);   // a built-in profile or contracts
void generate_cache(Dice* dice, Batch* batch);     // a cache description, or none
void generate_requests(Dice* dice, Batch* batch);  // lengths, state, exactness
void generate_table(Dice* dice, Batch* batch);     // block tables, where there is a cache
void break_something(Dice* dice, Batch* batch);    // one fault

// Whether rows can be cut out of a table: not where its index list is the fault.
bool has_rows(const oracle::BlockTable& table);

// The same requests in reverse order, tables and state arrays included.
Batch reversed(const Batch& batch);

}  // namespace attnplan::property
