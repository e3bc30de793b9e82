// SPDX-License-Identifier: Apache-2.0
// stack.json: from where in the user's code each call was made.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/file.h"
#include "core/result.h"

namespace msprobe::dump {

// Knows where each call's frames are in the file; frames are read when they are asked for.
class StackIndex {
 public:
  // The frames of an entry ("Torch.add.0.forward"), innermost first; empty where none were
  // recorded. An error is a fault of these frames alone.
  Result<std::vector<std::string>> frames(std::string_view entry) const;

  std::size_t size() const { return entries_.size(); }

  // What a recording that was cut off lacks, in one sentence; empty for a whole file.
  const std::string& note() const { return note_; }

 private:
  friend class StackScanner;
  struct Entry {
    std::string_view name;
    std::uint64_t frames_at;  // byte offset of the list of frames
  };

  FileBytes file_;
  std::string name_;
  std::string note_;
  std::vector<Entry> entries_;  // sorted by name
};

// Takes both forms, {"0": [[names], [frames]], ...} and the older {name: [frames], ...}. A file
// that was cut off is read up to its last whole entry. An error is a fault of the file; it names
// the byte offset.
Result<StackIndex> open_stacks(const std::filesystem::path& path);

// The same for bytes that are already there.
Result<StackIndex> index_stacks(FileBytes file, std::string_view name);

}  // namespace msprobe::dump
