// SPDX-License-Identifier: Apache-2.0
// call_sites.json: the module that made each call, and the lines of source it was made from.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/file.h"
#include "core/result.h"

namespace msprobe::dump {

// Parts that were not recorded are empty.
struct CallSite {
  std::string module;     // "model.layers.3.mlp.down_proj"
  std::string line;       // "/path/file.py:12", the innermost one outside of the framework
  std::string user_line;  // the innermost one outside of installed packages, too

  bool empty() const { return module.empty() && line.empty() && user_line.empty(); }
};

// Knows where each call is in the file; it is read when asked for.
class CallSites {
 public:
  // Where a call ("Torch.add.0") was made.
  CallSite where(std::string_view call) const;

  std::size_t size() const { return entries_.size(); }

 private:
  friend Result<CallSites> index_call_sites(FileBytes file, std::string_view name);
  struct Entry {
    std::string_view name;
    std::uint64_t value_at;
  };

  FileBytes file_;
  std::vector<Entry> entries_;  // sorted by name
};

// An error is a fault of the file; it names the byte offset.
Result<CallSites> open_call_sites(const std::filesystem::path& path);

// The same for bytes that are already there.
Result<CallSites> index_call_sites(FileBytes file, std::string_view name);

// Where those of a dump are, whose dump.json is given.
std::filesystem::path call_sites_file(const std::filesystem::path& dump);

// Those of the dump whose dump.json is given; none if it has no such file, or an unreadable one.
std::optional<CallSites> call_sites_of(const std::filesystem::path& dump);

// In one line: "model.layers.3.mlp.down_proj, modeling.py:12, from train.py:33". Files without
// their directories. Empty if nothing was recorded.
std::string site_text(const CallSite& site);

}  // namespace msprobe::dump
