// SPDX-License-Identifier: Apache-2.0
// The files of a run: the CSV pair with its error maps, the run file beside it, and one more pair
// per device where several devices share the work.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "documented/detail_row.h"
#include "journal/csv_pair.h"
#include "journal/resume.h"
#include "journal/run_file.h"

namespace msprobe::journal {

// How the files of a run are written.
struct CsvPairFormat {
  CsvHeaders headers;
  CsvNames names;
  tables::CellStyle style;
};

struct JournalOptions {
  CsvPairFormat format;
  RunFacts facts;
  // One pair each in "device{name}_{timestamp}"; empty: only the merged pair.
  std::vector<std::string> devices;
};

class Journal {
 public:
  // `timestamp` is asked again, a moment later, while the name it gives is taken.
  static Result<Journal> create(const std::filesystem::path& directory,
                                const std::function<std::string()>& timestamp,
                                const JournalOptions& options);

  // Continues the pair of `result_csv`, as far as it can be kept; `show` gets every kept row. Where
  // the run file is missing, a new one is made from `options`, and the first call that is done
  // again must come out as it was: flush() fails if it does not, and the pair is as before.
  static Result<Journal> resume(const std::filesystem::path& result_csv,
                                const ExpectedRows& expected, const JournalOptions& options,
                                const std::function<void(const documented::ResultRow&)>& show);

  // Rows and error maps of the next call.
  struct Rows {
    std::string_view details;
    std::string_view result;
    std::string_view maps = {};  // lines of map_lines.h
  };
  // `device` as in JournalOptions.
  void add(const Rows& rows, std::size_t device);
  Result<void> flush();
  // The run is complete.
  Result<void> finish();

  const CsvPaths& paths() const { return paths_; }
  std::string timestamp() const { return paths_.stamp; }
  std::size_t done() const { return done_; }  // calls that a resumed run need not do
  const std::vector<std::string>& notes() const { return notes_; }
  // A setting of the run, as written when it began.
  const RunFacts& facts() const { return run_.facts(); }

 private:
  Journal(RunFile run, CsvPair merged, CsvPaths paths)
      : run_(std::move(run)), merged_(std::move(merged)), paths_(std::move(paths)) {}
  Result<void> open_devices(const JournalOptions& options, const ExpectedRows* committed);
  bool comes_out_as_before(const Rows& rows) const;
  Result<void> refuse_other_rows();

  RunFile run_;
  CsvPair merged_;
  std::vector<CsvPair> devices_;
  CsvPaths paths_;
  std::size_t done_ = 0;
  std::vector<std::string> notes_;

  // What the rows of the next call must be; set until it is done.
  struct Before {
    std::string result;
    std::string details;
    std::string maps;
    bool differs = false;
  };
  std::optional<Before> before_;
};

}  // namespace msprobe::journal
