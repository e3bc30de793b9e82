// SPDX-License-Identifier: Apache-2.0
#include "documented/dropout.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include "ops/op.h"

namespace msprobe::documented {
namespace {

constexpr double kTolerance = 0.1;         // public tool
constexpr std::uint64_t kSmallest = 100;   // public tool: fewer elements always pass
constexpr double kStandardDeviations = 5;  // documented: no alarm by chance on few draws

template <class Bits>
DropoutCounts count(const TensorView& view, Bits sign, Bits infinity) {
  DropoutCounts counts;
  for (std::size_t i = 0; i < view.numel(); ++i) {
    Bits bits;
    std::memcpy(&bits, view.bytes.data() + i * sizeof(Bits), sizeof(Bits));
    bits = static_cast<Bits>(bits & ~sign);
    counts.zeros += bits == 0 ? 1 : 0;
    counts.nans += bits > infinity ? 1 : 0;
  }
  return counts;
}

// Of the floating dtypes dropout exists for; others count as without zeros.
DropoutCounts count(const TensorView& view) {
  switch (view.dtype) {
    case DType::kFloat16:
      return count<std::uint16_t>(view, 0x8000U, 0x7c00U);
    case DType::kBFloat16:
      return count<std::uint16_t>(view, 0x8000U, 0x7f80U);
    case DType::kFloat32:
      return count<std::uint32_t>(view, 0x80000000U, 0x7f800000U);
    case DType::kFloat64:
      return count<std::uint64_t>(view, 1ULL << 63U, 0x7ff0000000000000ULL);
    default:
      return {};
  }
}

struct Judged {
  bool passes;
  std::string message;
};

Judged beside_bench(double bench, double device, std::uint64_t elements) {
  const double difference = std::abs(bench - device);
  const bool passes = elements < kSmallest || difference < kTolerance;
  return {passes, fmt::format("Dropout: {:.4f} of the bench output and {:.4f} of the device output "
                              "are zero, consider as {}.",
                              bench, device, passes ? "pass" : "error")};
}

// Each element is dropped with probability p; the rest keeps the zeros it came with.
Judged beside_probability(double p, double device, const DropoutCall& call,
                          std::uint64_t elements) {
  const double wanted = call.input_zeros + (1 - call.input_zeros) * p;
  const auto draws = static_cast<double>(call.draws == 0 ? elements : call.draws);
  const double tolerance =
      std::max(kTolerance, kStandardDeviations * std::sqrt(p * (1 - p) / draws));
  const bool passes = std::abs(device - wanted) < tolerance;
  return {passes, fmt::format("Dropout: {:.4f} of the device output is zero, {:.4f} wanted within "
                              "{:.4f}, consider as {}.",
                              device, wanted, tolerance, passes ? "pass" : "error")};
}

}  // namespace

bool judged_by_zeros(std::string_view api, Profile profile) {
  const ops::Traits traits = ops::traits_of(api);
  if (profile == Profile::kReference) return ops::is_dropout(traits);
  return traits.drops == ops::Drops::kZeroes;
}

DetailRow judge_dropout(const OutputPair& pair, const DropoutCounts& bench,
                        const DropoutCounts& device, const DropoutCall& call,
                        const Context& context) {
  std::uint64_t elements = 1;
  for (const std::int64_t extent : pair.device_shape)
    elements *= static_cast<std::uint64_t>(extent);
  const auto share = [&](std::uint64_t zeros) {
    return static_cast<double>(zeros) / static_cast<double>(elements);
  };
  const Judged judged = context.profile == Profile::kDocumented && call.p
                            ? beside_probability(*call.p, share(device.zeros), call, elements)
                            : beside_bench(share(bench.zeros), share(device.zeros), elements);
  DetailRow row = reason_row(context.row_name, judged.passes ? Verdict::kPass : Verdict::kError,
                             judged.message);
  row.bench_dtype = text(pair.bench_dtype);
  row.device_dtype = text(pair.device_dtype);
  row.shape = shape_text(pair.device_shape);
  if (context.profile == Profile::kDocumented && device.nans > bench.nans) {
    row.status = Verdict::kError;
    row.message += fmt::format(" {} elements of the device output are NaN.", device.nans);
  }
  return row;
}

DetailRow judge_dropout(const TensorView& bench, const TensorView& device, const DropoutCall& call,
                        const Context& context) {
  const OutputPair pair{bench.dtype, bench.shape, device.dtype, device.shape};
  return judge_dropout(pair, count(bench), count(device), call, context);
}

}  // namespace msprobe::documented
