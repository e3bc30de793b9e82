// SPDX-License-Identifier: Apache-2.0
#include "dump/tensor_file.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/aligned_memory.h"
#include "dump/npy.h"
#include "dump/pt.h"

namespace msprobe::dump {
namespace {

// An archive of arrays counts as a tensor file when it holds one array.
Result<Tensor> read_only_array(const FileBytes& file, std::string_view name) {
  const Result<std::vector<std::string>> arrays = list_npz(file, name);
  if (!arrays) return propagate(arrays);
  if (arrays->size() == 1) return read_npz(file, arrays->front(), name);
  return fail(ErrorKind::kFormat,
              fmt::format("{}: {} arrays in the archive, expected one", name, arrays->size()));
}

struct SuffixRow {
  std::string_view suffix;
  Result<Tensor> (*read)(const FileBytes& file, std::string_view name);
};

constexpr std::string_view kSavedSuffix = ".pt";

Result<Tensor> read_saved(const FileBytes& file, std::string_view name) {
  return read_pt(file, name);
}

constexpr SuffixRow kSuffixes[] = {
    {kSavedSuffix, &read_saved},
    {".npy", &read_npy},
    {".npz", &read_only_array},
};

// Enough for what a file holds beside its numbers.
constexpr std::size_t kBesideNumbers = std::size_t{64} << 10;

Result<FileBytes> load_expected(const Directory& directory, std::string_view name,
                                std::size_t size_bytes) {
  return directory.load(name, SIZE_MAX, std::max(kMapFrom, size_bytes + kBesideNumbers));
}

Result<Tensor> parse_apart(const FileBytes& file, std::string_view name) {
  Result<Tensor> tensor = parse_tensor_file(file, name);
  if (!tensor || !file.mapped || tensor->owner != file.owner) return tensor;
  const std::shared_ptr<std::byte[]> memory = aligned_memory(tensor->bytes.size());
  std::ranges::copy(tensor->bytes, memory.get());
  tensor->bytes = {memory.get(), tensor->bytes.size()};
  tensor->owner = memory;
  return tensor;
}

}  // namespace

Result<Tensor> parse_tensor_file(const FileBytes& file, std::string_view name) {
  for (const SuffixRow& row : kSuffixes) {
    if (name.ends_with(row.suffix)) return row.read(file, name);
  }
  return fail(ErrorKind::kFormat, fmt::format("The file: {} is not a pt or numpy file.", name));
}

Result<Tensor> parse_tensor_file(const FileBytes& file, std::string_view name, LateChecksum& late) {
  return name.ends_with(kSavedSuffix) ? read_pt(file, name, &late) : parse_tensor_file(file, name);
}

Result<Tensor> load_tensor_file(const std::filesystem::path& path) {
  const Result<FileBytes> file = load_file(path);
  if (!file) return propagate(file);
  return parse_tensor_file(*file, path.string());
}

Result<Tensor> load_tensor_file(const Directory& directory, std::string_view name,
                                std::size_t size_bytes) {
  const Result<FileBytes> file = load_expected(directory, name, size_bytes);
  if (!file) return propagate(file);
  return parse_apart(*file, name);
}

Result<Tensor> load_moved_tensor_file(const Directory& directory, std::string_view recorded_path,
                                      std::size_t size_bytes) {
  const std::string here = directory.path().string() + "/";
  std::string_view end = recorded_path;
  if (end.starts_with(here)) end.remove_prefix(here.size());
  while (true) {
    end.remove_prefix(std::min(end.find_first_not_of('/'), end.size()));
    Result<FileBytes> file = load_expected(directory, end, size_bytes);
    if (file) return parse_apart(*file, end);
    if (file.error().kind != ErrorKind::kIo) return propagate(file);
    const std::size_t slash = end.find('/');
    if (slash == std::string_view::npos) break;
    end.remove_prefix(slash);
  }
  return fail(
      ErrorKind::kIo,
      fmt::format("{}: no such file below the data directory (--data_path names another)", end));
}

}  // namespace msprobe::dump
