// SPDX-License-Identifier: Apache-2.0
// construct.json: in which module call each entry ran.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/file.h"
#include "core/result.h"

namespace msprobe::dump {

class ConstructIndex {
 public:
  // The module call an entry ran in ("Module.blocks.0.Block.forward.0"); empty: none recorded.
  std::string_view parent(std::string_view entry) const;

  // All of them, the outermost first.
  std::vector<std::string_view> parents(std::string_view entry) const;

  std::size_t size() const { return entries_.size(); }

 private:
  friend class ConstructScanner;
  struct Link {
    std::string_view child;
    std::string_view parent;
  };

  FileBytes file_;
  std::vector<Link> entries_;  // sorted by child
};

// {child: parent}, where a parent is a name, null, or [name, micro step]. An error is a fault of
// the file; it names the byte offset.
Result<ConstructIndex> open_construct(const std::filesystem::path& path);

// The same for bytes that are already there.
Result<ConstructIndex> index_construct(FileBytes file, std::string_view name);

}  // namespace msprobe::dump
