// SPDX-License-Identifier: Apache-2.0
#include "torchair/tensor_data.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include <fmt/format.h>

#include "core/shrunken_file.h"
#include "ge/joined.h"
#include "measure/widen.h"

namespace msprobe::torchair {
namespace {

template <class List>
auto element_at(const List& list, std::uint32_t index, std::string_view what)
    -> Result<const typename List::value_type*> {
  if (index < list.size()) return &list[index];
  return fail(ErrorKind::kFormat, fmt::format("the file has no {} {}", what, index));
}

const std::vector<ge::DumpTensor>& tensors_of(const ge::DumpFile& dump, DumpSide side) {
  return side == DumpSide::kInput ? dump.inputs : dump.outputs;
}

// Tensors are numbered from 0 on each side, without gaps.
Result<void> check_order(const std::vector<ge::TensorStatistics>& rows) {
  std::size_t inputs = 0;
  std::size_t outputs = 0;
  for (const ge::TensorStatistics& row : rows) {
    std::size_t& seen = row.is_output ? outputs : inputs;
    if (row.index != seen) {
      return fail(ErrorKind::kFormat,
                  fmt::format("{} {} follows {} others", row.is_output ? "output" : "input",
                              row.index, seen));
    }
    ++seen;
  }
  return {};
}

// Whether `other` is the minimum (or maximum) of two; a NaN of either stays.
bool replaces(double other, double value, bool lesser) {
  return std::isnan(other) || (lesser ? other < value : other > value);
}

// Minimum and maximum of slices are those of the whole, however it was cut. Other values cannot be
// put together: nothing is left of them.
void join_info(InfoFile& whole, const InfoFile& slice) {
  const auto join = [](std::vector<InfoValues>& values, const std::vector<InfoValues>& others) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (!is_range(values[i]) || !is_range(others[i])) {
        values[i].clear();
        continue;
      }
      const auto take = [&](std::size_t k, bool lesser) {
        if (replaces(others[i][k], values[i][k], lesser)) values[i][k] = others[i][k];
      };
      take(0, true);
      take(1, false);
    }
  };
  join(whole.inputs, slice.inputs);
  join(whole.outputs, slice.outputs);
}

// As above; mean, norm and shape depend on how it was cut, which these files do not say.
void join_statistics(std::vector<ge::TensorStatistics>& whole,
                     const std::vector<ge::TensorStatistics>& slice) {
  for (std::size_t i = 0; i < whole.size() && i < slice.size(); ++i) {
    const auto take = [](std::optional<double>& value, const std::optional<double>& other,
                         bool lesser) {
      if (!value || !other) {
        value.reset();
      } else if (replaces(*other, *value, lesser)) {
        value = other;
      }
    };
    take(whole[i].max, slice[i].max, false);
    take(whole[i].min, slice[i].min, true);
    whole[i].mean.reset();
    whole[i].l2_norm.reset();
    whole[i].nan_count.reset();
    whole[i].shape.reset();
  }
}

}  // namespace

std::string_view name(DumpSide side) { return side == DumpSide::kInput ? "input" : "output"; }

Result<GeData> GeData::open(const std::filesystem::path& path, ge::FileKind kind,
                            DumpFiles& files) {
  GeData data;
  Result<FileBytes> file = files.load(path);
  if (!file) return propagate(file);
  if (kind == ge::FileKind::kStatistics) {
    Result<std::vector<ge::TensorStatistics>> rows = ge::read_statistics(file->text());
    if (!rows) return propagate(rows);
    if (const auto ordered = check_order(*rows); !ordered) return propagate(ordered);
    data.statistics_ = std::move(*rows);
  } else if (kind == ge::FileKind::kInfo) {
    Result<InfoFile> info = read_info_file(*file, path.filename().string());
    if (!info) return propagate(info);
    data.info_ = std::move(*info);
  } else {
    Result<ge::DumpFile> dump = ge::read_dump_file(*file);
    if (!dump) return propagate(dump);
    data.files_.push_back({path, std::move(*file), std::move(*dump)});
  }
  return data;
}

Result<GeData> GeData::join(std::span<const Slice> slices) {
  GeData whole = *slices.front().data;
  whole.is_joined_ = true;
  std::vector<std::uint32_t> numbers{slices.front().number};
  for (const Slice& slice : slices.subspan(1)) {
    const GeData& part = *slice.data;
    if (whole.tensors(DumpSide::kInput) != part.tensors(DumpSide::kInput) ||
        whole.tensors(DumpSide::kOutput) != part.tensors(DumpSide::kOutput)) {
      return fail(ErrorKind::kFormat,
                  fmt::format("{} has other tensors than the first slice", slice.name));
    }
    numbers.push_back(slice.number);
    if (whole.info_) join_info(*whole.info_, *part.info_);
    if (whole.statistics_) join_statistics(*whole.statistics_, *part.statistics_);
    std::ranges::copy(part.files_, std::back_inserter(whole.files_));
  }
  if (whole.files_.empty()) return whole;
  const Result<ge::SliceInfo> cut = ge::read_slice_info(whole.files_.front().dump);
  if (!cut) return propagate(cut);
  whole.plan_ = ge::plan_join(*cut, numbers, whole.tensors(DumpSide::kInput),
                              whole.tensors(DumpSide::kOutput));
  return whole;
}

