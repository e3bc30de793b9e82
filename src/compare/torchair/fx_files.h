// SPDX-License-Identifier: Apache-2.0
// The arrays of one FX token directory, by node, argument and output.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "core/tensor.h"
#include "torchair/dump_files.h"

namespace msprobe::torchair {

namespace fs = std::filesystem;

struct FxArray {
  fs::path path;
  std::string name;  // of the file, as mapping.csv spells it where it was too long
  std::int64_t index = 0;
  std::int64_t item = -1;  // of a list argument
  std::string time;
  bool is_info = false;  // converted: a few values that stand for the tensor

  // From the header.
  bool is_numeric = true;  // false: a pickled object or text
  std::optional<DType> dtype;
  Shape shape;
  std::string problem;  // why it cannot be read
};

struct FxNode {
  std::vector<FxArray> inputs;   // in order of argument and item, numeric ones only
  std::vector<FxArray> outputs;  // in order of index
  std::vector<FxArray> others;   // arguments without numbers
};

struct FxName {
  std::string key;  // "add_1-aten.add.Tensor"
  bool is_output = false;
  FxArray array;
};
// <node>-<target>.INPUT.<i>[.<j>].<time>[<suffix>].npy, read from the right.
std::optional<FxName> parse_fx_name(std::string_view name);

// "add_1-aten.add.Tensor.OUTPUT.0", as the graph text has it.
struct FxTensorName {
  std::string key;
  std::int64_t index = 0;
};
std::optional<FxTensorName> parse_fx_tensor_name(std::string_view name);

// Which execution of an operator in the compared dump, from 0, and of how many.
struct Execution {
  std::size_t number = 0;
  std::size_t of = 1;
};

class FxFiles {
 public:
  static FxFiles open(const fs::path& directory, DumpFiles& files);

  // The run of a node that belongs to an execution, its headers read; nullptr if there is none.
  // As many runs as executions belong together one by one, a single one to all of them; of more
  // runs than executions the last count. If the directory holds more dumps than there are
  // executions, only the newest dumps count, even for a node that they lack.
  const FxNode* node(const std::string& key, const Execution& execution);
  const FxArray* output(const FxTensorName& name, const Execution& execution);
  // The nodes; once an older dump was left out, those of the newest.
  std::vector<std::string> keys() const;
  // Nodes of which something was dumped more than once.
  std::vector<std::string> repeated() const;
  // Whether node() passed over an older dump.
  bool left_out_a_dump() const { return left_out_a_dump_; }
  // Nodes that only an older dump has.
  std::vector<std::string> only_older() const;

  // Whether two arrays hold the same values, as far as some blocks of large ones tell.
  bool same_content(const FxArray& a, const FxArray& b);
  DumpFiles& files() const { return *files_; }

 private:
  struct Run {
    FxNode node;
    std::size_t dump = 0;  // in order of time
    bool is_ready = false;
  };
  void number_dumps();
  void read_header(FxArray& array);
  void make_ready(FxNode& node);
  Run* find_run(std::vector<Run>& runs, const Execution& execution);

  std::size_t dumps_ = 1;
  bool left_out_a_dump_ = false;
  DumpFiles* files_ = nullptr;
  std::map<std::string, std::vector<Run>> nodes_;  // runs in order of time
};

// `nodes` are the nodes as they were dumped, in order of time. Returns the number of the dump of
// each, from 0. A new dump begins where the first node comes again, so a dump that was stopped
// early is separated from a complete one. If the dumps begin with different nodes, but at least
// half of all nodes repeat, a new dump begins at each repetition. Fewer repeated nodes are
// operators that ran several times in one dump.
std::vector<std::size_t> dump_numbers(std::span<const std::string_view> nodes);

}  // namespace msprobe::torchair
