// What "refreshed" means: a plan of the host's bounds, refreshed, against the plan of the true
// lengths. Functions return what differs first; empty: nothing.
#pragma once

#include <cstdint>
#include <string>

#include "subject.h"

namespace attnplan::refresh {

// Whether the host decided the same on bounds as it would have on true lengths: who stands where,
// who serves whom, which graph. If not, sections are laid out differently.
bool same_shape(const Buffer& refreshed, const Buffer& truth);

// Every section whose elements follow from the shape and the lengths: elements and count.
std::string compare_sections(const Buffer& refreshed, const Buffer& truth);

// Chunks: each request's context, cut at multiples of the chunk of the host's choice.
std::string check_chunks(const Buffer& refreshed, const Batch& truth,
                         const cpu::RefreshRules& rules, const Tensors& tensors);

// Work: every row sees its KV once, nothing behind it, and flags say what is masked.
std::string check_work(const Buffer& refreshed, const Buffer& host, const Batch& truth,
                       const cpu::RefreshRules& rules, const Tensors& tensors);

}  // namespace attnplan::refresh
