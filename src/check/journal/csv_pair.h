// SPDX-License-Identifier: Apache-2.0
// The result and details CSV of a check on disk, and the error maps beside them: rows are added in
// groups, maps and details first, then the result rows that commit them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "core/descriptor.h"
#include "core/result.h"

namespace msprobe::journal {

// What the files of a run are called, up to the time stamp.
struct CsvNames {
  std::string_view result = "accuracy_checking_result";
  std::string_view details = "accuracy_checking_details";
  std::string_view run = "accuracy_checking_run";
  std::string_view maps = "accuracy_checking_maps";
  bool stamped = true;  // "_20260101000000" follows
};

struct CsvPaths {
  std::filesystem::path result;
  std::filesystem::path details;
  std::filesystem::path run = {};   // see run_file.h
  std::string stamp = {};           // 14 digits; empty: the names have none
  std::filesystem::path maps = {};  // see map_lines.h; there is no such file while nothing fails
};

// accuracy_checking_{result,details}_{timestamp}.csv
CsvPaths csv_paths(const std::filesystem::path& directory, std::string_view timestamp,
                   const CsvNames& names = {});

// The paths that belong to a result CSV by its name; nothing if it is not called like one.
std::optional<CsvPaths> csv_paths_of(const std::filesystem::path& result_csv,
                                     const CsvNames& names = {});

// How much of each file to keep.
struct CsvSizes {
  std::uint64_t result = 0;
  std::uint64_t details = 0;
  std::uint64_t maps = 0;
};

struct CsvHeaders {
  std::string result;  // with the byte-order mark and the line end
  std::string details;
};

class CsvPair {
 public:
  // Writes the headers; details is made first, so that a result CSV never lacks its partner.
  static Result<CsvPair> create(const CsvPaths& paths, const CsvHeaders& headers);
  // Cuts all files to `keep`; a CSV cut to nothing gets its header again, a map file is removed.
  static Result<CsvPair> reopen(const CsvPaths& paths, const CsvHeaders& headers, CsvSizes keep);

  // Rows and lines with their line ends; they reach the files with the next flush(). Maps beyond
  // kMostMapBytes are left out.
  void add(std::string_view details, std::string_view result, std::string_view maps = {});
  // After an error all files are cut back to the last flush that worked, as far as the disk lets
  // us: a later run continues from there.
  Result<void> flush();
  // flush(), and the bytes are on the disk.
  Result<CsvSizes> finish();

 private:
  struct File {
    Result<void> open(const std::filesystem::path& where, bool is_new);
    Result<void> write();
    Result<void> cut(std::uint64_t new_size) const;
    Result<void> sync() const;

    std::filesystem::path path;
    Descriptor fd;
    std::uint64_t size = 0;  // of what is known to be written
    std::string waiting;
  };
  CsvPair() = default;
  Result<void> open(const CsvPaths& paths, bool are_new);
  Result<void> start(const CsvHeaders& headers);
  Result<void> write_maps();

  File maps_;
  File details_;
  File result_;
};

}  // namespace msprobe::journal
