// SPDX-License-Identifier: Apache-2.0
// How LibTorch reports.
#pragma once

namespace msprobe::libtorch {

// Errors are values to us: no stack is walked and printed for each, and no warning of an operator
// is written.
void make_errors_short();

}  // namespace msprobe::libtorch
