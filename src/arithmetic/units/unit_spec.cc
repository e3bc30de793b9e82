// SPDX-License-Identifier: Apache-2.0
#include "units/unit_spec.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace msprobe::units {
namespace {

// In the order of the enumerators.
constexpr std::array<std::string_view, 3> kCuts = {"zero", "down", "nearest"};
constexpr std::array<std::string_view, 5> kInputs = {"as_they_are", "tf32", "hf32", "bfloat16",
                                                     "float16"};
constexpr std::array<std::string_view, 4> kOrders = {"in_order", "reversed", "strided", "halves"};
constexpr std::array<std::string_view, 3> kAccumulators = {"float32", "bfloat16", "float16"};
constexpr std::array<std::string_view, 2> kRunning = {"apart", "joined"};
constexpr std::array<std::string_view, 2> kAligned = {"factors", "product"};

Result<std::size_t> choose(std::string_view key, std::string_view value,
                           std::span<const std::string_view> known) {
  const auto found = std::ranges::find(known, value);
  if (found != known.end()) return static_cast<std::size_t>(found - known.begin());
  return fail(ErrorKind::kUsage, fmt::format("matrix unit: unknown {} '{}' (known: {})", key, value,
                                             fmt::join(known, ", ")));
}

Result<int> number(std::string_view key, std::string_view value, int most) {
  int parsed = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), parsed);
  if (error != std::errc() || end != value.data() + value.size() || parsed < 1 || parsed > most) {
    return fail(ErrorKind::kUsage,
                fmt::format("matrix unit: {}={} is not a number from 1 to {}", key, value, most));
  }
  return parsed;
}

// `set` gets the value, as a number or as its place among the known words.
template <class Value, class Set>
Result<void> assign(const Result<Value>& value, Set set) {
  if (!value) return propagate(value);
  set(*value);
  return {};
}

Result<void> apply(std::string_view key, std::string_view value, Unit& unit) {
  if (key == "block") {
    return assign(number(key, value, kMostBlock), [&](int block) { unit.block = block; });
  }
  if (key == "bits") {
    return assign(number(key, value, kMostBits), [&](int bits) { unit.bits = bits; });
  }
  if (key == "cut") {
    return assign(choose(key, value, kCuts),
                  [&](std::size_t at) { unit.cut = static_cast<Cut>(at); });
  }
  if (key == "sum") {
    return assign(choose(key, value, kCuts),
                  [&](std::size_t at) { unit.sum = static_cast<Cut>(at); });
  }
  if (key == "running") {
    return assign(choose(key, value, kRunning), [&](std::size_t at) { unit.joined = at == 1; });
  }
  if (key == "aligned") {
    return assign(choose(key, value, kAligned), [&](std::size_t at) { unit.normalized = at == 1; });
  }
  if (key == "inputs") {
    return assign(choose(key, value, kInputs),
                  [&](std::size_t at) { unit.inputs = static_cast<Inputs>(at); });
  }
  if (key == "order") {
    return assign(choose(key, value, kOrders),
                  [&](std::size_t at) { unit.order = static_cast<Order>(at); });
  }
  if (key == "accumulator") {
    return assign(choose(key, value, kAccumulators),
                  [&](std::size_t at) { unit.accumulator = static_cast<Accumulator>(at); });
  }
  if (key == "promote") {
    return assign(number(key, value, kMostPromote), [&](int terms) { unit.promote = terms; });
  }
  return fail(ErrorKind::kUsage,
              fmt::format("matrix unit: unknown key '{}' (known: block, bits, cut, sum, running, "
                          "aligned, inputs, order, accumulator, promote)",
                          key));
}

}  // namespace

std::string_view name(Cut cut) { return kCuts.at(std::to_underlying(cut)); }
std::string_view name(Inputs inputs) { return kInputs.at(std::to_underlying(inputs)); }
std::string_view name(Order order) { return kOrders.at(std::to_underlying(order)); }
std::string_view name(Accumulator kept) { return kAccumulators.at(std::to_underlying(kept)); }

Result<Unit> parse_unit(std::string_view spec) {
  Unit unit;
  while (!spec.empty()) {
    const std::size_t comma = spec.find(',');
    const std::string_view field = spec.substr(0, comma);
    const std::size_t equals = field.find('=');
    if (equals == std::string_view::npos) {
      return fail(ErrorKind::kUsage,
                  fmt::format("matrix unit: '{}' is not of the form key=value", field));
    }
    const Result<void> set = apply(field.substr(0, equals), field.substr(equals + 1), unit);
    if (!set) return propagate(set);
    spec = comma == std::string_view::npos ? std::string_view() : spec.substr(comma + 1);
  }
  return unit;
}

std::string spec(const Unit& unit) {
  const std::string promote =
      unit.promote > 0 ? fmt::format(",promote={}", unit.promote) : std::string();
  return fmt::format(
      "block={},bits={},cut={},sum={},running={},aligned={},inputs={},order={},"
      "accumulator={}{}",
      unit.block, unit.bits, name(unit.cut), name(unit.sum), kRunning.at(unit.joined ? 1 : 0),
      kAligned.at(unit.normalized ? 1 : 0), name(unit.inputs), name(unit.order),
      name(unit.accumulator), promote);
}

}  // namespace msprobe::units
