// .pt files as torch.save writes them.
#pragma once

#include <string_view>

#include "core/file.h"
#include "core/result.h"
#include "core/tensor.h"

namespace msprobe::dump {

// The file must hold exactly one tensor. `name` opens every message.
Result<Tensor> read_pt(const FileBytes& file, std::string_view name);

}  // namespace msprobe::dump
