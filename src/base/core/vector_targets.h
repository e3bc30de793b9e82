// SPDX-License-Identifier: Apache-2.0
// The instruction sets that the kernels are compiled for. Included before Highway, by the kernels
// and by their tests.
#pragma once

// Vectors are kept in classes, which targets with vectors of unknown size do not allow; NEON serves
// their machines. SSSE3 and AVX3_DL would gain nothing over their neighbours.
#if __has_include(<hwy/ops/emu128-inl.h>)
#define HWY_DISABLED_TARGETS \
  (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV | HWY_SSSE3 | HWY_AVX3_DL)
#else  // Highway before 1.0
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_RVV | HWY_SSSE3 | HWY_AVX3_DL)
#endif
