// SPDX-License-Identifier: Apache-2.0
// Converted dumps: a few values that stand for each tensor, minimum and maximum as a rule.
#pragma once

#include <filesystem>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/file.h"
#include "core/npy_header.h"
#include "core/result.h"
#include "core/tensor.h"

namespace msprobe::torchair {

using InfoValues = std::vector<double>;

struct InfoFile {
  std::vector<InfoValues> inputs;  // the k values of each tensor
  std::vector<InfoValues> outputs;
};

// An npz of `inputs` and `outputs`, each of shape (tensors, k), or empty. Complex values have no
// order: nothing is left of those of a tensor that has them.
Result<InfoFile> read_info_file(const FileBytes& file, std::string_view name);

// An npy of k values.
Result<InfoValues> read_info_array(const FileBytes& file, std::string_view name);

// Whether the values are minimum and maximum.
inline bool is_range(const InfoValues& values) { return values.size() == 2; }

// Minimum and maximum of a tensor that has none: empty, without order, or without bytes.
inline constexpr double kNoMinimum = std::numeric_limits<double>::infinity();
inline constexpr double kNoMaximum = -kNoMinimum;
inline bool is_empty_range(const InfoValues& values) {
  return is_range(values) && values[0] == kNoMinimum && values[1] == kNoMaximum;
}

// Whether the dump file that a converted one was made of is still there, "x.17" of
// "x.17_min_max.npz" or "y.5.npy" of "y.5_min_max.npy": then it is the original that counts.
bool has_original(const std::filesystem::path& info);

// An npz with stored members, name (without ".npy") and content each.
std::string make_npz(const std::vector<std::pair<std::string, std::string>>& arrays);

// Writes every tensor of an npz of `inputs` and `outputs`, each with the tensors along its first
// dimension, as <directory>/input.<i>.npy and output.<i>.npy. One of the two may be missing.
Result<bool> write_archive_arrays(const FileBytes& file, const std::filesystem::path& path,
                                  const std::filesystem::path& directory);

}  // namespace msprobe::torchair
