// SPDX-License-Identifier: Apache-2.0
#include "journal/merge_shards.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/file.h"
#include "core/look_up.h"
#include "core/shell_words.h"
#include "journal/journal.h"
#include "journal/map_file.h"
#include "journal/resume.h"
#include "journal/run_file.h"
#include "journal/shard.h"

namespace msprobe::journal {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kNamedMissing = 20;

// One shard as its files tell of it.
struct Part {
  fs::path run_path;
  RunFile run;
  Shard shard;
  CsvPairFormat format;
  CsvPaths paths;
};

bool is_run_file(const fs::path& path) {
  const std::string name = path.filename().string();
  return name.starts_with(kRunFileStart) && name.ends_with(kRunFileSuffix);
}

Result<std::vector<fs::path>> find_run_files(const fs::path& directory) {
  const auto entries = list_directory(directory);
  if (!entries) return propagate(entries);
  std::vector<fs::path> found;
  for (const fs::directory_entry& entry : *entries) {
    if (is_run_file(entry.path())) found.push_back(entry.path());
  }
  if (found.empty()) {
    return fail(ErrorKind::kUsage, fmt::format("{}: no results of acc_check (no {}*{})",
                                               directory.string(), kRunFileStart, kRunFileSuffix));
  }
  return found;
}

Result<Part> read_part(const fs::path& path, const ShardsToMerge& shards) {
  Result<RunFile> run = RunFile::inspect(path);
  if (!run) return propagate(run);
  const Result<Shard> shard = parse_shard(run->fact(kShardFact));
  if (!shard || shard->whole()) {
    return fail(ErrorKind::kUsage,
                fmt::format("{}: a whole check, not a shard of one; there is nothing to merge",
                            path.string()));
  }
  CsvPairFormat format = shards.format_of(*run);
  const std::string name = path.filename().string();
  const std::string stamp =
      name.substr(kRunFileStart.size(), name.size() - kRunFileStart.size() - kRunFileSuffix.size());
  CsvPaths paths = csv_paths(path.parent_path(), stamp, format.names);
  std::error_code error;
  const FinishedSizes now{fs::file_size(paths.result, error), fs::file_size(paths.details, error)};
  if (!run->finished()) {
    return fail(ErrorKind::kUsage,
                fmt::format("{}: shard {} is not finished; continue it with -csv_path {}",
                            path.string(), text(*shard), shell_path(paths.result)));
  }
  if (error || run->finished() != now) {
    return fail(ErrorKind::kUsage,
                fmt::format("{}: the CSVs of shard {} were changed or cut off; "
                            "-csv_path {} repairs them",
                            path.string(), text(*shard), shell_path(paths.result)));
  }
  return Part{path, std::move(*run), *shard, std::move(format), std::move(paths)};
}

Result<std::vector<Part>> read_parts(const ShardsToMerge& shards) {
  std::vector<Part> parts;
  for (const fs::path& directory : shards.directories) {
    const Result<std::vector<fs::path>> files = find_run_files(directory);
    if (!files) return propagate(files);
    for (const fs::path& file : *files) {
      Result<Part> part = read_part(file, shards);
      if (!part) return propagate(part);
      parts.push_back(std::move(*part));
    }
  }
  std::ranges::sort(parts, {}, [](const Part& part) {
    return std::pair(part.shard.number, part.run_path.native());
  });
  return parts;
}

Result<void> check_same_run(const Part& first, const Part& other) {
  for (const auto& [key, value] : first.run.facts()) {
    if (key == kShardFact && first.shard.count == other.shard.count) continue;
    if (key.starts_with(kFreeFact) || other.run.fact(key) == value) continue;
    return fail(ErrorKind::kUsage,
                fmt::format("{} and {} come from different checks: {} '{}' and '{}'",
                            first.run_path.string(), other.run_path.string(), key, value,
                            other.run.fact(key)));
  }
  return {};
}

// Every shard of the check, once.
Result<void> check_complete(const std::vector<Part>& parts) {
  std::vector<std::size_t> missing;
  std::size_t wanted = 1;
  const std::size_t count = parts.front().shard.count;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (const auto same = check_same_run(parts.front(), parts[i]); !same) return same;
    if (i > 0 && parts[i].shard == parts[i - 1].shard) {
      return fail(ErrorKind::kUsage,
                  fmt::format("shard {} is given twice: {} and {}", text(parts[i].shard),
                              parts[i - 1].run_path.string(), parts[i].run_path.string()));
    }
    while (wanted < parts[i].shard.number) missing.push_back(wanted++);
    ++wanted;
  }
  while (wanted <= count) missing.push_back(wanted++);
  if (missing.empty()) return {};
  const std::size_t lacking = missing.size();
  const bool more = lacking > kNamedMissing;
  missing.resize(std::min(lacking, kNamedMissing));
  return fail(ErrorKind::kUsage, fmt::format("{} of {} shards {} missing: {}{}", lacking, count,
                                             lacking == 1 ? "is" : "are", fmt::join(missing, ", "),
                                             more ? ", ..." : ""));
}

// As if one machine had done it all.
RunFacts facts_of_whole(const RunFile& run) {
  RunFacts facts = run.facts();
  for (auto& [key, value] : facts) {
    if (key == kShardFact) value = text(Shard{});
  }
  return facts;
}

Result<void> append_part(const Part& part, const CsvHeaders& headers, const ShardsToMerge& shards,
                         Journal& journal) {
  const Result<FileBytes> result = load_file(part.paths.result);
  if (!result) return propagate(result);
  const Result<FileBytes> details = load_file(part.paths.details);
  if (!details) return propagate(details);
  const Result<void> rows = read_finished(
      {part.paths, result->text(), details->text(), headers, true, part.format.style}, shards.show);
  if (!rows) return rows;
  const Result<FileBytes> maps = load_maps(part.paths);
  if (!maps) return propagate(maps);
  journal.add({details->text().substr(headers.details.size()),
               result->text().substr(headers.result.size()), maps->text()},
              0);
  return journal.flush();
}

}  // namespace

Result<MergedShards> merge_shards(const ShardsToMerge& shards) {
  const Result<std::vector<Part>> parts = read_parts(shards);
  if (!parts) return propagate(parts);
  if (const Result<void> complete = check_complete(*parts); !complete) return propagate(complete);
  const Part& first = parts->front();
  Result<Journal> journal = Journal::create(shards.out_directory, shards.timestamp,
                                            {first.format, facts_of_whole(first.run), {}});
  if (!journal) return propagate(journal);
  for (const Part& part : *parts) {
    if (const Result<void> added = append_part(part, first.format.headers, shards, *journal);
        !added) {
      return propagate(added);
    }
  }
  if (const Result<void> finished = journal->finish(); !finished) return propagate(finished);
  return MergedShards{journal->paths(), first.run.facts(), parts->size()};
}

}  // namespace msprobe::journal
