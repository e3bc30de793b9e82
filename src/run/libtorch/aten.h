// SPDX-License-Identifier: Apache-2.0
// The only door to LibTorch. Precompiled; included by the .cc files of arguments, execute and the
// engine only.
#pragma once

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>
#include <torch/csrc/autograd/function.h>
