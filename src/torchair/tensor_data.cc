#include "torchair/tensor_data.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/file.h"
#include "measure/widen.h"

namespace msprobe::torchair {
namespace {

template <class List>
auto element_at(const List& list, std::uint32_t index, std::string_view what)
    -> Result<const typename List::value_type*> {
  if (index < list.size()) return &list[index];
  return fail(ErrorKind::kFormat, fmt::format("the file has no {} {}", what, index));
}

}  // namespace

Result<GeData> GeData::open(const std::filesystem::path& path, ge::FileKind kind) {
  GeData data;
  Result<FileBytes> file = load_file(path);
  if (!file) return propagate(file);
  data.file_ = *file;
  if (kind == ge::FileKind::kStatistics) {
    Result<std::vector<ge::TensorStatistics>> rows = ge::read_statistics(file->text());
    if (!rows) return propagate(rows);
    data.statistics_ = std::move(*rows);
  } else if (kind == ge::FileKind::kInfo) {
    Result<InfoFile> info = read_info_file(*file, path.filename().string());
    if (!info) return propagate(info);
    data.info_ = std::move(*info);
  } else {
    Result<ge::DumpFile> dump = ge::read_dump_file(*file);
    if (!dump) return propagate(dump);
    data.dump_ = std::move(*dump);
  }
  return data;
}

Result<TensorData> GeData::tensor(Side side, std::uint32_t index) const {
  TensorData found;
  if (statistics_) {
    const auto row = std::ranges::find_if(*statistics_, [&](const ge::TensorStatistics& other) {
      return other.is_output == (side == Side::kOutput) && other.index == index;
    });
    if (row == statistics_->end()) {
      return fail(ErrorKind::kFormat, fmt::format("the file has no {} {}", name(side), index));
    }
    found.statistics = *row;
  } else if (info_) {
    const auto values =
        element_at(side == Side::kInput ? info_->inputs : info_->outputs, index, name(side));
    if (!values) return propagate(values);
    found.info = **values;
  } else {
    const auto tensor =
        element_at(side == Side::kInput ? dump_->inputs : dump_->outputs, index, name(side));
    if (!tensor) return propagate(tensor);
    if ((*tensor)->absent)
      return fail(ErrorKind::kFormat, "the file has no bytes for this tensor (address 0)");
    Result<ge::Elements> elements = ge::elements_of(**tensor, file_);
    if (!elements) return propagate(elements);
    found.elements = std::move(*elements);
  }
  return found;
}

Result<TensorData> open_ge(const std::filesystem::path& path, ge::FileKind kind, Side side,
                           std::uint32_t index) {
  const Result<GeData> data = GeData::open(path, kind);
  if (!data) return propagate(data);
  return data->tensor(side, index);
}

Result<TensorData> open_array(const std::filesystem::path& path, bool is_info) {
  const Result<FileBytes> file = load_file(path);
  if (!file) return propagate(file);
  const std::string name = path.filename().string();
  TensorData found;
  if (is_info) {
    Result<InfoValues> values = read_info_array(*file, name);
    if (!values) return propagate(values);
    found.info = std::move(*values);
  } else {
    Result<ge::Elements> elements = ge::elements_of_npy(*file, name);
    if (!elements) return propagate(elements);
    found.elements = std::move(*elements);
  }
  return found;
}

std::vector<double> all_values(const ge::Elements& elements) {
  std::vector<std::byte> bytes(elements.count * size_bytes(elements.dtype));
  ge::read_elements(elements, 0, elements.count, bytes.data());
  std::vector<double> values(elements.count);
  measure::widen({elements.dtype, {}, bytes}, 0, values);
  return values;
}

}  // namespace msprobe::torchair
