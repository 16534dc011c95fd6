// An error for a person: what happened, then each refusal on a line of its own.
#pragma once

#include <string>
#include <vector>

#include "json/session.h"

namespace attnplan::tool {

// The first line is the sentence without its refusals; then "m3_decode refused:
// BLOCK_SIZE_UNSUPPORTED, blocks of 16 tokens, admitted: 128", and those that the sentence had no
// room for, without figures.
std::vector<std::string> error_lines(const json::Outcome& outcome);

}  // namespace attnplan::tool
