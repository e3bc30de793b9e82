// SPDX-License-Identifier: Apache-2.0
// Results that are not tensors: the built-in types of Python, None, and what cannot be compared.
#include <cmath>
#include <string_view>

#include <fmt/format.h>

#include "documented/cells.h"
#include "documented/judge.h"

namespace msprobe::documented {
namespace {

// Python's isinstance(bench, type(device)): a bool is an int too.
bool is_instance(const PythonValue& bench, const PythonValue& device) {
  if (std::holds_alternative<bool>(bench) && std::holds_alternative<std::int64_t>(device)) {
    return true;
  }
  return python_type(bench) == python_type(device);
}

// Python's ==, of two values that passed is_instance; two NaN are equal where the profile says so.
bool equal(const PythonValue& bench, const PythonValue& device, Profile profile) {
  const auto is_nan = [](const PythonValue& value) {
    const auto* const number = std::get_if<double>(&value);
    return number != nullptr && std::isnan(*number);
  };
  if (is_nan(bench) && is_nan(device)) return profile == Profile::kDocumented;
  if (const auto* const flag = std::get_if<bool>(&bench)) {
    if (const auto* const number = std::get_if<std::int64_t>(&device)) {
      return static_cast<std::int64_t>(*flag) == *number;
    }
  }
  if (bench.index() != device.index() || std::holds_alternative<OtherValue>(bench)) return false;
  return std::visit(
      [&](const auto& value) {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, OtherValue>) {
          return false;
        } else {
          return value == std::get<T>(device);
        }
      },
      bench);
}

bool has_rule(const PythonValue& value, Profile profile) {
  if (std::holds_alternative<OtherValue>(value)) return false;
  // The public tool has no rule for complex numbers.
  return profile == Profile::kDocumented || !std::holds_alternative<std::complex<double>>(value);
}

}  // namespace

DetailRow judge_value(const PythonValue& bench, const PythonValue& device, const Context& context) {
  DetailRow row = reason_row(context.row_name, Verdict::kError, {});
  if (!is_instance(bench, device)) {
    row.message = "bench and npu output type is different.";
    return row;
  }
  if (std::holds_alternative<std::monostate>(bench)) {
    row.status = Verdict::kSkip;
    row.message = "Bench output is None, skip this test.";
    return row;
  }
  if (!has_rule(bench, context.profile)) {
    row.message = fmt::format("Unexpected output type in compare_core: {}", python_type(bench));
    return row;
  }
  row.bench_dtype = python_type(bench);
  row.device_dtype = python_type(device);
  const bool documented = context.profile == Profile::kDocumented;
  if (equal(bench, device, context.profile)) {
    row.status = Verdict::kPass;
    row.binary_error_rate = nothing(context.profile);
  } else if (documented) {
    row.binary_error_rate = {Cell::Kind::kDouble, 1};
    row.message = "The values differ, consider as error.";
  }
  return row;
}

}  // namespace msprobe::documented
