#include "torchair/info_file.h"

#include <fmt/format.h>

#include "dump/npy.h"
#include "measure/widen.h"

namespace msprobe::torchair {
namespace {

Result<InfoValues> values_of(const Tensor& tensor, std::string_view name) {
  if (is_complex(tensor.dtype)) {
    return fail(ErrorKind::kUnsupported, fmt::format("{}: complex values have no order", name));
  }
  InfoValues values(tensor.view().numel());
  measure::widen(tensor.view(), 0, values);
  return values;
}

Result<std::vector<InfoValues>> read_side(const FileBytes& file, std::string_view side,
                                          std::string_view name) {
  const Result<Tensor> tensor = dump::read_npz(file, side, name);
  if (!tensor) return propagate(tensor);
  const Result<InfoValues> values = values_of(*tensor, name);
  if (!values) return propagate(values);
  std::vector<InfoValues> rows;
  if (values->empty()) return rows;
  const auto count =
      tensor->shape.empty() ? std::size_t{1} : static_cast<std::size_t>(tensor->shape.front());
  const std::size_t each = values->size() / count;
  for (std::size_t i = 0; i < count; ++i) {
    const auto first = values->begin() + static_cast<std::ptrdiff_t>(i * each);
    rows.emplace_back(first, first + static_cast<std::ptrdiff_t>(each));
  }
  return rows;
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
  return values_of(*tensor, name);
}

}  // namespace msprobe::torchair
