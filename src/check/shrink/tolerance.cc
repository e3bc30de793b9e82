// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <vector>

#include "core/cast.h"
#include "core/float_formats.h"
#include "dump/tensor_file.h"
#include "shrink/script.h"

namespace msprobe::shrink {
namespace {

constexpr double kMostUnits = 16;  // eps of the largest element
constexpr double kPart = 0.5;      // of the error that was seen

// The distance of 1 to the next number; 0 of whole numbers.
double eps_of(DType dtype) {
  switch (dtype) {
    case DType::kFloat16:
    case DType::kComplex32:
      return std::ldexp(1.0, -10);
    case DType::kBFloat16:
      return std::ldexp(1.0, -7);
    case DType::kFloat32:
    case DType::kComplex64:
      return std::ldexp(1.0, -23);
    case DType::kFloat64:
    case DType::kComplex128:
      return std::ldexp(1.0, -52);
    case DType::kFloat8E4M3:
    case DType::kFloat8E4M3Fnuz:
      return std::ldexp(1.0, -3);
    case DType::kFloat8E5M2:
    case DType::kHiFloat8:
    case DType::kFloat8E5M2Fnuz:
      return std::ldexp(1.0, -2);
    default:
      return 0;
  }
}

using Numbers = std::vector<std::complex<double>>;

Result<Numbers> numbers_of(const Tensor& tensor) {
  const bool complex = is_complex(tensor.dtype);
  const Result<Tensor> wide = cast(tensor, complex ? DType::kComplex128 : DType::kFloat64);
  if (!wide) return propagate(wide);
  const std::size_t each = (complex ? 2 : 1) * sizeof(double);
  Numbers numbers(wide->bytes.size() / each);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    double parts[2] = {0, 0};
    std::memcpy(parts, wide->bytes.data() + i * each, each);
    numbers[i] = {parts[0], parts[1]};
  }
  return numbers;
}

}  // namespace

Result<Tolerance> tolerance_of(const std::filesystem::path& device,
                               const std::filesystem::path& bench) {
  const Result<Tensor> found = dump::load_tensor_file(device);
  if (!found) return propagate(found);
  const Result<Tensor> right = dump::load_tensor_file(bench);
  if (!right) return propagate(right);
  const double eps = eps_of(found->dtype);
  const Result<Numbers> given = numbers_of(*found);
  const Result<Numbers> wanted = numbers_of(*right);
  if (!given) return propagate(given);
  if (!wanted) return propagate(wanted);
  double largest = 0;
  double beyond_rounding = 0;
  double worst = 0;
  bool not_finite = false;  // on one side only: wrong whatever is allowed
  for (std::size_t i = 0; i < std::min(given->size(), wanted->size()); ++i) {
    const double size = std::abs((*wanted)[i]);
    if (std::isfinite(size)) largest = std::max(largest, size);
    const double off = std::abs((*given)[i] - (*wanted)[i]);
    if (!std::isfinite(off)) {
      not_finite = not_finite || std::isfinite(std::abs((*given)[i])) != std::isfinite(size);
      continue;
    }
    worst = std::max(worst, off);
    beyond_rounding = std::max(beyond_rounding, off - eps * size);
  }
  if (eps == 0) return Tolerance{};
  const double most = kMostUnits * eps * largest;
  if (not_finite) return Tolerance{eps, most};
  if (beyond_rounding > 0) return Tolerance{eps, std::min(kPart * beyond_rounding, most)};
  return Tolerance{0, worst > 0 ? std::min(kPart * worst, most) : most};
}

}  // namespace msprobe::shrink
