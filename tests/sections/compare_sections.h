// A plan's sections against the naive ones.
#pragma once

#include <string>

#include "library.h"
#include "naive_sections.h"

namespace attnplan::sections_test {

// A section's elements as plain numbers, structs flattened field by field.
std::vector<int64_t> flatten(const attnplan_section_view& view);

const char* section_name(int32_t section);

// What differs first; empty: nothing.
std::string first_difference(const oracle::NaiveSectionsResult& naive,
                             const property::Buffer& plan);

}  // namespace attnplan::sections_test
