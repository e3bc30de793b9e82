// SPDX-License-Identifier: Apache-2.0
// Translates the names of target entries into those of the golden dump, if the dumps name their
// calls differently: another framework, other modules, a mapping file.
#pragma once

#include <string>
#include <vector>

#include "dump/construct_json.h"
#include "dump/entry_index.h"
#include "dump_compare/mapping.h"

namespace msprobe::dump_compare {

struct NameRules {
  bool cells_are_modules = false;  // "Cell." and "Module." mean the same
  bool mindspore_apis = false;     // APIs of MindSpore beside those of PyTorch
  const CellMapping* cells = nullptr;
  const LayerMapping* layers = nullptr;
  const ApiMapping* apis = nullptr;
  // In which module each call ran; null: not recorded.
  const dump::ConstructIndex* target_modules = nullptr;
  const dump::ConstructIndex* golden_modules = nullptr;

  bool any() const { return cells_are_modules || mindspore_apis || cells || layers || apis; }
};

// One name for each entry of the target, whether the golden dump has it or not. Empty: all are
// called the same.
//
// Calls of one operation belong together in the order of the file where both sides have equally
// many: inside a module call, if both dumps say which that is; then over the whole run, if a side
// calls the operation by several names (Mint.add; Torch.add and Tensor.__add__). What is left keeps
// its numbers. Modules are looked up by their path if the class has another name.
std::vector<std::string> golden_names(const dump::EntryIndex& target,
                                      const dump::EntryIndex& golden, const NameRules& rules);

}  // namespace msprobe::dump_compare
