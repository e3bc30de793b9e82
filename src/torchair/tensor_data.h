// What a file holds of one tensor: its elements, statistics of them, or a few values the user kept.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "core/result.h"
#include "ge/elements.h"
#include "ge/file_name.h"
#include "ge/statistics_file.h"
#include "torchair/info_file.h"
#include "torchair/row.h"

namespace msprobe::torchair {

struct TensorData {  // one of
  std::optional<ge::Elements> elements;
  std::optional<ge::TensorStatistics> statistics;
  std::optional<InfoValues> info;
};

// A GE file, read once for all of its tensors.
class GeData {
 public:
  static Result<GeData> open(const std::filesystem::path& path, ge::FileKind kind);
  Result<TensorData> tensor(Side side, std::uint32_t index) const;

 private:
  FileBytes file_;
  std::optional<ge::DumpFile> dump_;
  std::optional<std::vector<ge::TensorStatistics>> statistics_;
  std::optional<InfoFile> info_;
};

Result<TensorData> open_ge(const std::filesystem::path& path, ge::FileKind kind, Side side,
                           std::uint32_t index);
Result<TensorData> open_array(const std::filesystem::path& path, bool is_info);

// Every element as a double. REQUIRES: neither opaque nor complex.
std::vector<double> all_values(const ge::Elements& elements);

}  // namespace msprobe::torchair
