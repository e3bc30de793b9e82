// SPDX-License-Identifier: Apache-2.0
// The statistics CANN writes instead of data: one CSV per operator, one line per tensor.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "core/tensor.h"

namespace msprobe::ge {

struct TensorStatistics {
  bool is_output = false;
  std::uint32_t index = 0;
  std::string type_text;  // "float32"
  std::string format;
  std::optional<Shape> shape;
  // Empty if the file does not say.
  std::optional<double> max;
  std::optional<double> min;
  std::optional<double> mean;
  std::optional<double> l2_norm;
  std::optional<double> nan_count;
};

// Columns are found by title: their order and number depend on the version. A cell that is empty or
// "NA" is not known; any other cell that is not a number is an error.
Result<std::vector<TensorStatistics>> read_statistics(std::string_view text);

}  // namespace msprobe::ge
