// SPDX-License-Identifier: Apache-2.0
// The jit compile mode of an accelerator, for back ends that have one.
#pragma once

namespace msprobe::libtorch {

// Hands the setting to the back ends that were loaded: to their function
//   extern "C" void msprobe_device_jit_compile(bool on)
// False: none has one, so the setting has no effect.
bool set_jit_compile(bool on);

}  // namespace msprobe::libtorch
