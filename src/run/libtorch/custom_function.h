// SPDX-License-Identifier: Apache-2.0
// The part of LibTorch's autograd that operators with their own gradient need; separate from
// aten.h because few files do.
#pragma once

#include <torch/csrc/autograd/custom_function.h>

#include "libtorch/aten.h"
