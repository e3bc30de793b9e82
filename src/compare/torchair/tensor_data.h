// SPDX-License-Identifier: Apache-2.0
// The data that a file holds of one tensor: its elements, statistics of them, or a few values the
// user kept.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/result.h"
#include "ge/dump_file.h"
#include "ge/elements.h"
#include "ge/file_name.h"
#include "ge/slice_info.h"
#include "ge/statistics_file.h"
#include "torchair/dump_files.h"
#include "torchair/info_file.h"

namespace msprobe::torchair {

enum class DumpSide : std::uint8_t { kInput, kOutput };
std::string_view name(DumpSide side);

struct TensorData {  // one of
  std::optional<ge::Elements> elements;
  std::optional<ge::TensorStatistics> statistics;
  std::optional<InfoValues> info;
};

// What is known of a tensor without its data.
struct GeTensorInfo {
  std::string dtype;           // "int4"; empty: the file does not say
  std::optional<Shape> shape;  // as the network sees it
  std::string format;          // device layout; empty for the usual order
  std::optional<ge::OriginalOp> original_op;
  std::string problem;  // why it has no data
  std::string unknown;  // why slices of it cannot be put together
};

// A dumped GE operator: one file, or those of its slices, opened and parsed once.
class GeData {
 public:
  struct File {
    std::filesystem::path path;
    FileBytes bytes;
    ge::DumpFile dump;
  };

  static Result<GeData> open(const std::filesystem::path& path, ge::FileKind kind,
                             DumpFiles& files);
  // Slices of one execution, in order of time and number. REQUIRES: at least one.
  struct Slice {
    const GeData* data = nullptr;
    std::string name;  // of its file
    std::uint32_t number = 0;
  };
  static Result<GeData> join(std::span<const Slice> slices);

  Result<TensorData> tensor(DumpSide side, std::uint32_t index) const;
  std::vector<GeTensorInfo> infos(DumpSide side) const;
  // Null if there is no binary file; the first of several.
  const ge::DumpFile* header() const { return files_.empty() ? nullptr : &files_.front().dump; }

  // Whether a file got smaller since it was opened: what was read of it may be wrong.
  bool has_shrunk() const;

 private:
  std::size_t tensors(DumpSide side) const;
  GeTensorInfo info_of(DumpSide side, std::uint32_t index) const;
  Result<ge::Elements> elements(DumpSide side, std::uint32_t index) const;
  const ge::JoinedTensor* plan_of(DumpSide side, std::uint32_t index) const;
  const ge::TensorStatistics* statistics_of(DumpSide side, std::uint32_t index) const;

  std::vector<File> files_;
  bool is_joined_ = false;
  ge::JoinPlan plan_;  // of binary files that are joined
  std::optional<std::vector<ge::TensorStatistics>> statistics_;
  std::optional<InfoFile> info_;
};

Result<TensorData> open_array(const std::filesystem::path& path, bool is_info, DumpFiles& files);

// Every element as a double. REQUIRES: neither opaque nor complex.
std::vector<double> all_values(const ge::Elements& elements);

}  // namespace msprobe::torchair
