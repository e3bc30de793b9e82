// SPDX-License-Identifier: Apache-2.0
// Kernels that some LibTorch gets wrong.
#pragma once

namespace msprobe::libtorch {

// Replaces them. Debian's 1.13 calls the BLAS for a complex dot product by another convention than
// Debian's BLAS has: dot, vdot and the matmul of two complex vectors are 0 or garbage.
void patch_broken_kernels();

}  // namespace msprobe::libtorch
