// A JSON file of one object that grows by entries and is complete after every write: what a killed
// training leaves behind can be read.
#pragma once

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
  // `unfinished` stands behind them until the next write takes its place. Where that fails (a full
  // disk) the file is closed behind what it held before.
  Result<void> append(std::string_view finished, std::string_view unfinished);

  // The file lies at `path` now, and gets another head. What is unfinished comes with the next
  // write.
  Result<void> move_to(const std::string& path, const std::string& head);

 private:
  GrowingJson(std::string path, Descriptor file, std::uint64_t head, std::string tail)
      : path_(std::move(path)),
        file_(std::move(file)),
        tail_(std::move(tail)),
        head_(head),
        offset_(head),
        length_(head + tail_.size()) {}
  Result<void> write(std::string_view text);
  std::string path_;
  Descriptor file_;
  std::string tail_;
  std::uint64_t head_ = 0;    // where the first entry begins
  std::uint64_t offset_ = 0;  // where the finished entries end
  std::uint64_t length_ = 0;  // of the whole file; larger where it is not known
  bool empty_ = true;
};

// Replaces the file in one step: a reader sees the old or the new text, never a part.
Result<void> replace_file(const std::string& path, std::string_view text);

}  // namespace msprobe::collect
