// SPDX-License-Identifier: Apache-2.0
// MSPROBE_TORCH_SINCE(2, 4): whether this build's LibTorch is of that version or a later one. For
// the files of this folder: what differs between versions stays in it.
#pragma once

#include <torch/version.h>

#define MSPROBE_TORCH_SINCE(major, minor) \
  (TORCH_VERSION_MAJOR > (major) ||       \
   (TORCH_VERSION_MAJOR == (major) && TORCH_VERSION_MINOR >= (minor)))
