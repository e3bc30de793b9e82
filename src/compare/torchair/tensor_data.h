// SPDX-License-Identifier: Apache-2.0
// What a file holds of one tensor: its elements, statistics of them, or a few values the user kept.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "core/result.h"
#include "ge/elements.h"
#include "ge/slice_info.h"
#include "ge/statistics_file.h"
#include "torchair/info_file.h"
#include "torchair/tensor_row.h"

namespace msprobe::torchair {

struct TensorData {  // one of
  std::optional<ge::Elements> elements;
  std::optional<ge::TensorStatistics> statistics;
  std::optional<InfoValues> info;
};

// The files of a GE operator, read once for all of its tensors.
class GeData {
 public:
  static Result<GeData> open(const GeSource& source);
  Result<TensorData> tensor(DumpSide side, std::uint32_t index) const;
  std::size_t tensors(DumpSide side) const;

  // Whether a file got smaller since it was opened: what was read of it may be wrong.
  bool has_shrunk() const;

  // Of binary files: where the tensors of several are.
  const std::vector<ge::JoinedTensor>& joined(DumpSide side) const {
    return side == DumpSide::kInput ? plan_.inputs : plan_.outputs;
  }

 private:
  struct File {
    std::filesystem::path path;
    FileBytes bytes;
    ge::DumpFile dump;
  };
  static Result<GeData> open_one(const std::filesystem::path& path, ge::FileKind kind);
  Result<void> plan_slices(const std::vector<GeSource::Slice>& slices);
  Result<ge::Elements> elements(DumpSide side, std::uint32_t index) const;

  std::vector<File> files_;
  ge::JoinPlan plan_;
  std::optional<std::vector<ge::TensorStatistics>> statistics_;
  std::optional<InfoFile> info_;
};

Result<TensorData> open_array(const std::filesystem::path& path, bool is_info);

// Every element as a double. REQUIRES: neither opaque nor complex.
std::vector<double> all_values(const ge::Elements& elements);

}  // namespace msprobe::torchair
