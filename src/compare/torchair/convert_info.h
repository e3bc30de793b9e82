// SPDX-License-Identifier: Apache-2.0
// Dump files become info files: minimum and maximum in place of the data. An original goes only
// after its info file is safely on disk.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>

#include "core/result.h"

namespace msprobe::torchair {

struct ConvertOptions {
  bool keep_originals = false;
};

struct ConvertEvents {
  std::function<void(const std::filesystem::path& from, const std::filesystem::path& to)>
      on_converted;
  std::function<void(const std::filesystem::path& path, const std::string& reason)> on_problem;
};

struct ConvertTotals {
  std::uint64_t converted = 0;
  std::uint64_t already = 0;  // info files that were there
  std::uint64_t refused = 0;  // damaged, or still being written
};

class Converter {
 public:
  Converter(std::filesystem::path root, ConvertOptions options, ConvertEvents events)
      : root_(std::move(root)), options_(options), events_(std::move(events)) {}

  // Every dump file there is.
  ConvertTotals convert_all() { return pass(false); }
  // Those that did not change since the last call and for a second: beside a running dump. A file
  // that cannot be read yet is tried again when it has changed.
  ConvertTotals convert_settled() { return pass(true); }

 private:
  struct Seen {
    std::uintmax_t size = 0;
    std::filesystem::file_time_type time;
    bool done = false;  // nothing to do until it changes: refused, or converted and kept
    friend bool operator==(const Seen& a, const Seen& b) {
      return a.size == b.size && a.time == b.time;
    }
  };
  ConvertTotals pass(bool only_settled);
  bool is_settled(const std::filesystem::path& path);
  void convert(const std::filesystem::path& path, ConvertTotals& totals);

  std::filesystem::path root_;
  ConvertOptions options_;
  ConvertEvents events_;
  std::map<std::filesystem::path, Seen> seen_;
};

// Writes every tensor of one GE file, or of an npz made of one, as <directory>/input.<i>.npy and
// output.<i>.npy.
Result<bool> write_arrays(const std::filesystem::path& file,
                          const std::filesystem::path& directory);

}  // namespace msprobe::torchair
