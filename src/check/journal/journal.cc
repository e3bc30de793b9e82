// SPDX-License-Identifier: Apache-2.0
#include "journal/journal.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "core/file.h"
#include "core/new_file.h"
#include "journal/map_file.h"

namespace msprobe::journal {
namespace {

namespace fs = std::filesystem;

constexpr int kTimestampTries = 20;
constexpr std::chrono::milliseconds kTimestampPause(200);

// "device0_20260101000000" for device 0; a colon, as in "cuda:1", becomes '_'.
CsvPaths device_paths(const CsvPaths& merged, std::string device, const CsvNames& names) {
  std::ranges::replace(device, ':', '_');
  const fs::path directory = fmt::format("device{}_{}", device, merged.stamp);
  return csv_paths(merged.result.parent_path() / directory, merged.stamp, names);
}

// Reads all files while they are cut nowhere yet.
Result<Salvaged> salvage_files(const CsvPaths& paths, const JournalOptions& options, bool finished,
                               const ExpectedRows& expected,
                               const std::function<void(const documented::ResultRow&)>& show) {
  const Result<FileBytes> result = load_file(paths.result);
  if (!result) return propagate(result);
  const Result<FileBytes> details = load_file(paths.details);
  if (!details) return propagate(details);
  const Result<FileBytes> maps = load_maps(paths);
  if (!maps) return propagate(maps);
  return salvage({paths, result->text(), details->text(), options.format.headers, finished,
                  options.format.style, maps->text()},
                 expected, show);
}

}  // namespace

Result<Journal> Journal::create(const fs::path& directory,
                                const std::function<std::string()>& timestamp,
                                const JournalOptions& options) {
  CsvPaths paths = csv_paths(directory, timestamp(), options.format.names);
  Result<RunFile> run = RunFile::create(paths.run, options.facts);
  for (int tries = 1; !run && run.error().kind == ErrorKind::kUsage && tries < kTimestampTries;
       ++tries) {
    std::this_thread::sleep_for(kTimestampPause);
    paths = csv_paths(directory, timestamp(), options.format.names);
    run = RunFile::create(paths.run, options.facts);
  }
  if (!run) return propagate(run);
  Result<CsvPair> merged = CsvPair::create(paths, options.format.headers);
  if (!merged) return propagate(merged);
  Journal journal(std::move(*run), std::move(*merged), std::move(paths));
  if (const auto opened = journal.open_devices(options, nullptr); !opened) return propagate(opened);
  return journal;
}

Result<Journal> Journal::resume(const fs::path& result_csv, const ExpectedRows& expected,
                                const JournalOptions& options,
                                const std::function<void(const documented::ResultRow&)>& show) {
  const Result<CsvPaths> paths = paths_to_resume(result_csv, options.format.names);
  if (!paths) return propagate(paths);
  std::error_code error;
  const bool is_known = fs::exists(paths->run, error);
  Result<RunFile> run = is_known ? RunFile::open(paths->run, options.facts)
                                 : RunFile::create(paths->run, options.facts);
  if (!run) return propagate(run);
  const FinishedSizes now{fs::file_size(paths->result, error),
                          fs::file_size(paths->details, error)};
  Result<Salvaged> salvaged =
      salvage_files(*paths, options, run->finished() == now, expected, show);
  if (!salvaged) {
    if (!is_known) run->remove();
    return propagate(salvaged);
  }
  Result<CsvPair> merged = CsvPair::reopen(*paths, options.format.headers, salvaged->keep);
  if (!merged) return propagate(merged);
  Journal journal(std::move(*run), std::move(*merged), *paths);
  journal.done_ = salvaged->calls;
  journal.notes_ = std::move(salvaged->notes);
  if (!is_known) {
    journal.notes_.push_back(
        fmt::format("{} is missing: continuing with the options of this command; one call is "
                    "repeated to see whether they are the same",
                    paths->run.filename().string()));
    if (!salvaged->last_result.empty()) {
      journal.before_ = Before{salvaged->last_result, salvaged->last_details, salvaged->last_maps};
    }
  }
  ExpectedRows committed = expected;
  committed.count = salvaged->calls;
  committed.only_some = true;
  if (const auto opened = journal.open_devices(options, &committed); !opened) {
    return propagate(opened);
  }
  return journal;
}

// A device's pair holds rows of committed calls only; what a killed run wrote beyond them is cut.
Result<void> Journal::open_devices(const JournalOptions& options, const ExpectedRows* committed) {
  for (const std::string& device : options.devices) {
    const CsvPaths paths = device_paths(paths_, device, options.format.names);
    if (const Result<void> made = make_directories(paths.result.parent_path()); !made) {
      return propagate(made);
    }
    std::error_code error;
    Result<CsvPair> pair = fail(ErrorKind::kIo, "");
    if (committed == nullptr || !fs::exists(paths.result, error)) {
      pair = CsvPair::create(paths, options.format.headers);
    } else {
      const Result<Salvaged> salvaged =
          salvage_files(paths, options, true, *committed, [](const auto&) {});
      if (!salvaged) return propagate(salvaged);
      pair = CsvPair::reopen(paths, options.format.headers, salvaged->keep);
    }
    if (!pair) return propagate(pair);
    devices_.push_back(std::move(*pair));
  }
  return {};
}

// Details may have been lost when the machine went down; what is there must be the same.
bool Journal::comes_out_as_before(const Rows& rows) const {
  return rows.result == before_->result && rows.details.starts_with(before_->details);
}

Result<void> Journal::refuse_other_rows() {
  const std::string call = before_->result.substr(0, before_->result.find(','));
  merged_.add(before_->details, before_->result, before_->maps);
  if (const Result<void> flushed = merged_.flush(); !flushed) return flushed;
  run_.remove();
  return fail(ErrorKind::kUsage,
              fmt::format("{}: the rows of {} are different now: they were made with other "
                          "options (--seed, --precision, -d, ...), another PyTorch or another "
                          "dump, and {}, which names them, is missing. Repeat the first command "
                          "with -csv_path, or start a new check",
                          paths_.result.string(), call, paths_.run.filename().string()));
}

void Journal::add(const Rows& rows, std::size_t device) {
  if (before_ && !before_->differs) {
    if (comes_out_as_before(rows)) {
      before_.reset();
    } else {
      before_->differs = true;
    }
  }
  if (before_) return;
  if (device < devices_.size()) devices_[device].add(rows.details, rows.result, rows.maps);
  merged_.add(rows.details, rows.result, rows.maps);
}

Result<void> Journal::flush() {
  if (before_ && before_->differs) return refuse_other_rows();
  for (CsvPair& pair : devices_) {
    if (const Result<void> flushed = pair.flush(); !flushed) return flushed;
  }
  return merged_.flush();
}

Result<void> Journal::finish() {
  if (const Result<void> flushed = flush(); !flushed) return flushed;
  const Result<CsvSizes> sizes = merged_.finish();
  if (!sizes) return propagate(sizes);
  return run_.mark_finished({sizes->result, sizes->details});
}

}  // namespace msprobe::journal
