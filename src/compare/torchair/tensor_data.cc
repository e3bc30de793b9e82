// SPDX-License-Identifier: Apache-2.0
#include "torchair/tensor_data.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include <fmt/format.h>

#include "core/file.h"
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

Result<GeData> GeData::open_one(const std::filesystem::path& path, ge::FileKind kind) {
  GeData data;
  Result<FileBytes> file = load_file(path);
  if (!file) return propagate(file);
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
    data.files_.push_back({path, std::move(*file), std::move(*dump)});
  }
  return data;
}

Result<GeData> GeData::open(const GeSource& source) {
  if (source.slices.empty()) return open_one(source.path, source.kind);
  std::optional<GeData> whole;
  for (const GeSource::Slice& slice : source.slices) {
    Result<GeData> part = open_one(slice.path, source.kind);
    if (!part) return propagate(part, slice.path.filename().string());
    if (!whole) {
      whole = std::move(*part);
      continue;
    }
    if (whole->tensors(DumpSide::kInput) != part->tensors(DumpSide::kInput) ||
        whole->tensors(DumpSide::kOutput) != part->tensors(DumpSide::kOutput)) {
      return fail(ErrorKind::kFormat, fmt::format("{} has other tensors than the first slice",
                                                  slice.path.filename().string()));
    }
    if (whole->info_) join_info(*whole->info_, *part->info_);
    if (whole->statistics_) join_statistics(*whole->statistics_, *part->statistics_);
    std::ranges::move(part->files_, std::back_inserter(whole->files_));
  }
  if (!whole->files_.empty()) {
    if (const Result<void> planned = whole->plan_slices(source.slices); !planned) {
      return propagate(planned);
    }
  }
  return std::move(*whole);
}

bool GeData::has_shrunk() const {
  return std::ranges::any_of(
      files_, [](const File& file) { return msprobe::has_shrunk(file.path, file.bytes); });
}

Result<void> GeData::plan_slices(const std::vector<GeSource::Slice>& slices) {
  const Result<ge::SliceInfo> info = ge::read_slice_info(files_.front().dump);
  if (!info) return propagate(info);
  std::vector<std::uint32_t> numbers;
  for (const GeSource::Slice& slice : slices) numbers.push_back(slice.number);
  plan_ = ge::plan_join(*info, numbers, tensors(DumpSide::kInput), tensors(DumpSide::kOutput));
  return {};
}

std::size_t GeData::tensors(DumpSide side) const {
  const bool is_input = side == DumpSide::kInput;
  if (statistics_) {
    return static_cast<std::size_t>(std::ranges::count_if(
        *statistics_, [&](const ge::TensorStatistics& row) { return row.is_output != is_input; }));
  }
  if (info_) return is_input ? info_->inputs.size() : info_->outputs.size();
  const ge::DumpFile& dump = files_.front().dump;
  return is_input ? dump.inputs.size() : dump.outputs.size();
}

Result<ge::Elements> GeData::elements(DumpSide side, std::uint32_t index) const {
  const auto slice_of = [&](std::size_t i) -> Result<ge::TensorSlice> {
    const File& file = files_[i];
    const auto tensor = element_at(side == DumpSide::kInput ? file.dump.inputs : file.dump.outputs,
                                   index, name(side));
    if (!tensor) return propagate(tensor);
    if ((*tensor)->absent) {
      return fail(ErrorKind::kFormat, "the file has no bytes for this tensor (address 0)");
    }
    return ge::TensorSlice{*tensor, file.bytes};
  };
  const auto& plans = joined(side);
  std::vector<std::size_t> files{0};
  if (index < plans.size()) {
    if (!plans[index].unknown.empty()) return fail(ErrorKind::kUnsupported, plans[index].unknown);
    files = plans[index].slices;
  }
  std::vector<ge::TensorSlice> slices;
  for (const std::size_t i : files) {
    Result<ge::TensorSlice> slice = slice_of(i);
    if (!slice) return propagate(slice);
    slices.push_back(std::move(*slice));
  }
  if (slices.size() > 1) return ge::join_slices(slices, plans[index].axis);
  return ge::elements_of(*slices.front().tensor, slices.front().file);
}

Result<TensorData> GeData::tensor(DumpSide side, std::uint32_t index) const {
  TensorData found;
  if (statistics_) {
    const auto row = std::ranges::find_if(*statistics_, [&](const ge::TensorStatistics& other) {
      return other.is_output == (side == DumpSide::kOutput) && other.index == index;
    });
    if (row == statistics_->end()) {
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
