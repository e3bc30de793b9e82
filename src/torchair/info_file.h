// Converted dumps: a few values that stand for each tensor, minimum and maximum as a rule.
#pragma once

#include <string_view>
#include <vector>

#include "core/file.h"
#include "core/result.h"
#include "core/tensor.h"

namespace msprobe::torchair {

using InfoValues = std::vector<double>;

struct InfoFile {
  std::vector<InfoValues> inputs;  // the k values of each tensor
  std::vector<InfoValues> outputs;
};

// An npz of `inputs` and `outputs`, each of shape (tensors, k), or empty.
Result<InfoFile> read_info_file(const FileBytes& file, std::string_view name);

// An npy of k values.
Result<InfoValues> read_info_array(const FileBytes& file, std::string_view name);

// Whether the values are minimum and maximum.
inline bool is_range(const InfoValues& values) { return values.size() == 2; }

}  // namespace msprobe::torchair
