// SPDX-License-Identifier: Apache-2.0
#include "torchair/small_values.h"

#include <algorithm>
#include <cmath>

namespace msprobe::torchair {
namespace {

constexpr std::uint64_t kMostElements = 1 << 14;

std::optional<std::vector<double>> small_values(const Result<TensorData>& data) {
  if (!data) return std::nullopt;
  if (data->info) return *data->info;
  if (data->statistics) {
    const ge::TensorStatistics& known = *data->statistics;
    if (!known.min || !known.max) return std::nullopt;
    return std::vector<double>{*known.min, *known.max};
  }
  const ge::Elements& elements = *data->elements;
  if (elements.count > kMostElements || elements.opaque() || is_complex(elements.dtype)) {
    return std::nullopt;
  }
  return all_values(elements);
}

// What the other side is compared with: the range where one side has nothing else. Converted files
// have NaN once an element is NaN, statistics files only where the first is.
void reduce_to_range(std::vector<double>& values, bool like_statistics) {
  if (values.empty()) return;
  const auto is_nan = [](double value) { return std::isnan(value); };
  if (like_statistics ? is_nan(values.front()) : std::ranges::any_of(values, is_nan)) {
    values = {std::nan(""), std::nan("")};
    return;
  }
  std::erase_if(values, is_nan);
  const auto [low, high] = std::ranges::minmax(values);
  values = {low, high};
}

bool close(double a, double b) {
  constexpr double kRounding = 4e-6;  // six digits of a statistics file
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return a == b || std::abs(a - b) <= kRounding * std::max(std::abs(a), std::abs(b));
}

}  // namespace

std::optional<bool> SmallValues::same(std::uint32_t input, const FxArray& array) {
  const auto note = [&](const auto& read) {
    if (!read && read.error().kind == ErrorKind::kIo) files_.note_unread(read.error());
  };
  if (!data_) {
    data_ = GeData::open(source_);
    note(*data_);
  }
  if (!*data_) return std::nullopt;
  const Result<TensorData> device = (*data_)->tensor(DumpSide::kInput, input);
  const Result<TensorData> bench = open_array(array.path, array.is_info);
  note(bench);
  std::optional<std::vector<double>> a = small_values(device);
  std::optional<std::vector<double>> b = small_values(bench);
  if (!a || !b) return std::nullopt;
  const bool device_is_range = device->info || device->statistics;
  const bool bench_is_range = bench->info.has_value();
  if (device_is_range && !bench_is_range) reduce_to_range(*b, device->statistics.has_value());
  if (bench_is_range && !device_is_range) reduce_to_range(*a, false);
  return a->size() == b->size() && std::ranges::equal(*a, *b, close);
}

}  // namespace msprobe::torchair
