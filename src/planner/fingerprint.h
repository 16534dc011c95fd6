// What the scan adds up so that the hash of a step costs no pass of its own. Every request
// contributes, per pair of arrays, the 64-bit product of its two values, each shifted modulo 2^32
// by a key of the request's position: sums of such products (the NH family of UMAC, RFC 4418
// section 5) tell arrays apart that differ in a value or in the order, and addition commutes, so
// that every vector width gives the same sum. hash.cc puts the sums through XXH3.
#pragma once

#include <stdint.h>

namespace attnplan {

// Key of position i: start + i * step, modulo 2^32. The steps are odd: keys repeat after 2^32.
inline constexpr uint32_t kFirstKeyStart = 0x8f1bbcdcu, kFirstKeyStep = 0x9e3779b1u;
inline constexpr uint32_t kSecondKeyStart = 0x5be0cd19u, kSecondKeyStep = 0x85ebca77u;

}  // namespace attnplan
