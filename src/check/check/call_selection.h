// SPDX-License-Identifier: Apache-2.0
// The calls of a dump that --only names.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "core/result.h"
#include "dump/dump_json.h"

namespace msprobe::check {

// A word of --only is the name of a call or of one of its rows ("Torch.matmul.0",
// "Torch.matmul.0.forward"), an API ("matmul", "Torch.matmul"), or a shell pattern of either
// ("Functional.*"). Without words every call is selected.
class CallSelection {
 public:
  explicit CallSelection(std::span<const std::string> words);

  bool contains(std::string_view full_name) const;

  // An error if a word selects no call: it names the calls or APIs that are near.
  Result<void> check(const dump::DumpIndex& dump) const;

 private:
  bool everything_ = false;
  std::vector<std::string> words_;
  std::unordered_set<std::string> names_;  // every word, taken as a name
  std::vector<std::string> patterns_;
};

// What to say of a name that no call has: the calls or APIs that are near, else those of the dump.
std::string no_call_named(const std::string& word, const dump::DumpIndex& dump);

}  // namespace msprobe::check
