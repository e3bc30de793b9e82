// SPDX-License-Identifier: Apache-2.0
#include "probe/device_sums.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

#include <ATen/CPUGeneratorImpl.h>

#include "libtorch/autograd.h"

namespace msprobe::probe {
namespace {

constexpr std::int64_t kTerms = 4096;
constexpr std::int64_t kSide = 16;
constexpr std::uint64_t kSeed = 24;
// Roundings to nearest leave 0.0005 here. A unit that keeps 25 bits and splits the sum into eight
// drifts by 0.016.
constexpr double kLeastDrift = 0.005;
// A device that is farther off is wrong, and no unit.
constexpr double kMostDrift = 2;

// Of numbers in 1..2 with 10 bits behind the leading one.
at::Tensor factor(at::Generator& generator, std::int64_t rows, std::int64_t columns) {
  return at::randint(1024, 2048, {rows, columns}, generator, at::kDouble) / 1024;
}

}  // namespace

double drift_of(const at::Tensor& found, const at::Tensor& exact, std::int64_t terms) {
  const at::Tensor mantissa = std::get<0>(at::frexp(exact)).abs() * 2;
  const at::Tensor mean_power = exact.abs() / mantissa * (1 - 2.0 / 3 / mantissa);
  const double unit = std::ldexp(static_cast<double>(terms), -23);
  return ((found - exact) / (mean_power * unit)).median().item<double>();
}

DeviceSums probe_sums(at::Device device) {
  const libtorch::BelowAutograd below;
  at::Generator generator = at::detail::createCPUGenerator(kSeed);
  at::Tensor left = factor(generator, kSide, kTerms);
  left.narrow(0, kSide / 2, kSide / 2).neg_();
  const at::Tensor right = factor(generator, kTerms, kSide);
  const at::Tensor exact = at::matmul(left, right);
  at::Tensor found;
  try {
    found = at::matmul(left.to(at::kFloat).to(device), right.to(at::kFloat).to(device))
                .to(at::kCPU)
                .to(at::kDouble);
  } catch (const std::exception&) {
    return DeviceSums::kUnknown;  // what it cannot run, calls will report
  }
  double most = 0;
  for (const std::int64_t half : {0, 1}) {
    const auto rows = [&](const at::Tensor& all) {
      return all.narrow(0, half * kSide / 2, kSide / 2);
    };
    most = std::max(most, std::abs(drift_of(rows(found), rows(exact), kTerms)));
  }
  return most >= kLeastDrift && most <= kMostDrift ? DeviceSums::kCut : DeviceSums::kRounded;
}

std::function<DeviceSums()> lazy_sums(at::Device device) {
  return [device, known = std::make_shared<std::optional<DeviceSums>>()] {
    if (!*known) *known = probe_sums(device);
    return **known;
  };
}

}  // namespace msprobe::probe
