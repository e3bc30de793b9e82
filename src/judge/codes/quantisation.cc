// SPDX-License-Identifier: Apache-2.0
#include "codes/quantisation.h"

#include <cmath>

#include <fmt/format.h>

#include "low_precision/codes.h"
#include "strict/float_type.h"
#include "strict/wording.h"

namespace msprobe::codes {

using strict::number_text;
namespace {

// From these shares on, the scale was chosen badly.
constexpr double kMuchUnderflow = 0.25;
constexpr double kMuchSaturated = 0.01;

std::string percent(double share) { return number_text(100 * share) + " %"; }

double share_of(const at::Tensor& mask) {
  return mask.numel() == 0 ? 0 : mask.to(at::kDouble).mean().item<double>();
}

double mean_size(const at::Tensor& numbers) {
  return numbers.numel() == 0 ? 0 : strict::root_mean_square(numbers);
}

std::string factor_text(std::string_view which, const low_precision::ScaledProduct& product,
                        const low_precision::Factor low_precision::Part::* member,
                        at::ScalarType type) {
  const auto format = low_precision::code_format(type);
  if (!format) return {};
  double zeros = 0, largest_codes = 0, count = 0, most = 0;
  for (const low_precision::Part& part : product.parts) {
    const at::Tensor sizes = (part.*member).numbers.nan_to_num(0, 0, 0).abs();
    if (sizes.numel() == 0) continue;
    zeros += sizes.eq(0).sum().item<double>();
    largest_codes += sizes.eq(largest(*format)).sum().item<double>();
    count += static_cast<double>(sizes.numel());
    most = std::max(most, sizes.max().item<double>());
  }
  if (count == 0) return {};
  return fmt::format("; {} factor: uses {} of the range of {}, {} zero, {} at the largest", which,
                     percent(most / largest(*format)), name(*format), percent(zeros / count),
                     percent(largest_codes / count));
}

}  // namespace

Quantisation quantisation_of(CodeFormat format, const at::Tensor& numbers,
                             const at::Tensor& codes) {
  const at::Tensor values = low_precision::numbers_of(format, codes).view(numbers.sizes());
  const at::Tensor sizes = numbers.nan_to_num(0, 0, 0).abs();
  Quantisation found;
  found.underflow = share_of(values.eq(0).logical_and(sizes.gt(0)));
  found.saturated = share_of(sizes.gt(largest(format)));
  if (values.numel() > 0) {
    found.used = values.nan_to_num(0, 0, 0).abs().max().item<double>() / largest(format);
  }
  const double size = mean_size(numbers);
  if (size > 0) found.error = mean_size(values - numbers) / size;
  return found;
}

std::string text(CodeFormat format, const Quantisation& found) {
  if (format == CodeFormat::kE8M0) return "a scale";
  std::string text = fmt::format(
      "uses {} of the range of {}, {} underflow, {} saturated, error of quantisation {}",
      percent(found.used), name(format), percent(found.underflow), percent(found.saturated),
      percent(found.error));
  if (found.saturated >= kMuchSaturated) {
    text += "; the recipe is to blame, not the device: the scale is too large for these numbers";
  } else if (found.underflow >= kMuchUnderflow) {
    text += "; the recipe is to blame, not the device: the scale is too small for these numbers";
  }
  return text;
}

std::string text(const low_precision::ScaledProduct& product, const at::Tensor& device,
                 const at::Tensor& bench) {
  const double size = mean_size(bench);
  const at::Tensor result = low_precision::numbers_of(device);
  const double error = size > 0 ? mean_size(result - bench) / size : 0;
  return fmt::format(
      "; error of the product {}{}{}", percent(error),
      factor_text("first", product, &low_precision::Part::left, product.left_type),
      factor_text("second", product, &low_precision::Part::right, product.right_type));
}

}  // namespace msprobe::codes
