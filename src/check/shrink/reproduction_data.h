// SPDX-License-Identifier: Apache-2.0
// The tensor files of a call that is reproduced.
#pragma once

#include <filesystem>
#include <string>

#include "core/result.h"
#include "dump/call_record.h"

namespace msprobe::shrink {

// Whether a tensor of the entry names a file.
bool has_data(const dump::ForwardRecord& forward);

// Copies the files of `call` that are in `from` into `to`, which is made. The first file that
// cannot be copied is an error.
Result<void> copy_data(const std::filesystem::path& from, const std::string& call,
                       const std::filesystem::path& to);

}  // namespace msprobe::shrink
