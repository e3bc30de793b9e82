// SPDX-License-Identifier: Apache-2.0
#include "overflow/overflow_verdict.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

namespace msprobe::overflow {
namespace {

using protocol::LeafKind;
using protocol::MeasuredLeaf;

// Rounding alone does not move a value this far away from the largest finite number.
constexpr double kNearTheLimit = 1.0 - 1.0 / 64;

std::optional<double> largest_finite(std::optional<DType> dtype) {
  if (dtype == DType::kFloat16) return 65504.0;
  if (dtype == DType::kBFloat16) return 0x1.FEp127;
  if (dtype == DType::kFloat32) return std::numeric_limits<float>::max();
  return std::nullopt;
}

bool is_saturated(const MeasuredLeaf& leaf) {
  const std::optional<double> limit = largest_finite(leaf.device.dtype);
  if (!limit || leaf.metrics.device_abs_max != *limit) return false;
  const double bench = leaf.metrics.bench_abs_max;
  return !std::isfinite(bench) || bench < *limit * kNearTheLimit;
}

bool is_not_finite(const std::optional<PythonValue>& value) {
  const auto* const number = value ? std::get_if<double>(&*value) : nullptr;
  return number != nullptr && !std::isfinite(*number);
}

// A Python int or bool. Both sides are asked: a float on one of them may have overflowed.
bool is_exact(const MeasuredLeaf& leaf) {
  const auto exact = [](const std::optional<PythonValue>& value) {
    return !value || std::holds_alternative<bool>(*value) ||
           std::holds_alternative<std::int64_t>(*value);
  };
  return leaf.kind == LeafKind::kValue && leaf.bench.value && exact(leaf.bench.value) &&
         exact(leaf.device.value);
}

struct Overflows {
  bool cpu = false;
  bool device = false;
};

Overflows overflows_of(const MeasuredLeaf& leaf) {
  if (leaf.kind == LeafKind::kTensor && leaf.metrics.count > 0) {
    return {!std::isfinite(leaf.metrics.bench_abs_max),
            !std::isfinite(leaf.metrics.device_abs_max) || is_saturated(leaf)};
  }
  if (leaf.kind == LeafKind::kValue) {
    return {is_not_finite(leaf.bench.value), is_not_finite(leaf.device.value)};
  }
  return {};
}

std::string_view difference(const MeasuredLeaf& leaf) {
  switch (leaf.kind) {
    case LeafKind::kShapesDiffer:
      return "the outputs of the CPU and of the device have different shapes";
    case LeafKind::kTypesDiffer:
    case LeafKind::kKeysDiffer:
      return "the outputs of the CPU and of the device are of different types";
    case LeafKind::kDeviceMissing:
      return "the device returned fewer outputs than the CPU";
    default:
      return {};
  }
}

// The extremes of recorded tensors, and numbers.
template <class Visit>
void for_each_extreme(const dump::Value& value, const Visit& visit) {
  if (const auto* tensor = value.as<dump::TensorRecord>()) {
    for (const dump::Statistic* extreme : {&tensor->max, &tensor->min}) {
      if (extreme->is_number()) visit(extreme->real, tensor->dtype);
    }
  } else if (const auto* number = value.as<double>()) {
    visit(*number, std::optional<DType>());
  } else if (value.as<std::int64_t>() != nullptr || value.as<bool>() != nullptr) {
    visit(0.0, std::optional<DType>());  // whatever it is, it has not overflowed
  } else if (const auto* list = value.as<dump::List>()) {
    for (const dump::Value& item : *list) for_each_extreme(item, visit);
  } else if (const auto* dict = value.as<dump::Dict>()) {
    for (const dump::DictItem& item : *dict) for_each_extreme(item.second, visit);
  }
}

bool holds(const dump::List& values, double wanted) {
  bool found = false;
  for (const dump::Value& value : values) {
    for_each_extreme(value, [&](double extreme, std::optional<DType> /*dtype*/) {
      found = found || std::abs(extreme) == wanted;
    });
  }
  return found;
}

}  // namespace

std::string_view name(OverflowVerdict verdict) {
  constexpr std::string_view kNames[] = {"normal", "abnormal", "not reproduced", "CPU only",
                                         "SKIP"};
  return kNames[std::to_underlying(verdict)];
}

Sides look_at(const std::vector<MeasuredLeaf>& leaves) {
  Sides sides;
  sides.all_none = !leaves.empty() && std::ranges::all_of(leaves, [](const MeasuredLeaf& leaf) {
    return leaf.kind == LeafKind::kNone;
  });
  sides.all_exact = !leaves.empty() && std::ranges::all_of(leaves, is_exact);
  for (const MeasuredLeaf& leaf : leaves) {
    const Overflows found = overflows_of(leaf);
    sides.cpu = sides.cpu || found.cpu;
    sides.device = sides.device || found.device;
    if ((found.cpu || found.device) && sides.first.empty()) sides.first = leaf.path;
    if (sides.differs.empty()) sides.differs = difference(leaf);
  }
  return sides;
}

std::optional<bool> recorded_overflow(const dump::List& outputs, const dump::List& inputs) {
  std::optional<bool> overflowed;
  for (const dump::Value& output : outputs) {
    for_each_extreme(output, [&](double extreme, std::optional<DType> dtype) {
      const bool at_limit = std::abs(extreme) == largest_finite(dtype);
      const bool found = !std::isfinite(extreme) || (at_limit && !holds(inputs, std::abs(extreme)));
      overflowed = overflowed.value_or(false) || found;
    });
  }
  return overflowed;
}

OverflowVerdict verdict_of(bool cpu, bool device) {
  if (cpu) return device ? OverflowVerdict::kNormal : OverflowVerdict::kCpuOnly;
  return device ? OverflowVerdict::kAbnormal : OverflowVerdict::kNotReproduced;
}

}  // namespace msprobe::overflow
