// SPDX-License-Identifier: Apache-2.0
#include "torchair/info_file.h"

#include <algorithm>
#include <complex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "core/crc32.h"
#include "core/new_file.h"
#include "core/stored_zip.h"
#include "dump/npy.h"
#include "measure/widen.h"

namespace msprobe::torchair {
namespace {

// An array that holds complex values of one tensor holds the real ones of others as complex too.
std::vector<InfoValues> rows_of(const Tensor& tensor, std::size_t count) {
  std::vector<std::complex<double>> values(tensor.view().numel());
  measure::widen(tensor.view(), 0, values);
  std::vector<InfoValues> rows(count);
  const std::size_t each = values.size() / count;
  for (std::size_t i = 0; i < count; ++i) {
    const auto row = std::span(values).subspan(i * each, each);
    if (std::ranges::all_of(row, [](const auto& value) { return value.imag() == 0; })) {
      for (const std::complex<double>& value : row) rows[i].push_back(value.real());
    }
  }
  return rows;
}

Result<std::vector<InfoValues>> read_side(const FileBytes& file, std::string_view side,
                                          std::string_view name) {
  const Result<Tensor> tensor = dump::read_npz(file, side, name);
  if (!tensor) return propagate(tensor);
  if (tensor->bytes.empty()) return std::vector<InfoValues>{};
  return rows_of(*tensor,
                 tensor->shape.empty() ? 1 : static_cast<std::size_t>(tensor->shape.front()));
}

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

Result<InfoFile> read_info_file(const FileBytes& file, std::string_view name) {
  Result<std::vector<InfoValues>> inputs = read_side(file, "inputs", name);
  if (!inputs) return propagate(inputs);
  Result<std::vector<InfoValues>> outputs = read_side(file, "outputs", name);
  if (!outputs) return propagate(outputs);
  return InfoFile{std::move(*inputs), std::move(*outputs)};
}

Result<InfoValues> read_info_array(const FileBytes& file, std::string_view name) {
  const Result<Tensor> tensor = dump::read_npy(file, name);
  if (!tensor) return propagate(tensor);
  return rows_of(*tensor, 1).front();
}

bool has_original(const std::filesystem::path& info) {
  const bool is_array = info.extension() == ".npy";
  std::string name = info.stem().string();
  const std::size_t field = name.rfind('.') == std::string::npos ? 0 : name.rfind('.') + 1;
  name.resize(std::min(name.find_first_not_of("0123456789", field), name.size()));
  if (is_array) name += ".npy";
  std::error_code ignored;
  return name != info.filename() && std::filesystem::exists(info.parent_path() / name, ignored);
}

std::string make_npz(const std::vector<std::pair<std::string, std::string>>& arrays) {
  std::vector<StoredMember> members;
  for (const auto& [array, content] : arrays) {
    members.push_back({array + ".npy", std::as_bytes(std::span(content)), crc32(content)});
  }
  std::string archive;
  const StoredZip zip = make_stored_zip(members, 1);
  for (const std::span<const std::byte> piece : zip.pieces) {
    archive.append(reinterpret_cast<const char*>(piece.data()), piece.size());
  }
  return archive;
}

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
