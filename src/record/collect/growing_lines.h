// SPDX-License-Identifier: Apache-2.0
// A JSON file of one line per call, made when there is something to put into it.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "collect/growing_json.h"
#include "core/result.h"

namespace msprobe::collect {

class GrowingLines {
 public:
  // A new file, which belongs at `path`; empty: nothing is wanted.
  void reset(const std::string& path) {
    path_ = path;
    file_.reset();
    waiting_.clear();
  }

  // The file is at `path` now.
  Result<void> move_to(const std::string& path) {
    path_ = path;
    return file_ ? file_->move_to(path, "{") : Result<void>{};
  }

  bool is_wanted() const { return !path_.empty(); }

  // `member` is `"name": value`.
  void add(const std::string& member) { waiting_ += ",\n " + member; }

  // What was added since the last call, for append().
  std::string take() { return std::exchange(waiting_, {}); }

  Result<void> append(const std::string& lines) {
    if (lines.empty()) return {};
    if (!file_) {
      Result<GrowingJson> made = GrowingJson::create(path_, "{", "\n}");
      if (!made) return propagate(made);
      file_ = std::move(*made);
    }
    return file_->append(lines, "");
  }

  void settle() {
    if (file_) file_->settle();
  }

 private:
  std::string path_;
  std::optional<GrowingJson> file_;
  std::string waiting_;
};

}  // namespace msprobe::collect
