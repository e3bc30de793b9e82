// SPDX-License-Identifier: Apache-2.0
// The files of one GE token directory, and what their headers say.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ge/file_name.h"
#include "ge/slice_info.h"
#include "torchair/tensor_data.h"

namespace msprobe::torchair {

namespace fs = std::filesystem;

// A dumped operator: one execution, from one file or from those of its slices.
struct GeFile {
  std::vector<fs::path> paths;  // one, or those of its slices in order of time and number
  ge::FileKind kind = ge::FileKind::kBinary;
  std::shared_ptr<const GeData> data;  // null: `problem` says why
  std::string name;                    // of the first file as it lies there
  std::string op_type;
  std::string op_name;  // raw where the header has it, else as the file name spells it
  bool name_is_escaped = false;
  std::uint64_t time = 0;
  std::optional<std::uint32_t> slice;  // of one file among several: which thread or manual slice
  bool is_manual_slice = false;        // its name ended in "_lxslice<k>"
  std::optional<ge::SliceInfo> cut;    // how the operator was cut, if the header says so
  std::vector<GeTensorInfo> inputs;
  std::vector<GeTensorInfo> outputs;
  bool may_be_cut = false;  // a file whose end nothing marks: it may name fewer tensors than it had
  std::string problem;      // why nothing in the file can be trusted
  bool is_foreign = false;  // its content was never a dump
  bool is_unread = false;   // `problem` is of the disk, not of the content
};

// Every dumped operator of the directory, in order of time.
std::vector<GeFile> list_ge_files(const fs::path& directory, int threads, DumpFiles& files);

// The files of one directory, in order of time, with those of slices (FFTS+) put together: one
// operator of every execution. What cannot be put together is one operator with the reason.
std::vector<GeFile> join_slices(std::vector<GeFile> files);

}  // namespace msprobe::torchair
