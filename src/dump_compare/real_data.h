// The tensor files of two dumps: measures the pairs of a comparison of real data.
#pragma once

#include <filesystem>
#include <optional>

#include "core/file.h"
#include "core/result.h"
#include "dump_compare/row.h"

namespace msprobe::dump_compare {

// Worth all threads by itself; smaller pairs are measured beside each other.
bool is_large(const Row& row);

class RealData {
 public:
  // Opens dump_tensor_data beside both files.
  Result<void> open(const std::filesystem::path& target_json,
                    const std::filesystem::path& golden_json);

  // Fills row.real. A file that is missing or damaged makes the row skipped, with the reason.
  // REQUIRES: the row is matched.
  void measure(Row& row, int threads) const;

 private:
  std::optional<Directory> target_;
  std::optional<Directory> golden_;
};

}  // namespace msprobe::dump_compare
