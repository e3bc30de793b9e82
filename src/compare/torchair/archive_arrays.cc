// SPDX-License-Identifier: Apache-2.0
#include "torchair/archive_arrays.h"

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "core/new_file.h"
#include "dump/npy.h"
#include "torchair/info_writer.h"

namespace msprobe::torchair {
namespace {

// A shape may promise any number of empty tensors.
constexpr std::size_t kMostTensors = 1 << 16;

struct ArchiveSide {
  std::string_view array, file;
};
constexpr ArchiveSide kArchiveSides[] = {{"inputs", "input"}, {"outputs", "output"}};

Result<bool> write_rows(const Tensor& tensor, std::string_view side, std::string_view shown,
                        const std::filesystem::path& directory) {
  if (tensor.shape.empty()) {
    return fail(ErrorKind::kFormat,
                fmt::format("{}: a single value, expected the tensors along a dimension", shown));
  }
  const auto count = static_cast<std::size_t>(tensor.shape.front());
  if (count > kMostTensors) {
    return fail(ErrorKind::kFormat,
                fmt::format("{}: {} tensors, at most {} can be read", shown, count, kMostTensors));
  }
  const Shape shape(tensor.shape.begin() + 1, tensor.shape.end());
  const std::size_t each = count == 0 ? 0 : tensor.bytes.size() / count;
  for (std::size_t i = 0; i < count; ++i) {
    const std::span<const std::byte> bytes = tensor.bytes.subspan(i * each, each);
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    Result<NewFile> out = NewFile::create(directory / fmt::format("{}.{}.npy", side, i));
    if (!out) return propagate(out);
    Result<void> written = out->write(npy_header(tensor.dtype, shape));
    if (written) written = out->write(text);
    if (written) written = out->commit();
    if (!written) return propagate(written);
  }
  return true;
}

}  // namespace

Result<bool> write_archive_arrays(const FileBytes& file, const std::filesystem::path& path,
                                  const std::filesystem::path& directory) {
  const Result<std::vector<std::string>> arrays = dump::list_npz(file, path.string());
  if (!arrays) return propagate(arrays);
  bool found = false;
  for (const ArchiveSide& side : kArchiveSides) {
    if (std::ranges::find(*arrays, side.array) == arrays->end()) continue;
    found = true;
    const Result<Tensor> tensor = dump::read_npz(file, side.array, path.string());
    if (!tensor) return propagate(tensor);
    const std::string shown = fmt::format("{}: {}", path.string(), side.array);
    if (const auto done = write_rows(*tensor, side.file, shown, directory); !done) return done;
  }
  if (!found) {
    return fail(ErrorKind::kFormat,
                path.string() + ": neither 'inputs' nor 'outputs' is in the archive");
  }
  return true;
}

}  // namespace msprobe::torchair
