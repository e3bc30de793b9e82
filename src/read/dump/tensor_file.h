// SPDX-License-Identifier: Apache-2.0
// The files beside a dump that hold one tensor: .pt (as torch.save writes it) and .npy.
#pragma once

#include <filesystem>
#include <string_view>

#include "core/file.h"
#include "core/result.h"
#include "core/tensor.h"
#include "dump/zip.h"

namespace msprobe::dump {

// Chooses the reader by the suffix of `name`; `name` also opens every message.
Result<Tensor> parse_tensor_file(const FileBytes& file, std::string_view name);
// The same; what has a checksum of its elements (.pt) leaves it to the caller, else `late` stays.
Result<Tensor> parse_tensor_file(const FileBytes& file, std::string_view name, LateChecksum& late);

Result<Tensor> load_tensor_file(const std::filesystem::path& path);

// The same in memory that nothing else uses and that may be written: what happens to the file later
// does not matter. `size_bytes`: the expected size of the tensor; a file that is much larger is not
// read as a whole.
Result<Tensor> load_tensor_file(const Directory& directory, std::string_view name,
                                std::size_t size_bytes = 0);

// The same for a file by the path it was recorded at, which may be that of another machine: the
// longest end of that path which is a file below `directory`. Nothing outside the directory is
// opened.
Result<Tensor> load_moved_tensor_file(const Directory& directory, std::string_view recorded_path,
                                      std::size_t size_bytes = 0);

}  // namespace msprobe::dump
