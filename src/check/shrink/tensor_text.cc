// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <optional>
#include <span>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/cast.h"
#include "dump/tensor_file.h"
#include "shrink/python_literal.h"
#include "shrink/script.h"

namespace msprobe::shrink {
namespace {

constexpr std::size_t kWrittenOut = 24;       // elements
constexpr std::size_t kLookedAt = 1U << 20U;  // to see whether all are alike

// Real numbers that float64 holds; nothing for others, and for very many.
std::optional<std::vector<double>> values_of(const Directory& data, const std::string& file) {
  const Result<Tensor> tensor = dump::load_tensor_file(data, file);
  if (!tensor || is_complex(tensor->dtype)) return std::nullopt;
  if (tensor->bytes.size() / size_bytes(tensor->dtype) > kLookedAt) return std::nullopt;
  const Result<Tensor> wide = cast(*tensor, DType::kFloat64);
  if (!wide) return std::nullopt;
  const auto* first = reinterpret_cast<const double*>(wide->bytes.data());
  return std::vector<double>(first, first + wide->bytes.size() / sizeof(double));
}

bool is_constant(std::span<const double> values) {
  if (values.empty()) return false;
  for (const double value : values) {
    if (value != values.front() || std::signbit(value) != std::signbit(values.front()))
      return false;
  }
  return true;
}

// As short as the dtype allows: enough digits to give the same number back.
std::string number_in(DType dtype, double value) {
  if (!std::isfinite(value)) return fmt::format("float('{}')", python_number(value));
  if (dtype == DType::kBool) return value != 0 ? "True" : "False";
  if (is_integer_or_bool(dtype)) return fmt::format("{}", static_cast<std::int64_t>(value));
  if (dtype == DType::kFloat64) return python_number(value);
  if (dtype == DType::kFloat32) {
    const std::string text = fmt::format("{}", static_cast<float>(value));
    return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
  }
  return fmt::format("{:.6g}", value);
}

std::string nested(const Shape& shape, std::size_t dim, std::span<const double> values,
                   DType dtype) {
  if (dim == shape.size()) return number_in(dtype, values.front());
  const auto count = static_cast<std::size_t>(shape[dim]);
  const std::size_t each = values.size() / count;
  std::string text = "[";
  for (std::size_t i = 0; i < count; ++i) {
    text += (i > 0 ? ", " : "") + nested(shape, dim + 1, values.subspan(i * each, each), dtype);
  }
  return text + "]";
}

}  // namespace

std::string tensor_text(const dump::TensorRecord& record, const Directory& data,
                        const std::string& folder, const std::string& file, bool with_gradient) {
  const bool gradient = with_gradient && record.requires_grad;
  const DType dtype = record.dtype.value_or(DType::kFloat32);
  std::string options;
  if (dtype != DType::kFloat32) options += fmt::format(", dtype={}", text(dtype));
  if (gradient) options += ", requires_grad=True";
  const auto values = record.has_shape ? values_of(data, file) : std::nullopt;
  if (values && is_constant(*values)) {
    // A scalar has the shape ().
    const std::string extents =
        record.shape.empty() ? "()" : fmt::format("{}", fmt::join(record.shape, ", "));
    if (values->front() == 1) return fmt::format("torch.ones({}{})", extents, options);
    if (values->front() == 0 && !std::signbit(values->front())) {
      return fmt::format("torch.zeros({}{})", extents, options);
    }
    const std::string shape = record.shape.size() == 1 ? extents + "," : extents;
    return fmt::format("torch.full({}, {}{})", record.shape.empty() ? "()" : "(" + shape + ")",
                       number_in(dtype, values->front()), options);
  }
  if (values && !values->empty() && values->size() <= kWrittenOut) {
    return fmt::format("torch.tensor({}{})", nested(record.shape, 0, *values, dtype), options);
  }
  return fmt::format("torch.load(here / {} / {}){}", python_text(folder), python_text(file),
                     gradient ? ".requires_grad_()" : "");
}

}  // namespace msprobe::shrink
