// SPDX-License-Identifier: Apache-2.0
#include "strict/error_map.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace msprobe::strict {
namespace {

constexpr std::int64_t kMostSide = 64;
constexpr std::size_t kMostWorst = 8;
constexpr std::string_view kCodes =
    "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
constexpr int kBoundCode = 20;
constexpr int kStepsPerDecade = 4;
constexpr int kNotFiniteCode = static_cast<int>(kCodes.size()) - 1;
constexpr std::size_t kBins = 16;
constexpr int kFirstDecade = -3;  // of the second bin
constexpr std::size_t kFarBin = kBins - 2;
constexpr std::size_t kNotFiniteBin = kBins - 1;

// The smallest k of [low, high] with over <= 10^(k / per_decade); `high` if there is none.
int step_of(double over, int per_decade, int low, int high) {
  return static_cast<int>(std::clamp(std::ceil(std::log10(over) * per_decade),
                                     static_cast<double>(low), static_cast<double>(high)));
}

int code_of(double over) {
  if (over == 0) return 0;
  if (std::isinf(over)) return kNotFiniteCode;
  return kBoundCode +
         step_of(over, kStepsPerDecade, 1 - kBoundCode, kNotFiniteCode - 1 - kBoundCode);
}

std::size_t bin_of(double over) {
  if (over == 0) return 0;
  if (std::isinf(over)) return kNotFiniteBin;
  constexpr int kLast = kFirstDecade + static_cast<int>(kFarBin) - 1;
  return static_cast<std::size_t>(step_of(over, 1, kFirstDecade, kLast) - kFirstDecade + 1);
}

// How elements fall into cells.
struct Grid {
  bool plane;
  std::int64_t height, width;  // of what is mapped
  std::int64_t rows, columns;
  std::int64_t cells;  // the last row of a flat map may be shorter
};

Grid grid_of(at::IntArrayRef shape, std::int64_t count) {
  const std::size_t rank = shape.size();
  if (rank >= 2 && shape[rank - 2] > 1 && shape[rank - 1] > 1) {
    const std::int64_t height = shape[rank - 2];
    const std::int64_t width = shape[rank - 1];
    const std::int64_t rows = std::min(height, kMostSide);
    const std::int64_t columns = std::min(width, kMostSide);
    return {true, height, width, rows, columns, rows * columns};
  }
  const std::int64_t cells = std::min(count, kMostSide * kMostSide);
  const std::int64_t columns = std::min(cells, kMostSide);
  return {false, 1, count, (cells + columns - 1) / columns, columns, cells};
}

std::int64_t cell_of(const Grid& grid, std::int64_t at) {
  if (!grid.plane) {
    // In 128 bits: count * 4096 may not fit into 64.
    return static_cast<std::int64_t>(static_cast<__int128>(at) * grid.cells / grid.width);
  }
  const std::int64_t column = at % grid.width * grid.columns / grid.width;
  const std::int64_t row = at / grid.width % grid.height * grid.rows / grid.height;
  return row * grid.columns + column;
}

struct Summary {
  std::vector<double> cells;
  std::array<std::uint64_t, kBins> counts{};
  std::vector<std::int64_t> worst;  // the farthest off first, then by index
};

Summary summarise(const double* over, std::int64_t count, const Grid& grid) {
  Summary summary;
  summary.cells.resize(static_cast<std::size_t>(grid.cells));
  for (std::int64_t at = 0; at < count; ++at) {
    ++summary.counts[bin_of(over[at])];
    if (over[at] == 0) continue;
    double& cell = summary.cells[static_cast<std::size_t>(cell_of(grid, at))];
    cell = std::max(cell, over[at]);
    auto& worst = summary.worst;
    if (worst.size() == kMostWorst && over[at] <= over[worst.back()]) continue;
    if (worst.size() == kMostWorst) worst.pop_back();
    const auto place = std::ranges::upper_bound(worst, over[at], std::ranges::greater(),
                                                [&](std::int64_t other) { return over[other]; });
    worst.insert(place, at);
  }
  return summary;
}

// JSON has no text for these; they are strings, as in all of our JSON.
std::string number(double value, int digits) {
  if (std::isnan(value)) return "\"nan\"";
  if (std::isinf(value)) return value > 0 ? "\"inf\"" : "\"-inf\"";
  return fmt::format("{:.{}g}", value, digits);
}

// What does not fit a double exactly, and complex numbers, are strings too.
std::string element(const at::Tensor& tensor, std::int64_t at, int digits) {
  const at::Tensor one = tensor.flatten()[at];
  if (tensor.is_complex()) {
    const at::Tensor parts = at::view_as_real(one).to(at::kDouble);
    return fmt::format("\"{:.{}g}{:+.{}g}j\"", parts[0].item<double>(), digits,
                       parts[1].item<double>(), digits);
  }
  if (at::isFloatingType(tensor.scalar_type())) {
    return number(one.to(at::kDouble).item<double>(), digits);
  }
  const auto whole = one.to(at::kLong).item<std::int64_t>();
  constexpr std::int64_t kExact = std::int64_t{1} << 53;
  return whole > -kExact && whole < kExact ? fmt::format("{}", whole)
                                           : fmt::format("\"{}\"", whole);
}

// Enough for the device's value to be read back.
int digits_of(at::ScalarType type) {
  switch (type) {
    case at::kDouble:
    case at::kComplexDouble:
      return 17;
    case at::kFloat:
    case at::kComplexFloat:
      return 9;
    default:
      return 6;
  }
}

std::string worst_text(const at::Tensor& device, const at::Tensor& bench, const double* over,
                       const std::vector<std::int64_t>& worst) {
  const int digits = digits_of(device.scalar_type());
  std::string text;
  for (const std::int64_t at : worst) {
    const bool far = over[at] >= std::numeric_limits<double>::max();
    text += fmt::format("{}[{},{},{},{}]", text.empty() ? "" : ",", at, element(device, at, digits),
                        element(bench, at, digits), far ? "\"inf\"" : number(over[at], 3));
  }
  return text;
}

}  // namespace

std::string error_map(const at::Tensor& device, const at::Tensor& bench, const at::Tensor& over) {
  const Grid grid = grid_of(device.sizes(), device.numel());
  const at::Tensor flat = over.contiguous();
  const auto* values = flat.data_ptr<double>();
  const Summary found = summarise(values, flat.numel(), grid);
  std::string cells;
  for (const double cell : found.cells) cells += kCodes[static_cast<std::size_t>(code_of(cell))];
  std::vector<std::uint64_t> counts(found.counts.begin(), found.counts.end());
  while (!counts.empty() && counts.back() == 0) counts.pop_back();
  return fmt::format(
      "{{\"shape\":[{}],\"plane\":{},\"rows\":{},\"columns\":{},\"cells\":\"{}\",\"counts\":[{}],"
      "\"worst\":[{}]}}",
      fmt::join(device.sizes(), ","), grid.plane, grid.rows, grid.columns, cells,
      fmt::join(counts, ","), worst_text(device, bench, values, found.worst));
}

}  // namespace msprobe::strict
