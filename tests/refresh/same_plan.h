// What "refreshed" means: a plan of the host's bounds, refreshed, against the plan of the true
// lengths. Functions return what differs first; empty: nothing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "subject.h"

namespace attnplan::refresh {

// Whether the host decided the same on bounds as it would have on true lengths: who stands where,
// who serves whom, which graph. If not, sections are laid out differently.
bool same_shape(const Buffer& refreshed, const Buffer& truth);

// Every section whose elements follow from the shape and the lengths: elements and count.
std::string compare_sections(const Buffer& refreshed, const Buffer& truth);

// What two refreshes of one plan must have in common, lists up to their counts: everything.
std::string compare_refreshed(const Buffer& refreshed, const Buffer& expected);

// Section ids whose elements in use differ.
std::vector<int32_t> differing_sections(const Buffer& a, const Buffer& b);

// Everything that no refresh may write: all but the sections it knows, the counts of lists that
// follow the lengths, and the longest queries of the header.
std::string compare_outside(const Buffer& refreshed, const Buffer& before);

// Indices and ranges that a kernel would follow, whatever the lengths were.
std::string check_bounds(const Buffer& refreshed);

// Chunks: each request's context, cut at multiples of the chunk of the host's choice.
std::string check_chunks(const Buffer& refreshed, const Batch& truth,
                         const cpu::RefreshRules& rules, const Tensors& tensors);

// Work: every row sees its KV once, nothing behind it, and flags say what is masked.
std::string check_work(const Buffer& refreshed, const Buffer& host, const Batch& truth,
                       const cpu::RefreshRules& rules, const Tensors& tensors);

}  // namespace attnplan::refresh
