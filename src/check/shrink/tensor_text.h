// SPDX-License-Identifier: Apache-2.0
// A saved tensor as a Python expression: written out if it is small or all alike, else loaded.
#pragma once

#include <string>

#include "core/file.h"
#include "dump/call_record.h"

namespace msprobe::shrink {

// "torch.ones(17, 1)", "torch.tensor([1, 2])", "torch.load(here / 'tensors' / 'x.pt')". `file`: its
// name in `data`, `folder`: how the script names that folder. With `with_gradient`, what requires
// grad does so there too.
std::string tensor_text(const dump::TensorRecord& record, const Directory& data,
                        const std::string& folder, const std::string& file, bool with_gradient);

}  // namespace msprobe::shrink
