// SPDX-License-Identifier: Apache-2.0
#include "journal/run_file.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include "core/file.h"
#include "core/new_file.h"
#include "core/shell_words.h"

namespace msprobe::journal {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFirstLine = "msprobe acc_check, what this run is made of; do not edit";
constexpr std::string_view kFinished = "finished";
constexpr std::string_view kRerunWord = "as_given_word";
constexpr std::string_view kRerunText = "as_given_rerun";  // until 0.2.0: all words in one text
constexpr std::size_t kMaxBytes = std::size_t{64} << 20;

// One line per fact: what would break a line is spelled out.
std::string escaped(std::string_view text) {
  std::string line;
  for (const char c : text) {
    if (c == '\\' || c == '\n' || c == '\r') {
      line += c == '\\' ? "\\\\" : c == '\n' ? "\\n" : "\\r";
    } else {
      line += c;
    }
  }
  return line;
}

std::string unescaped(std::string_view line) {
  std::string text;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] != '\\' || i + 1 == line.size()) {
      text += line[i];
    } else {
      ++i;
      text += line[i] == 'n' ? '\n' : line[i] == 'r' ? '\r' : line[i];
    }
  }
  return text;
}

// "12 345"
std::optional<FinishedSizes> parse_sizes(std::string_view text) {
  FinishedSizes sizes;
  for (std::uint64_t* number : {&sizes.result, &sizes.details}) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
    if (error != std::errc()) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (text.starts_with(' ')) text.remove_prefix(1);
  }
  if (!text.empty()) return std::nullopt;
  return sizes;
}

Failure run_file_failure(const fs::path& path, std::string_view what) {
  return fail(ErrorKind::kIo, fmt::format("{}: {}: {}", path.string(), what, strerror(errno)));
}

}  // namespace

Result<RunFile> RunFile::create(const fs::path& path, const RunFacts& facts) {
  Descriptor fd = create_in_place(path, Reading::kYes);
  if (!fd && errno == EEXIST) {
    return fail(ErrorKind::kUsage, fmt::format("{} already exists", path.string()));
  }
  if (!fd) return run_file_failure(path, "cannot create");
  RunFile file(path, std::move(fd));
  if (const Result<void> locked = file.lock(LOCK_EX); !locked) return propagate(locked);
  std::string text = fmt::format("{}\n", kFirstLine);
  for (const auto& [key, value] : facts) text += fmt::format("{} {}\n", key, escaped(value));
  if (const Result<void> written = file.append(text); !written) {
    file.remove();  // half the facts would refuse the run they are of
    return propagate(written);
  }
  file.facts_ = facts;
  return file;
}

Result<RunFile> RunFile::open(const fs::path& path, const RunFacts& facts) {
  Descriptor fd = reopen_in_place(path, Reading::kYes, Writing::kAppends);
  if (!fd && errno == ENOENT) {
    return fail(ErrorKind::kUsage,
                fmt::format("{} is missing: without it, the dump and the options of these "
                            "results are unknown; start a new check",
                            path.string()));
  }
  if (!fd) return run_file_failure(path, "cannot open");
  RunFile file(path, std::move(fd));
  if (const Result<void> locked = file.lock(LOCK_EX); !locked) return propagate(locked);
  if (const Result<void> done = file.read(); !done) return propagate(done);
  if (const Result<void> same = file.compare(facts); !same) return propagate(same);
  return file;
}

Result<RunFile> RunFile::inspect(const fs::path& path) {
  Descriptor fd(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));  // not for a pipe
  if (!fd) return run_file_failure(path, "cannot open");
  RunFile file(path, std::move(fd));
  if (const Result<void> locked = file.lock(LOCK_SH); !locked) return propagate(locked);
  if (const Result<void> done = file.read(); !done) return propagate(done);
  return file;
}

Result<void> RunFile::lock(int how) const {
  if (::flock(fd_.get(), how | LOCK_NB) == 0) return {};
  if (errno != EWOULDBLOCK) return run_file_failure(path_, "cannot lock");
  return fail(ErrorKind::kUsage,
              fmt::format("{} is in use: another check is writing these results", path_.string()));
}

Result<void> RunFile::append(std::string_view text) const {
  if (write_fully(fd_.get(), text)) return {};
  return run_file_failure(path_, "cannot write");
}

Result<void> RunFile::read() {
  const Result<FileBytes> file = load_file(path_, kMaxBytes);
  if (!file) return propagate(file);
  std::string_view text = file->text();
  for (std::size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 1);
    if (line == kFirstLine) continue;
    const std::size_t space = line.find(' ');
    if (space == std::string_view::npos) continue;
    const std::string_view key = line.substr(0, space);
    if (key == kFinished) {
      finished_ = parse_sizes(line.substr(space + 1));
    } else {
      facts_.emplace_back(key, unescaped(line.substr(space + 1)));
    }
  }
  return {};
}

Result<void> RunFile::compare(const RunFacts& facts) const {
  for (const auto& [key, value] : facts) {
    if (key.starts_with(kFreeFact) || fact(key) == value) continue;
    if (key == "dump") {
      return fail(
          ErrorKind::kUsage,
          fmt::format("these results belong to another dump ({}: {}, this one is {}); start a "
                      "new check or name the dump they belong to",
                      path_.filename().string(), fact(key), value));
    }
    return fail(ErrorKind::kUsage,
                fmt::format("these results were made with {} '{}', not '{}'; continue with the "
                            "same, or start a new check",
                            key, fact(key), value));
  }
  return {};
}

std::string_view RunFile::fact(std::string_view key) const {
  for (const auto& [name, value] : facts_) {
    if (name == key) return value;
  }
  return {};
}

void RunFile::remove() const {
  std::error_code error;
  fs::remove(path_, error);
}

Result<void> RunFile::mark_finished(const FinishedSizes& sizes) {
  if (finished_ == sizes) return {};
  finished_ = sizes;
  // The line before it may be incomplete: its writer was killed.
  return append(fmt::format("\n{} {} {}\n", kFinished, sizes.result, sizes.details));
}

void add_rerun(RunFacts& facts, const CallCommand& rerun) {
  for (std::string& word : rerun.words()) facts.emplace_back(kRerunWord, std::move(word));
}

Result<CallCommand> rerun_of(const RunFacts& facts) {
  std::optional<std::vector<std::string>> words = std::vector<std::string>();
  for (const auto& [key, value] : facts) {
    if (key == kRerunText && !value.empty()) words = shell_split(value);
  }
  const auto is_word = [](const auto& fact) { return fact.first == kRerunWord; };
  if (std::ranges::any_of(facts, is_word)) {
    words.emplace();
    for (const auto& [key, value] : facts) {
      if (key == kRerunWord) words->push_back(value);
    }
  }
  if (words && words->empty()) return CallCommand();
  const std::optional<CallCommand> rerun = words ? CallCommand::parse(*words) : std::nullopt;
  if (rerun) return *rerun;
  return fail(ErrorKind::kFormat, "it names a command that msprobe does not write");
}

}  // namespace msprobe::journal
