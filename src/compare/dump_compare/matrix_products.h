// SPDX-License-Identifier: Apache-2.0
// Matrix products that tensors go through before they are compared (--config): weights that one
// side keeps rotated, for example.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "core/result.h"
#include "core/tensor.h"

namespace msprobe::dump_compare {

enum class ComparedSide : std::uint8_t { kTarget, kGolden };

// left x tensor x right, of the last two dimensions; either may be missing.
struct MatrixProduct {
  std::optional<Tensor> left;
  std::optional<Tensor> right;
};

class MatrixProducts {
 public:
  // YAML with the sections right_matmul, left_matmul and left_right_matmul; each maps a matrix file
  // (.pt or .npy) to names of tensor files, for target and golden dump.
  static Result<MatrixProducts> read(const std::filesystem::path& path);

  // The tensor of that file, multiplied if the configuration says so. An error if the shapes do not
  // fit.
  Result<Tensor> apply(ComparedSide side, std::string_view data_name, Tensor tensor) const;

 private:
  friend class ProductReader;
  using ByName = std::unordered_map<std::string, MatrixProduct>;
  ByName target_;
  ByName golden_;
};

}  // namespace msprobe::dump_compare
