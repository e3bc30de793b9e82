// SPDX-License-Identifier: Apache-2.0
#include "torchair/info_file.h"

#include <algorithm>
#include <complex>
#include <span>
#include <string>

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

}  // namespace msprobe::torchair
