// What comes out on the device of a step whose lengths the host only bounds.
#pragma once

#include <optional>

#include "batch.h"
#include "dice.h"

namespace attnplan::refresh {

using oracle::Batch;
using property::Dice;

// The device knows query starts and KV lengths and nothing else: contexts are what is left.
void let_lengths_add_up(Batch* host);

// The same step with every length exact: rejected drafts taken back, rows of verify requests dealt
// out anew, within what the host was promised. Nothing where the host's batch is refused.
std::optional<Batch> with_true_lengths(const Batch& host, Dice* dice);

}  // namespace attnplan::refresh
