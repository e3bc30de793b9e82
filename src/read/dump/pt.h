// SPDX-License-Identifier: Apache-2.0
// .pt files as torch.save writes them.
#pragma once

#include <string_view>

#include "core/file.h"
#include "core/result.h"
#include "core/tensor.h"
#include "dump/zip.h"

namespace msprobe::dump {

// The file must hold exactly one tensor. `name` opens every message. With `late` the elements'
// checksum is left to the caller; the rest of the file is verified.
Result<Tensor> read_pt(const FileBytes& file, std::string_view name, LateChecksum* late = nullptr);

}  // namespace msprobe::dump
