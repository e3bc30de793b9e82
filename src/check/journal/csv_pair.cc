// SPDX-License-Identifier: Apache-2.0
#include "journal/csv_pair.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/new_file.h"
#include "journal/map_lines.h"

namespace msprobe::journal {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kTimestampDigits = 14;

Failure io_failure(const fs::path& path, std::string_view what) {
  return fail(ErrorKind::kIo, fmt::format("{}: {}: {}", path.string(), what, strerror(errno)));
}

// A file whose directory was removed takes bytes as before, and nobody will ever see them.
Result<void> still_there(const fs::path& path, int fd) {
  struct stat status{};
  if (::fstat(fd, &status) != 0) return io_failure(path, "cannot stat");
  if (status.st_nlink > 0) return {};
  return fail(ErrorKind::kIo,
              fmt::format("{}: it was removed while the check was running", path.string()));
}

void remove_maps(const CsvPaths& paths) {
  std::error_code error;
  fs::remove(paths.maps, error);
}

}  // namespace

CsvPaths csv_paths(const fs::path& directory, std::string_view timestamp, const CsvNames& names) {
  const std::string stamp(names.stamped ? timestamp : "");
  const std::string end = names.stamped ? "_" + stamp : "";
  return {directory / fmt::format("{}{}.csv", names.result, end),
          directory / fmt::format("{}{}.csv", names.details, end),
          directory / fmt::format("{}{}.txt", names.run, end), stamp,
          directory / fmt::format("{}{}.jsonl", names.maps, end)};
}

std::optional<CsvPaths> csv_paths_of(const fs::path& result_csv, const CsvNames& names) {
  const std::string name = result_csv.filename().string();
  std::string stamp;
  if (names.stamped && name.size() > names.result.size()) {
    stamp = name.substr(names.result.size() + 1, kTimestampDigits);
  }
  const bool digits = std::ranges::all_of(stamp, [](char c) { return c >= '0' && c <= '9'; });
  const bool whole = !names.stamped || stamp.size() == kTimestampDigits;
  CsvPaths paths = csv_paths(result_csv.parent_path(), stamp, names);
  if (!digits || !whole || paths.result.filename() != name) return std::nullopt;
  return paths;
}

Result<CsvPair> CsvPair::create(const CsvPaths& paths, const CsvHeaders& headers) {
  CsvPair pair;
  if (const Result<void> opened = pair.open(paths, true); !opened) {
    return propagate(opened);
  }
  remove_maps(paths);  // those of run_ut have no time in their name
  if (const Result<void> started = pair.start(headers); !started) return propagate(started);
  return pair;
}

Result<CsvPair> CsvPair::reopen(const CsvPaths& paths, const CsvHeaders& headers, CsvSizes keep) {
  CsvPair pair;
  if (const Result<void> opened = pair.open(paths, false); !opened) return propagate(opened);
  pair.maps_.size = keep.maps;
  pair.details_.size = keep.details;
  pair.result_.size = keep.result;
  // The result rows first: a result row without its details must not survive a kill in between.
  for (const File* file : {&pair.result_, &pair.details_}) {
    if (const Result<void> cut = file->cut(file->size); !cut) return propagate(cut);
  }
  if (keep.maps > 0) {
    if (const Result<void> opened = pair.maps_.open(paths.maps, false); !opened) {
      return propagate(opened);
    }
    if (const Result<void> cut = pair.maps_.cut(keep.maps); !cut) return propagate(cut);
  } else {
    remove_maps(paths);
  }
  if (const Result<void> started = pair.start(headers); !started) return propagate(started);
  return pair;
}

Result<void> CsvPair::open(const CsvPaths& paths, bool are_new) {
  maps_.path = paths.maps;
  if (const Result<void> opened = details_.open(paths.details, are_new); !opened) return opened;
  return result_.open(paths.result, are_new);
}

Result<void> CsvPair::start(const CsvHeaders& headers) {
  if (details_.size == 0) details_.waiting = headers.details;
  if (result_.size == 0) result_.waiting = headers.result;
  return flush();
}

void CsvPair::add(std::string_view details, std::string_view result, std::string_view maps) {
  details_.waiting += details;
  result_.waiting += result;
  while (!maps.empty() && maps_.size + maps_.waiting.size() < kMostMapBytes) {
    const std::string_view line = first_line(maps);
    if (line.empty()) return;
    maps_.waiting += line;
    maps.remove_prefix(line.size());
  }
}

Result<void> CsvPair::File::open(const fs::path& where, bool is_new) {
  path = where;
  fd = is_new ? create_in_place(path) : reopen_in_place(path, Reading::kNo, Writing::kAppends);
  if (!fd) return io_failure(path, "cannot open for writing");
  return {};
}

Result<void> CsvPair::File::cut(std::uint64_t new_size) const {
  if (::ftruncate(fd.get(), static_cast<off_t>(new_size)) == 0) return {};
  return io_failure(path, "cannot cut its end");
}

Result<void> CsvPair::File::write() {
  if (waiting.empty()) return {};
  if (const Result<void> there = still_there(path, fd.get()); !there) return there;
  if (!write_fully(fd.get(), waiting)) return io_failure(path, "cannot write");
  size += waiting.size();
  waiting.clear();
  return {};
}

Result<void> CsvPair::File::sync() const {
  if (sync_fully(fd.get())) return {};
  return io_failure(path, "cannot write");
}

// Made when there is something to write: most runs need none.
Result<void> CsvPair::write_maps() {
  if (maps_.waiting.empty()) return {};
  if (!maps_.fd) {
    const Result<void> opened = maps_.open(maps_.path, true);
    if (!opened) return opened;
  }
  return maps_.write();
}

Result<void> CsvPair::flush() {
  const CsvSizes before{result_.size, details_.size, maps_.size};
  Result<void> written = write_maps();
  if (written) written = details_.write();
  if (written) written = result_.write();
  if (!written) {
    // Best effort; resuming cuts what is left of it.
    std::ignore = result_.cut(before.result);
    std::ignore = details_.cut(before.details);
    if (maps_.fd) std::ignore = maps_.cut(before.maps);
  }
  return written;
}

Result<CsvSizes> CsvPair::finish() {
  if (const Result<void> written = flush(); !written) return propagate(written);
  for (const File* file : {&details_, &result_}) {
    if (const Result<void> synced = file->sync(); !synced) return propagate(synced);
  }
  if (maps_.fd) {
    if (const Result<void> synced = maps_.sync(); !synced) return propagate(synced);
  }
  return CsvSizes{result_.size, details_.size, maps_.size};
}

}  // namespace msprobe::journal
