// A JSON file of one object that grows by entries and is complete after every write: what a killed
// training leaves behind can be read.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/result.h"

namespace msprobe::collect {

class GrowingJson {
 public:
  // `head` ends with the bracket of the object that grows, `tail` starts with the one that closes
  // it.
  static Result<GrowingJson> create(const std::string& path, std::string head, std::string tail);
  GrowingJson(GrowingJson&& other) noexcept;
  GrowingJson& operator=(GrowingJson&& other) noexcept;
  GrowingJson(const GrowingJson&) = delete;
  GrowingJson& operator=(const GrowingJson&) = delete;
  ~GrowingJson();

  // Entries come as `"name": value`, each with the separator and line break in front of it.
  // `unfinished` stands behind them until the next write takes its place.
  Result<void> append(std::string_view finished, std::string_view unfinished);
  const std::string& path() const { return path_; }

 private:
  GrowingJson(std::string path, int fd, std::string tail)
      : path_(std::move(path)), fd_(fd), tail_(std::move(tail)) {}
  Result<void> write(std::string_view text);
  std::string path_;
  int fd_ = -1;
  std::string tail_;
  std::uint64_t offset_ = 0;  // where the finished entries end
  std::uint64_t length_ = 0;
  bool empty_ = true;
};

// Replaces the file in one step: a reader sees the old or the new text, never a part.
Result<void> replace_file(const std::string& path, std::string_view text);

}  // namespace msprobe::collect
