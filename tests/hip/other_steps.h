// Steps beside that of a problem: what a host plans where the device knows better, and what a
// captured graph was captured with.
#pragma once

#include <cstdint>

#include "hip/description.h"
#include "hip/step.h"

namespace attnplan::hip_test {

// Rows of draw_other.
constexpr int32_t kOtherRows = 21;

// The same batch, but some requests have no token any more: they keep their rows.
Step without_tokens(const Description& description, const Step& step);

// What a host believes that shares out verify rows while the device does it otherwise: every pad
// of `step` has a row, of another request or beyond the rows that there are. All are decodes.
Step draw_shares(const Description& description, const Step& step);

// Another batch under the same graph, of three segments. The last of them, read with the lists of a
// plan that does not have it, serves a request again at rows of others or behind the batch.
Step draw_other(const Step& step);

}  // namespace attnplan::hip_test
