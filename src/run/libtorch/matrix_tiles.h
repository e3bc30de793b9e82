// SPDX-License-Identifier: Apache-2.0
// Machines whose matrix tiles (AMX) crash PyTorch.
#pragma once

#include <cstdlib>

#ifdef __x86_64__
#include <cpuid.h>
#endif

namespace msprobe::libtorch {

// Whether the CPU announces tiles but no layout (palette) for them. Some virtual machines hide the
// page of CPUID with the layouts; oneDNN then uses tiles it could not configure, and a bfloat16
// matmul ends with an illegal instruction.
inline bool tiles_are_unusable() {
#ifdef __x86_64__
  constexpr unsigned kTilesBit = 1U << 24U, kFeaturesLeaf = 7, kTilesLeaf = 0x1D;
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid_count(kFeaturesLeaf, 0, &a, &b, &c, &d) == 0 || (d & kTilesBit) == 0) {
    return false;
  }
  return __get_cpuid_count(kTilesLeaf, 0, &a, &b, &c, &d) == 0 || a == 0;
#else
  return false;
#endif
}

// Keeps oneDNN from tiles on such a machine. To be called before the first operator; what the user
// has set stays.
inline void avoid_unusable_tiles() {
  if (tiles_are_unusable()) ::setenv("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_FP16", /*overwrite=*/0);
}

}  // namespace msprobe::libtorch
