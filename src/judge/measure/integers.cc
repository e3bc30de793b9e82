// SPDX-License-Identifier: Apache-2.0
// Pairs of integers and bools: exact, or with the wrap-around of the public tool.
#include <algorithm>
#include <array>

#include "measure/tensor_pair.h"
#include "measure/widen.h"

namespace msprobe::measure {
namespace {

// Wide enough for the difference of any two 64-bit integers, signed or not.
using Exact = __int128;

// uint64 keeps its bits when it is widened to int64.
Exact exact(DType dtype, std::int64_t widened) {
  return dtype == DType::kUInt64 ? Exact{static_cast<std::uint64_t>(widened)} : Exact{widened};
}

double magnitude(Exact value) { return static_cast<double>(value < 0 ? -value : value); }

bool is_signed(DType dtype) { return dtype >= DType::kInt8 && dtype <= DType::kInt64; }

// The integer type NumPy subtracts two integers in.
struct Promoted {
  unsigned bits;
  bool is_signed;
};

// A bool adopts the other's type; of two signs the signed type holds both.
Promoted promote(DType device, DType bench) {
  const auto bits = [](DType dtype) { return static_cast<unsigned>(8 * size_bytes(dtype)); };
  if (device == DType::kBool) return {bits(bench), is_signed(bench)};
  if (bench == DType::kBool || is_signed(device) == is_signed(bench)) {
    return {std::max(bits(device), bench == DType::kBool ? 0U : bits(bench)), is_signed(device)};
  }
  const DType with_sign = is_signed(device) ? device : bench;
  const DType without_sign = is_signed(device) ? bench : device;
  return {std::max(bits(with_sign), 2 * bits(without_sign)), true};
}

// |difference| as an integer of that type has it: the difference wraps around, and so does the
// magnitude of the lowest number. A type beyond 64 bits stands for NumPy's double.
double wrapped_magnitude(Exact difference, const Promoted& type) {
  if (type.bits > 64) return magnitude(difference);
  const auto low = static_cast<std::uint64_t>(difference) << (64 - type.bits);
  if (!type.is_signed) return static_cast<double>(low >> (64 - type.bits));
  const std::int64_t value = static_cast<std::int64_t>(low) >> (64 - type.bits);
  const std::int64_t lowest = std::numeric_limits<std::int64_t>::min() >> (64 - type.bits);
  if (value == lowest) return static_cast<double>(lowest);
  return static_cast<double>(std::abs(value));
}

template <class Error>
Tally tally_with(const TensorPair& pair, std::size_t first, std::size_t count, Error error) {
  Tally tally;
  tally.count = count;
  std::array<std::int64_t, kBlock> device;
  std::array<std::int64_t, kBlock> bench;
  for (std::size_t done = 0; done < count; done += kBlock) {
    const std::size_t n = std::min(kBlock, count - done);
    widen(pair.device, first + done, std::span(device).first(n));
    widen(pair.bench, first + done, std::span(bench).first(n));
    for (std::size_t i = 0; i < n; ++i) {
      const Exact d = exact(pair.device.dtype, device[i]);
      const Exact b = exact(pair.bench.dtype, bench[i]);
      tally.device_abs_max = std::max(tally.device_abs_max, magnitude(d));
      tally.bench_abs_max = std::max(tally.bench_abs_max, magnitude(b));
      tally.max_abs_error = std::max(tally.max_abs_error, error(d - b));
      tally.different += d != b ? 1 : 0;
    }
  }
  return tally;
}

}  // namespace

Tally tally_integer(const TensorPair& pair, std::size_t first, std::size_t count) {
  return tally_with(pair, first, count, &magnitude);
}

Tally tally_reference_integer(const TensorPair& pair, std::size_t first, std::size_t count) {
  const Promoted type = promote(pair.device.dtype, pair.bench.dtype);
  return tally_with(pair, first, count,
                    [&type](Exact difference) { return wrapped_magnitude(difference, type); });
}

}  // namespace msprobe::measure
