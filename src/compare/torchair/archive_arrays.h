// SPDX-License-Identifier: Apache-2.0
// The tensors of an npz that somebody else made of a GE file.
#pragma once

#include <filesystem>

#include "core/file.h"
#include "core/result.h"

namespace msprobe::torchair {

// Writes every tensor of an npz of `inputs` and `outputs`, each with the tensors along its first
// dimension, as <directory>/input.<i>.npy and output.<i>.npy. One of the two may be missing.
Result<bool> write_archive_arrays(const FileBytes& file, const std::filesystem::path& path,
                                  const std::filesystem::path& directory);

}  // namespace msprobe::torchair
