// SPDX-License-Identifier: Apache-2.0
// accuracy_checking_run_{timestamp}.txt beside the CSV pair: what the run was made of, so that
// another dump or other options are refused when it is continued; and the lock that keeps two runs
// off one output.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/call_command.h"
#include "core/descriptor.h"
#include "core/result.h"

namespace msprobe::journal {

inline constexpr std::string_view kRunFileStart = "accuracy_checking_run_";
inline constexpr std::string_view kRunFileSuffix = ".txt";

// Everything that changes rows, in a fixed order: {"dump", "8e4d..."}, {"seed", "1234"}.
using RunFacts = std::vector<std::pair<std::string, std::string>>;

// Sizes of the finished pair.
struct FinishedSizes {
  std::uint64_t result = 0;
  std::uint64_t details = 0;
  bool operator==(const FinishedSizes&) const = default;
};

// Holds the lock while it lives; the kernel lets go of it when the process dies.
class RunFile {
 public:
  // Fails with kUsage when the file is there already.
  static Result<RunFile> create(const std::filesystem::path& path, const RunFacts& facts);
  // Fails when another process holds it or when a fact differs.
  static Result<RunFile> open(const std::filesystem::path& path, const RunFacts& facts);
  // Reads a file of a run that nobody continues meanwhile; it is not to be marked.
  static Result<RunFile> inspect(const std::filesystem::path& path);

  // What the file says of a fact that create() was given; empty: nothing.
  std::string_view fact(std::string_view key) const;
  const RunFacts& facts() const { return facts_; }
  const std::optional<FinishedSizes>& finished() const { return finished_; }
  Result<void> mark_finished(const FinishedSizes& sizes);
  // Takes the file away again.
  void remove() const;

 private:
  RunFile(std::filesystem::path path, Descriptor fd) : path_(std::move(path)), fd_(std::move(fd)) {}
  Result<void> lock(int how) const;
  Result<void> append(std::string_view text) const;
  Result<void> read();
  Result<void> compare(const RunFacts& facts) const;

  std::filesystem::path path_;
  Descriptor fd_;
  RunFacts facts_;
  std::optional<FinishedSizes> finished_;
};

// The fact that says which shard of a check it is; see shard.h.
inline constexpr std::string_view kShardFact = "shard";

// Facts that may differ when a run is continued: they start with this.
inline constexpr std::string_view kFreeFact = "as_given_";

// Adds the command that checks one call again, a fact for each of its words.
void add_rerun(RunFacts& facts, const CallCommand& rerun);

// That command; an empty one if there is none. Fails if what is there is not a command that
// add_rerun() would have written: whoever wrote the file wants it to be run.
Result<CallCommand> rerun_of(const RunFacts& facts);

}  // namespace msprobe::journal
