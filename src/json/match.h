// Judges a plan document by the "expect" of a case.
#pragma once

#include <string>
#include <string_view>

namespace attnplan::json {

// Empty where `plan` matches the partial document `expect`, else where and how they differ. Every
// key of an expected object must be there with an equal value; objects match partially at every
// depth, the lists "segments", "warnings" and "chunks" item by item, all other lists whole.
std::string mismatch(std::string_view expect, std::string_view plan);

}  // namespace attnplan::json
