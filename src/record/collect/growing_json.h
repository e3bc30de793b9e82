// SPDX-License-Identifier: Apache-2.0
// A JSON file of one object that grows by entries and can be read at any moment: what a killed
// training leaves behind is complete.
//
// A killed process leaves its last write unfinished: the kernel ends it at the border of a page. So
// nothing is written into the file that readers see. There are two files with the same entries; the
// one beside it (PATH.new) is brought up to date, then both exchange their names. Whatever is
// written once more, created or deleted for that is paid by every training that is recorded: a file
// that gets all its entries at once has them written once.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/descriptor.h"
#include "core/result.h"

namespace msprobe::collect {

class GrowingJson {
 public:
  // `head` ends with the bracket of the object that grows, `tail` starts with the one that closes
  // it.
  static Result<GrowingJson> create(const std::string& path, std::string head, std::string tail);

  // Entries come as `"name": value`, each with the separator and line break in front of it.
  // `unfinished` follows them until the next write replaces it. If that fails (a full disk), the
  // file keeps its earlier content.
  Result<void> append(std::string_view finished, std::string_view unfinished);

  // With the next write.
  void set_tail(const std::string& tail) { tail_ = tail; }

  // Nothing is expected to follow soon: the second file is removed.
  void settle();

  // The file is at `path` now, and gets another head. What is unfinished comes with the next
  // write.
  Result<void> move_to(const std::string& path, const std::string& head);

 private:
  // One of the two files.
  struct Copy {
    Descriptor file;
    std::uint64_t offset = 0;  // where its finished entries end
    std::uint64_t length = 0;  // of the whole file; larger where it is not known
  };

  GrowingJson(std::string path, Descriptor file, std::uint64_t head, std::string tail)
      : path_(std::move(path)),
        tail_(std::move(tail)),
        seen_{std::move(file), head, head + tail_.size()},
        head_(head) {}
  bool append_beside(std::string_view finished, std::string_view unfinished);
  Result<void> write(Copy& copy, const std::array<std::string_view, 4>& text) const;
  std::string spare_path() const { return path_ + ".new"; }

  std::string path_;
  std::string tail_;
  Copy seen_;                 // the file at path_
  Copy spare_;                // the other one, if it has a descriptor; it lacks the last entries
  std::uint64_t head_ = 0;    // where the first entry begins
  bool empty_ = true;         // no finished entry is there
  bool is_in_place_ = false;  // no second file: the file system cannot exchange, or is full
};

// Replaces the file in one step: a reader sees the old or the new text, never a part.
Result<void> replace_file(const std::string& path, std::string_view text);

}  // namespace msprobe::collect
