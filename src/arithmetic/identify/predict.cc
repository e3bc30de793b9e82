// SPDX-License-Identifier: Apache-2.0
#include "identify/predict.h"

#include <algorithm>
#include <cmath>
#include <string>

#include <fmt/format.h>

#include "core/float_formats.h"
#include "identify/card_products.h"
#include "identify/numbers.h"

namespace msprobe::identify {
namespace {

constexpr std::string_view kProducts[] = {"__matmul__", "bmm", "matmul", "mm"};

struct Matrices {
  std::int64_t count = 1, rows = 0, columns = 0;
  std::vector<float> values;
};

double flushed(DType dtype, double value) {
  return std::abs(value) < std::ldexp(1.0, format_of(dtype).least_exponent)
             ? std::copysign(0.0, value)
             : value;
}

Result<Matrices> matrices_of(const Numbers& numbers, const units::KnownProducts& known) {
  if (numbers.shape.size() < 2) {
    return fail(ErrorKind::kUnsupported, "a vector; only products of matrices are predicted");
  }
  const Result<std::size_t> bytes = byte_count(numbers.shape, numbers.dtype);
  if (!bytes) return propagate(bytes);
  if (*bytes != numbers.bytes.size()) return fail(ErrorKind::kFormat, "some elements are missing");
  Matrices made{1, numbers.shape[numbers.shape.size() - 2], numbers.shape.back(), {}};
  for (std::size_t at = 0; at + 2 < numbers.shape.size(); ++at) made.count *= numbers.shape[at];
  for (const double value : values_of(numbers)) {
    made.values.push_back(
        static_cast<float>(known.flushes_inputs ? flushed(numbers.dtype, value) : value));
  }
  return made;
}

Matrices transposed(const Matrices& from) {
  Matrices to{from.count, from.columns, from.rows, {}};
  to.values.resize(from.values.size());
  for (std::int64_t row = 0; row < from.rows; ++row) {
    for (std::int64_t column = 0; column < from.columns; ++column) {
      to.values[static_cast<std::size_t>(column * from.rows + row)] =
          from.values[static_cast<std::size_t>(row * from.columns + column)];
    }
  }
  return to;
}

double result_of(const units::KnownProducts& known, DType dtype, float sum) {
  double value = round_to(dtype, static_cast<double>(sum));
  if (known.flushes_results) value = flushed(dtype, value);
  if (known.saturates && std::isinf(value)) value = std::copysign(format_of(dtype).largest, value);
  return value;
}

// `added`: one number for each column, in float32; empty: none.
Result<Numbers> multiply(const units::KnownProducts& known, DType dtype, Shape shape,
                         const Matrices& left, const Matrices& right,
                         const std::vector<double>& added) {
  if (left.columns != right.rows || (right.count != 1 && right.count != left.count) ||
      (!added.empty() && static_cast<std::int64_t>(added.size()) != right.columns)) {
    return fail(ErrorKind::kUnsupported, "shapes that are not those of one product");
  }
  shape.back() = right.columns;
  const auto size = static_cast<std::size_t>(left.rows * right.columns);
  std::vector<double> out;
  std::vector<float> sums(size);
  for (std::int64_t batch = 0; batch < left.count; ++batch) {
    const std::int64_t other = right.count == 1 ? 0 : batch;
    units::product(known.units.front(), {left.rows, left.columns, right.columns},
                   left.values.data() + batch * left.rows * left.columns,
                   right.values.data() + other * right.rows * right.columns, sums.data());
    for (std::size_t at = 0; at < size; ++at) {
      const double bias = added.empty() ? 0 : added[at % static_cast<std::size_t>(right.columns)];
      const float sum =
          added.empty() ? sums[at] : static_cast<float>(bias + static_cast<double>(sums[at]));
      out.push_back(result_of(known, dtype, sum));
    }
  }
  return make_numbers(dtype, std::move(shape), out);
}

}  // namespace

Result<Numbers> predict(const card::Card& card, std::string_view api,
                        const std::vector<Numbers>& inputs) {
  const bool linear = api == "linear";
  if (!linear && std::ranges::find(kProducts, api) == std::end(kProducts)) {
    return fail(
        ErrorKind::kUnsupported,
        fmt::format("{} is not a matrix product (predicted are matmul, mm, bmm, linear)", api));
  }
  if (inputs.size() < 2 || inputs.size() > (linear ? 3U : 2U)) {
    return fail(ErrorKind::kUnsupported, fmt::format("{} with {} tensors", api, inputs.size()));
  }
  const DType dtype = inputs[0].dtype;
  for (const Numbers& input : inputs) {
    if (input.dtype != dtype) return fail(ErrorKind::kUnsupported, "inputs of different dtypes");
  }
  const Result<units::KnownProducts> known = known_products(card, dtype);
  if (!known) return propagate(known);
  const Result<Matrices> left = matrices_of(inputs[0], *known);
  if (!left) return propagate(left);
  const Result<Matrices> right = matrices_of(inputs[1], *known);
  if (!right) return propagate(right);
  if (!linear) return multiply(*known, dtype, inputs[0].shape, *left, *right, {});
  if (right->count != 1) return fail(ErrorKind::kUnsupported, "weights of more than a matrix");
  // The rows of every batch together, as a linear layer is one product.
  Matrices rows = *left;
  rows.rows *= rows.count;
  rows.count = 1;
  return multiply(*known, dtype, inputs[0].shape, rows, transposed(*right),
                  inputs.size() == 3 ? values_of(inputs[2]) : std::vector<double>());
}

}  // namespace msprobe::identify
