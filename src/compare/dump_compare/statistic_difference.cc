// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "core/python_text.h"
#include "dump_compare/item_cells.h"

namespace msprobe::dump_compare {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

bool names_device(const ItemCell& cell) {
  if (cell.kind != ItemCell::Kind::kText) return false;
  for (const std::string_view device : {"npu", "cpu", "cuda"}) {
    if (cell.text.find(device) != std::string_view::npos) return true;
  }
  return false;
}

// Integers keep all 64 bits.
double subtract(const ItemCell& target, const ItemCell& golden) {
  const auto integer = [](const ItemCell& cell, std::int64_t& out) {
    const char* const end = cell.text.data() + cell.text.size();
    return cell.kind == ItemCell::Kind::kInteger &&
           std::from_chars(cell.text.data(), end, out).ptr == end;
  };
  std::int64_t t = 0;
  std::int64_t g = 0;
  std::int64_t difference = 0;
  if (integer(target, t) && integer(golden, g) && !__builtin_sub_overflow(t, g, &difference)) {
    return static_cast<double>(difference);
  }
  return target.number - golden.number;
}

void append_infinity(std::string& out, double value) { out += value > 0 ? "inf" : "-inf"; }

}  // namespace

double Difference::relative_or_none() const {
  switch (kind) {
    case Kind::kNone:
      return 0;
    case Kind::kNumber:
      return relative;
    case Kind::kInfinite:
      return kInfinity;
    case Kind::kMissing:
    case Kind::kOther:
    case Kind::kNan:
      break;
  }
  return -1;
}

Difference difference_of(const ItemCell& target, const ItemCell& golden) {
  using Kind = Difference::Kind;
  if (target.kind == ItemCell::Kind::kMissing || golden.kind == ItemCell::Kind::kMissing) return {};
  if (same_cell(target, golden)) return {Kind::kNone};
  if (names_device(target) && names_device(golden)) return {};
  if (!target.is_number() || !golden.is_number()) return {Kind::kOther};
  if (std::isnan(target.number) || std::isnan(golden.number)) return {Kind::kNan};
  if (std::isinf(target.number)) return {Kind::kInfinite, target.number, kInfinity};
  if (std::isinf(golden.number)) return {Kind::kInfinite, -golden.number, kInfinity};
  const double difference = subtract(target, golden);
  if (difference == 0) return {Kind::kNone};
  return {Kind::kNumber, difference,
          golden.number == 0 ? kInfinity : std::abs(difference / golden.number)};
}

void append_difference(std::string& out, const Difference& difference) {
  switch (difference.kind) {
    case Difference::Kind::kMissing:
      out += kNotKnown;
      return;
    case Difference::Kind::kNone:
      out += '0';
      return;
    case Difference::Kind::kOther:
      out += "Diff";
      return;
    case Difference::Kind::kNan:
      out += "Nan";
      return;
    case Difference::Kind::kInfinite:
      return append_infinity(out, difference.value);
    case Difference::Kind::kNumber:
      return append_python_float(out, difference.value);
  }
}

void append_relative(std::string& out, const Difference& difference) {
  if (difference.kind != Difference::Kind::kNumber) return append_difference(out, difference);
  if (std::isinf(difference.relative)) return append_infinity(out, difference.relative);
  append_python_float(out, difference.relative * 100);
  out += '%';
}

}  // namespace msprobe::dump_compare
