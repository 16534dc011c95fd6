// mma.h in the emulation: operands are gathered by the maps of the instruction's struct.
#pragma once

#include "simt/matrix.h"

namespace attnplan::hip {

template <class E>
void Mfma16x16x16<E>::mma(const uint32_t* a, const uint32_t* b, float* d, simt::Site site) {
  simt::multiply<Mfma16x16x16<E>>("mfma 16x16x16", a, b, d, site);
}
template <class E>
void Mfma16x16x32<E>::mma(const uint32_t* a, const uint32_t* b, float* d, simt::Site site) {
  simt::multiply<Mfma16x16x32<E>>("mfma 16x16x32", a, b, d, site);
}
template <class E>
void MmaSync16x8x16<E>::mma(const uint32_t* a, const uint32_t* b, float* d, simt::Site site) {
  simt::multiply<MmaSync16x8x16<E>>("mma.sync 16x8x16", a, b, d, site);
}

}  // namespace attnplan::hip
