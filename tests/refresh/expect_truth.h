// What has to hold of a plan of bounds once it was refreshed with the true lengths.
#pragma once

#include <string>

#include "subject.h"

namespace attnplan::refresh {

struct Judgement {
  std::string wrong;      // empty: nothing
  bool compared = false;  // section by section, with the plan of the true lengths
};
Judgement judge_refreshed(const Subject& subject, const Buffer& refreshed, const Outcome& outcome);

}  // namespace attnplan::refresh
