// SPDX-License-Identifier: Apache-2.0
#include "core/path_check.h"

#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>

#include <fmt/format.h>
#include <unistd.h>

#include "core/new_file.h"

namespace msprobe {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxPathLength = 4096;
constexpr std::size_t kMaxNameLength = 255;
constexpr int kMaxNewLevels = 16;
constexpr std::uintmax_t kGiB = std::uintmax_t{1} << 30;

// Largest size of each kind of file; a file of exactly this size is too large.
std::uintmax_t size_limit(const fs::path& path) {
  const std::string suffix = path.extension().string();
  const bool table = suffix == ".csv" || suffix == ".xlsx" || suffix == ".yaml" || suffix == ".pkl";
  return (table ? 1 : 10) * kGiB;
}

Result<fs::path> check_length(const fs::path& path) {
  if (path.native().size() > kMaxPathLength || path.filename().native().size() > kMaxNameLength) {
    return fail(ErrorKind::kUsage,
                fmt::format("The file path length exceeds limit ({} characters, {} in a name).",
                            kMaxPathLength, kMaxNameLength));
  }
  return path;
}

// A quoted ~ reaches the program as it is.
std::string tilde_advice(const fs::path& path) {
  if (!path.native().starts_with('~')) return {};
  return " The shell did not replace the ~: leave out the quotes, or write $HOME instead.";
}

// Line breaks and other control characters would tear tables and logs apart.
Result<fs::path> check_characters(const fs::path& path) {
  for (const char c : path.native()) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) {
      return fail(ErrorKind::kUsage,
                  fmt::format("The file path {} contains special characters: byte 0x{:02x} "
                              "(control characters, such as line breaks, are not allowed)",
                              path.string(), byte));
    }
  }
  return path;
}

// The path without links.
Result<fs::path> check_existing(const fs::path& path) {
  std::error_code error;
  if (!fs::exists(path, error)) {
    if (error == std::errc::permission_denied) {
      return fail(ErrorKind::kIo, fmt::format("The file path {} is not readable: a directory in it "
                                              "cannot be entered ({}).",
                                              path.string(), error.message()));
    }
    return fail(ErrorKind::kUsage, fmt::format("The file path {} does not exist.{}", path.string(),
                                               tilde_advice(path)));
  }
  const fs::path real = fs::canonical(path, error);
  if (error) {
    return fail(ErrorKind::kIo,
                fmt::format("The file path {}: {}", path.string(), error.message()));
  }
  return check_length(real);
}

}  // namespace

Result<fs::path> check_input_file(const fs::path& path, const InputFileRules& rules) {
  const Result<fs::path> found = check_existing(path);
  if (!found) return found;
  const fs::path& real = *found;
  std::error_code error;
  if (!fs::is_regular_file(real, error)) {
    return fail(ErrorKind::kUsage, fmt::format("The {} should be a file!", path.string()));
  }
  if (::access(real.c_str(), R_OK) != 0) {
    return fail(ErrorKind::kIo, fmt::format("The file path {} is not readable.", path.string()));
  }
  if (rules.writable && ::access(real.c_str(), W_OK) != 0) {
    return fail(ErrorKind::kIo, fmt::format("The file path {} is not writable.", path.string()));
  }
  if (auto checked = check_characters(real); !checked) return checked;
  const std::uintmax_t size = fs::file_size(real, error);
  if (error) return fail(ErrorKind::kIo, fmt::format("{}: {}", path.string(), error.message()));
  if (const std::uintmax_t limit = size_limit(real); size >= limit) {
    return fail(ErrorKind::kUsage,
                fmt::format("The size ({}) of {} exceeds ({}) bytes, not supported.", size,
                            path.string(), limit));
  }
  if (!rules.suffix.empty() && !real.native().ends_with(rules.suffix)) {
    return fail(ErrorKind::kUsage,
                fmt::format("{} should be a file of type {}!", path.string(), rules.suffix));
  }
  return real;
}

Result<fs::path> check_input_directory(const fs::path& path) {
  const Result<fs::path> found = check_existing(path);
  if (!found) return found;
  const fs::path& real = *found;
  std::error_code error;
  if (!fs::is_directory(real, error)) {
    return fail(ErrorKind::kUsage, fmt::format("The {} should be a directory!", path.string()));
  }
  if (::access(real.c_str(), R_OK | X_OK) != 0) {
    return fail(ErrorKind::kIo, fmt::format("The file path {} is not readable.", path.string()));
  }
  return check_characters(real);
}

Result<fs::path> prepare_output_directory(const fs::path& path) {
  std::error_code error;
  if (path.native() == "~" || path.native().starts_with("~/")) {
    return fail(ErrorKind::kUsage, fmt::format("The directory {} is not meant as it is written.{}",
                                               path.string(), tilde_advice(path)));
  }
  const fs::path real = fs::weakly_canonical(fs::absolute(path.empty() ? "." : path), error);
  if (error) return fail(ErrorKind::kIo, fmt::format("{}: {}", path.string(), error.message()));
  if (auto checked = check_length(real); !checked) return checked;
  if (auto checked = check_characters(real); !checked) return checked;
  int new_levels = 0;
  for (fs::path part = real; !part.empty() && !fs::exists(part, error); part = part.parent_path()) {
    ++new_levels;
  }
  if (new_levels > kMaxNewLevels) {
    return fail(ErrorKind::kUsage,
                fmt::format("{}: {} directories would have to be created, the limit is {}",
                            path.string(), new_levels, kMaxNewLevels));
  }
  const Result<void> made = make_directories(real);
  if (!made || !fs::is_directory(real, error)) {
    return fail(ErrorKind::kIo,
                fmt::format("The {} cannot be used as a directory: {}", path.string(),
                            made ? "it is a file" : std::strerror(errno)));
  }
  if (::access(real.c_str(), W_OK | X_OK) != 0) {
    return fail(ErrorKind::kIo, fmt::format("The file path {} is not writable.", path.string()));
  }
  return real;
}

}  // namespace msprobe
