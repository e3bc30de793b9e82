// SPDX-License-Identifier: Apache-2.0
// The files of one GE token directory, and what their headers say.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "core/tensor.h"
#include "ge/dump_file.h"
#include "ge/file_name.h"
#include "ge/slice_info.h"
#include "torchair/ge_source.h"

namespace msprobe::torchair {

namespace fs = std::filesystem;

// What is known of a tensor before its data is read.
struct GeTensorInfo {
  std::string dtype;           // "int4"; empty: the file does not say
  std::optional<Shape> shape;  // as the network sees it
  std::string format;          // device layout; empty for the usual order
  std::optional<ge::OriginalOp> original_op;
  std::string problem;  // why it has no data
  std::string unknown;  // why slices of it cannot be put together
};

// A dumped operator: one execution, from one file or from those of its slices.
struct GeFile {
  GeSource source;
  std::string name;  // of the file as it lies there, the first of several
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

// Every dumped operator of the directory, in order of time. `notes` gets what a person should know.
// `unread` takes what cannot be read.
std::vector<GeFile> list_ge_files(const fs::path& directory, int threads,
                                  std::vector<std::string>& unread);

}  // namespace msprobe::torchair
