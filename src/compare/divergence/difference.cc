// SPDX-License-Identifier: Apache-2.0
#include "divergence/difference.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace msprobe::divergence {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

// The difference of one statistic in units of `scale`.
double part(double target, double golden, double scale) {
  if (target == golden || (std::isnan(target) && std::isnan(golden))) return 0;
  if (!std::isfinite(target) || !std::isfinite(golden)) return kInfinite;
  const double apart = std::abs(target - golden);
  return scale > 0 ? apart / scale : kInfinite;
}

// The largest magnitude; 0 where it is unknown or infinite.
double magnitude(const RunTensor& tensor) {
  if (!tensor.has_range) return 0;
  const double largest = std::max(std::abs(tensor.max), std::abs(tensor.min));
  return std::isfinite(largest) ? largest : 0;
}

double real_difference(const RunTensor& target, const RunTensor& golden) {
  double worst = 0;
  const double largest = magnitude(golden);
  if (target.has_range && golden.has_range) {
    worst = std::max(part(target.max, golden.max, largest), part(target.min, golden.min, largest));
  }
  double size = largest;
  if (target.has_norm && golden.has_norm) {
    const double norm = std::abs(golden.norm);
    worst = std::max(worst, part(target.norm, golden.norm, norm));
    if (std::isfinite(norm) && golden.count > 0) size = norm / std::sqrt(golden.count);
  }
  if (target.has_mean && golden.has_mean) {
    worst = std::max(worst, part(target.mean, golden.mean, size));
  }
  return worst;
}

// Whether real_difference() is above `limit`. Most tensors that are not the same differ in the
// norm, so it is asked first.
bool is_real_difference_above(const RunTensor& target, const RunTensor& golden, double limit) {
  if (target.has_norm && golden.has_norm &&
      part(target.norm, golden.norm, std::abs(golden.norm)) > limit) {
    return true;
  }
  return real_difference(target, golden) > limit;
}

// Spread over [0, 1): any two texts are far apart.
double scattered(std::uint64_t hash) {
  return static_cast<double>(mix(hash, 0x27d4eb2fU) >> 11U) * 0x1p-53;
}

double code_of(double value) {  // of a value that no arithmetic can be done with
  if (std::isnan(value)) return 3;
  return value > 0 ? 5 : -5;
}

double share_of(double value, double scale) {
  if (!std::isfinite(value)) return code_of(value);
  return scale > 0 ? std::clamp(value / scale, -2.0, 2.0) : 0;
}

double real_fingerprint(const RunTensor& tensor) {
  const double largest = magnitude(tensor);
  double size = largest;
  double sum = 0;
  if (tensor.has_norm && std::isfinite(tensor.norm)) {
    const double norm = std::abs(tensor.norm);
    sum += std::log(std::max(norm, 1e-300));
    if (tensor.count > 0) size = norm / std::sqrt(tensor.count);
  } else if (tensor.has_norm) {
    sum += 100 * code_of(tensor.norm);
  } else {
    sum += std::log(std::max(largest, 1e-300));
  }
  if (tensor.has_range)
    sum += 0.83 * share_of(tensor.max, largest) + 0.71 * share_of(tensor.min, largest);
  if (tensor.has_mean) sum += 0.57 * share_of(tensor.mean, size);
  return sum;
}

double tensor_fingerprint(const RunTensor& tensor, bool exact) {
  if (exact && tensor.checksum != 0) return scattered(tensor.checksum);
  if (tensor.values == Values::kReal) return real_fingerprint(tensor);
  if (!tensor.has_range) return 0;
  return scattered(
      mix(std::bit_cast<std::uint64_t>(tensor.max), std::bit_cast<std::uint64_t>(tensor.min)));
}

// Between 1 and 2, another one for each place.
double weight(std::size_t place) {
  const double turn = static_cast<double>(place) * 0.6180339887498949;
  return 1 + (turn - std::floor(turn));
}

}  // namespace

double difference(const RunTensor& target, const RunTensor& golden, bool exact) {
  if (target.form != golden.form) return kInfinite;
  const bool by_checksum = exact && target.checksum != 0 && golden.checksum != 0;
  if (by_checksum && target.checksum != golden.checksum) return 1;
  double apart = 0;
  if (target.values == Values::kReal) {
    apart = real_difference(target, golden);
  } else if (target.has_range && golden.has_range) {
    apart = target.max == golden.max && target.min == golden.min ? 0 : 1;
  }
  // Recorded checksums can be wrong: values that contradict an equal one count.
  return by_checksum && apart <= tolerance(target, golden) ? 0 : apart;
}

double tolerance(const RunTensor& target, const RunTensor& golden) {
  return std::max(kAgreement, kAgreementSpacings * std::max(target.spacing, golden.spacing));
}

Worst worst_of(std::span<const RunTensor> target, std::span<const RunTensor> golden, bool exact) {
  Worst worst;
  if (target.size() != golden.size()) {
    worst.comparable = false;
    worst.difference = worst.excess = kInfinite;
    return worst;
  }
  for (std::size_t i = 0; i < target.size(); ++i) {
    if (target[i].form != golden[i].form) worst.comparable = false;
    const double apart = difference(target[i], golden[i], exact);
    const double excess = apart / tolerance(target[i], golden[i]);
    if (excess > worst.excess) worst = {apart, excess, i, worst.comparable};
  }
  return worst;
}

bool agree(std::span<const RunTensor> target, std::span<const RunTensor> golden, bool exact,
           double share) {
  if (target.size() != golden.size()) return false;
  for (std::size_t i = 0; i < target.size(); ++i) {
    const double limit = share * tolerance(target[i], golden[i]);
    const bool is_plain = !exact && target[i].values == Values::kReal;
    if (is_plain && target[i].form == golden[i].form) {
      if (is_real_difference_above(target[i], golden[i], limit)) return false;
    } else if (difference(target[i], golden[i], exact) > limit) {
      return false;
    }
  }
  return true;
}

double fingerprint(std::span<const RunTensor> tensors, bool exact) {
  double sum = 0;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    sum += weight(i) * tensor_fingerprint(tensors[i], exact);
  }
  return sum;
}

// A relative difference d moves the logarithm by d, each share by 2 d (its scale moves too).
double slack(std::span<const RunTensor> tensors) {
  return 2 * (1 + 2 * (0.83 + 0.71 + 0.57)) * static_cast<double>(tensors.size());
}

std::uint64_t form_of(std::span<const RunTensor> tensors) {
  std::uint64_t form = tensors.size();
  for (const RunTensor& tensor : tensors) form = mix(form, tensor.form);
  return form;
}

}  // namespace msprobe::divergence
