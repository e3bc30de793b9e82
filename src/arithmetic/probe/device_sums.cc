// SPDX-License-Identifier: Apache-2.0
#include "probe/device_sums.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <vector>

#include <ATen/CPUGeneratorImpl.h>

#include "libtorch/autograd.h"

namespace msprobe::probe {
namespace {

constexpr std::int64_t kTerms = 16384;
constexpr std::int64_t kSide = 16;
constexpr std::int64_t kOne = 128;  // factors are kOne..2 kOne - 1 of this
constexpr std::int64_t kScales = 9;
constexpr int kPieces = 4;
constexpr std::uint64_t kSeed = 24;
// Roundings to nearest leave at most 0.0003. A unit that keeps 25 bits, rounds its sums and splits
// them into eight drifts by 0.006.
constexpr double kLeastDrift = 0.001;
// A device that is farther off in one element is wrong, and no unit.
constexpr double kMostDrift = 2;

// Numbers in 1..2 with 7 bits behind the leading one.
at::Tensor factor(at::Generator& generator, std::int64_t rows, std::int64_t columns) {
  return at::randint(kOne, 2 * kOne, {rows, columns}, generator, at::kDouble) / kOne;
}

}  // namespace

Question question() {
  at::Generator generator = at::detail::createCPUGenerator(kSeed);
  const at::Tensor scales = at::exp2(-at::randint(0, kScales, {kTerms}, generator, at::kDouble));
  at::Tensor left = factor(generator, kSide, kTerms) * scales;
  left.narrow(0, kSide / 2, kSide / 2).neg_();
  const at::Tensor right = factor(generator, kTerms, kSide);
  const at::Tensor sums = at::matmul(left, right);
  // The sums in pieces of 8 bits, each times one of the unit matrix.
  std::vector<at::Tensor> lefts{left};
  std::vector<at::Tensor> rights{right};
  at::Tensor rest = sums;
  for (int i = 0; i < kPieces; ++i) {
    const auto [mantissa, exponent] = at::frexp(rest);
    const at::Tensor piece = at::ldexp((mantissa * (2 * kOne)).trunc() / (2 * kOne), exponent);
    rest = rest - piece;
    lefts.push_back(-piece);
    rights.push_back(at::eye(kSide, at::kDouble));
  }
  return {at::cat(lefts, 1), at::cat(rights, 0), sums, rest, kTerms};
}

Drift drift_of(const Question& question, const at::Tensor& answer) {
  // The mean of the power of two below a sum that grows evenly.
  const at::Tensor mantissa = std::get<0>(at::frexp(question.sums)).abs() * 2;
  const at::Tensor power = question.sums.abs() / mantissa * (1 - 2.0 / 3 / mantissa);
  const double unit = std::ldexp(static_cast<double>(question.terms), -23);
  const at::Tensor drifts = (answer.to(at::kDouble) - question.rest) / (power * unit);
  const std::int64_t half = drifts.size(0) / 2;
  const auto median = [&](std::int64_t first) {
    return std::abs(drifts.narrow(0, first, half).median().item<double>());
  };
  return {std::max(median(0), median(half)), drifts.abs().max().item<double>()};
}

DeviceSums probe_sums(at::Device device, at::ScalarType type) {
  const libtorch::BelowAutograd below;
  const Question asked = question();
  try {
    const at::Tensor answer =
        at::matmul(asked.left.to(type).to(device), asked.right.to(type).to(device)).to(at::kCPU);
    const Drift drift = drift_of(asked, answer);
    const bool cuts = drift.usual >= kLeastDrift && drift.largest <= kMostDrift;
    return cuts ? DeviceSums::kCut : DeviceSums::kRounded;
  } catch (const std::exception&) {
    return DeviceSums::kUnknown;  // errors here are reported again by the call itself
  }
}

AskSums lazy_sums(at::Device device) {
  return [device,
          known = std::make_shared<std::map<at::ScalarType, DeviceSums>>()](at::ScalarType type) {
    const auto found = known->find(type);
    if (found != known->end()) return found->second;
    return known->emplace(type, probe_sums(device, type)).first->second;
  };
}

}  // namespace msprobe::probe