bool GeData::has_shrunk() const {
  return std::ranges::any_of(
      files_, [](const File& file) { return msprobe::has_shrunk(file.path, file.bytes); });
}

std::size_t GeData::tensors(DumpSide side) const {
  if (statistics_) {
    return static_cast<std::size_t>(std::ranges::count(*statistics_, side == DumpSide::kOutput,
                                                       &ge::TensorStatistics::is_output));
  }
  if (info_) return side == DumpSide::kInput ? info_->inputs.size() : info_->outputs.size();
  return tensors_of(files_.front().dump, side).size();
}

const ge::JoinedTensor* GeData::plan_of(DumpSide side, std::uint32_t index) const {
  const auto& plans = side == DumpSide::kInput ? plan_.inputs : plan_.outputs;
  return index < plans.size() ? &plans[index] : nullptr;
}

const ge::TensorStatistics* GeData::statistics_of(DumpSide side, std::uint32_t index) const {
  const auto row = std::ranges::find_if(*statistics_, [&](const ge::TensorStatistics& other) {
    return other.is_output == (side == DumpSide::kOutput) && other.index == index;
  });
  return row == statistics_->end() ? nullptr : &*row;
}

std::vector<GeTensorInfo> GeData::infos(DumpSide side) const {
  std::vector<GeTensorInfo> infos;
  for (std::uint32_t i = 0; i < tensors(side); ++i) infos.push_back(info_of(side, i));
  return infos;
}

GeTensorInfo GeData::info_of(DumpSide side, std::uint32_t index) const {
  GeTensorInfo info;
  if (statistics_) {
    const ge::TensorStatistics& row = *statistics_of(side, index);
    info.dtype = row.type_text;
    if (!is_joined_) info.shape = row.shape;
    if (!is_joined_ && row.format != "ND") info.format = row.format;
    return info;
  }
  if (info_) {
    const InfoValues& values = (side == DumpSide::kInput ? info_->inputs : info_->outputs)[index];
    if (is_joined_ && values.empty()) {
      info.unknown = "converted values of slices are put together only as minimum and maximum";
    }
    return info;
  }
  const ge::DumpTensor& tensor = tensors_of(files_.front().dump, side)[index];
  info.original_op = tensor.original_op;
  if (const ge::ElementType* type = ge::element_type(tensor.type)) info.dtype = type->text;
  if (const ge::JoinedTensor* plan = plan_of(side, index)) info.unknown = plan->unknown;
  const Result<ge::Elements> elements = info.unknown.empty()
                                            ? this->elements(side, index)
                                            : ge::elements_of(tensor, files_.front().bytes);
  if (elements) {
    info.format = elements->format;
    if (info.unknown.empty()) info.shape = elements->shape;
  } else if (info.unknown.empty()) {
    info.problem = elements.error().message;
    if (tensor.absent && !is_joined_) {
      info.shape = tensor.original_shape.empty() ? tensor.shape : tensor.original_shape;
    }
  }
  return info;
}

Result<ge::Elements> GeData::elements(DumpSide side, std::uint32_t index) const {
  const ge::JoinedTensor* const plan = plan_of(side, index);
  if (plan != nullptr && !plan->unknown.empty()) {
    return fail(ErrorKind::kUnsupported, plan->unknown);
  }
  std::vector<ge::TensorSlice> slices;
  for (const std::size_t i : plan != nullptr ? plan->slices : std::vector<std::size_t>{0}) {
    const auto tensor = element_at(tensors_of(files_[i].dump, side), index, name(side));
    if (!tensor) return propagate(tensor);
    if ((*tensor)->absent) {
      return fail(ErrorKind::kFormat, "the file has no bytes for this tensor (address 0)");
    }
    slices.push_back({*tensor, files_[i].bytes});
  }
  if (slices.size() > 1) return ge::join_slices(slices, plan->axis);
  return ge::elements_of(*slices.front().tensor, slices.front().file);
}

Result<TensorData> GeData::tensor(DumpSide side, std::uint32_t index) const {
  TensorData found;
  if (statistics_) {
    const ge::TensorStatistics* const row = statistics_of(side, index);
    if (row == nullptr) {
      return fail(ErrorKind::kFormat, fmt::format("the file has no {} {}", name(side), index));
    }
    found.statistics = *row;
  } else if (info_) {
    const auto values =
        element_at(side == DumpSide::kInput ? info_->inputs : info_->outputs, index, name(side));
    if (!values) return propagate(values);
    found.info = **values;
  } else {
    Result<ge::Elements> of_tensor = elements(side, index);
    if (!of_tensor) return propagate(of_tensor);
    found.elements = std::move(*of_tensor);
  }
  return found;
}

Result<TensorData> open_array(const std::filesystem::path& path, bool is_info, DumpFiles& files) {
  const Result<FileBytes> file = files.load(path);
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
