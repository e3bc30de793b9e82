// SPDX-License-Identifier: Apache-2.0
// The tensor files of two dumps: measures the pairs of a comparison of real data.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include "core/file.h"
#include "core/result.h"
#include "dump_compare/item_row.h"
#include "dump_compare/matrix_products.h"

namespace msprobe::dump_compare {

// Large enough for all threads; smaller pairs are measured beside each other.
bool is_large(const ItemRow& row);

class RealData {
 public:
  // Opens dump_tensor_data beside both files. `products` may be null.
  Result<void> open(const std::filesystem::path& target_json,
                    const std::filesystem::path& golden_json,
                    std::shared_ptr<const MatrixProducts> products);

  // Fills row.real. A file that is missing or damaged makes the row skipped, with the reason.
  // REQUIRES: the row is matched.
  void measure(ItemRow& row, int threads) const;

 private:
  std::optional<Directory> target_;
  std::optional<Directory> golden_;
  std::shared_ptr<const MatrixProducts> products_;
};

}  // namespace msprobe::dump_compare
