// SPDX-License-Identifier: Apache-2.0
#include "strict/wording.h"

#include <charconv>
#include <cmath>
#include <limits>
#include <vector>

#include <fmt/format.h>

namespace msprobe::strict {

std::string element_text(const at::Tensor& tensor, std::int64_t at) {
  const at::Tensor element = tensor.flatten()[at];
  if (!tensor.is_complex()) return fmt::format("{:.6g}", element.to(at::kDouble).item<double>());
  const at::Tensor parts = at::view_as_real(element).to(at::kDouble);
  return fmt::format("{:.6g}{:+.6g}j", parts[0].item<double>(), parts[1].item<double>());
}

std::string place_text(at::IntArrayRef shape, std::int64_t flat_index) {
  std::vector<std::int64_t> place(shape.size());
  for (std::size_t i = shape.size(); i-- > 0;) {
    place[i] = flat_index % shape[i];
    flat_index /= shape[i];
  }
  return fmt::format("({})", fmt::join(place, ", "));
}

std::string number_text(double value) { return fmt::format("{:.3g}", value); }

std::string digits_text(double value) { return fmt::format("{:.6g}", value); }

double three_digits(double value) {
  const std::string text = number_text(value);
  double rounded = value;
  if (std::isfinite(value)) std::from_chars(text.data(), text.data() + text.size(), rounded);
  return rounded;
}

std::string excess_text(const Scan& scan, const at::Tensor& device, const at::Tensor& bench) {
  const auto place = [&](std::int64_t at) { return place_text(device.sizes(), at); };
  std::string text = fmt::format("{} of {} elements {} beyond the bound", scan.beyond, scan.count,
                                 scan.beyond == 1 ? "is" : "are");
  if (scan.not_finite > 0) {
    text += fmt::format(", {} of them not finite on one side only", scan.not_finite);
  }
  if (scan.beyond > 1) {
    text += fmt::format(" (first {}, last {})", place(scan.first), place(scan.last));
  }
  text += fmt::format(", worst at {}: device {}, bench {}", place(scan.worst_at),
                      element_text(device, scan.worst_at), element_text(bench, scan.worst_at));
  const double size = excess_number(scan);
  if (std::isfinite(size)) text += fmt::format(", {} times its bound", number_text(size));
  return text;
}

double excess_number(const Scan& scan) {
  constexpr double kNoBound = 1e300;  // an element that may not differ has a bound of 0
  return scan.worst < kNoBound ? three_digits(scan.worst) : std::numeric_limits<double>::infinity();
}

}  // namespace msprobe::strict
