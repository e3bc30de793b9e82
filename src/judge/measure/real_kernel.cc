// SPDX-License-Identifier: Apache-2.0
// The vector kernel of documented arithmetic: what plain_loop.cc does for one element, done for
// vectors of doubles.
#include <algorithm>
#include <array>
#include <type_traits>
#include <utility>

#include "core/vector_targets.h"
#include "measure/kernels.h"
#include "measure/widen.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "measure/real_kernel.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#if HWY_TARGET == HWY_SCALAR

// A machine without vectors has the plain loop.
namespace msprobe::measure::HWY_NAMESPACE {
namespace {

Tally tally_with_target(const TensorPair& pair, std::size_t first, std::size_t count) {
  return tally_real(pair, first, count);
}

}  // namespace
}  // namespace msprobe::measure::HWY_NAMESPACE

#else

#include "measure/abs_max-inl.h"
#include "measure/any_halves-inl.h"
#include "measure/any_vectors-inl.h"
#include "measure/clean_halves-inl.h"
#include "measure/clean_vectors-inl.h"
#include "measure/same_vectors-inl.h"
#include "measure/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace msprobe::measure::HWY_NAMESPACE {
namespace {

// What differs between pairs of dtypes in the vector arithmetic.
template <bool rounds, bool ulp, bool coarse>
struct Traits {
  static constexpr bool kRounds = rounds;  // bench may have more bits than the device's array
  static constexpr bool kUlp = ulp;        // the pair has a binary ULP error
  static constexpr bool kCoarse = coarse;  // ordinary rounding errors exceed R = 0.0001
};

// From a share of 1/kShareOfMany of vectors that are not clean, their wrong guesses cost more than
// the short way saves (measured: 1/12 for doubles, 1/6 for half types).
constexpr std::size_t kShareOfMany = 8;
constexpr std::size_t kSparedBlocks = 15;

// Walks `count` elements, a multiple of the lanes, a block at a time; block_of(done, n) says where
// the elements done .. done + n - 1 lie. After a block with many vectors that are not clean, some
// are spared the trial.
template <class Same, class Clean, class Any, class Device, class Bench, class BlockOf>
Tally tally_blocks(const TensorPair& pair, std::size_t count, const BlockOf& block_of) {
  Same same(pair);
  Clean clean(pair);
  Any any(pair);
  AbsMax<Device> device_max;
  AbsMax<Bench> bench_max;
  const std::size_t lanes = Clean::lanes();
  std::size_t spared = 0;
  for (std::size_t done = 0; done < count; done += kBlock) {
    const std::size_t n = std::min(kBlock, count - done);
    const auto [device, bench] = block_of(done, n);
    const bool is_same = same.add(device, bench, n);
    if (!is_same && spared > 0) {
      spared -= 1;
      any.add(device, bench, n);
    } else if (!is_same) {
      std::size_t refused = 0;
      for (std::size_t i = 0; i < n; i += lanes) {
        if (HWY_UNLIKELY(!clean.add(device + i, bench + i))) {
          any.add(device + i, bench + i, lanes);
          if constexpr (Clean::kFloatSum > 0) clean.raise_largest(any.max_relative_error());
          refused += lanes;
        }
        if constexpr (Clean::kFloatSum > 0) {
          if ((i + lanes) % Clean::kFloatSum == 0) clean.flush();
        }
      }
      // The first block says little: half types often exceed the largest R so far there.
      if (done > 0 && refused > n / kShareOfMany) spared = kSparedBlocks;
    }
    // The block is in the cache now.
    device_max.add(device, n);
    bench_max.add(bench, n);
  }
  if constexpr (Clean::kFloatSum > 0) clean.flush();
  Tally tally = any.tally();
  merge(tally, same.tally());
  merge(tally, clean.tally(count - tally.count));
  tally.device_abs_max = device_max.value();
  tally.bench_abs_max = bench_max.value();
  return tally;
}

// What does not fill a vector at the end is left to the plain loop.
Tally with_rest(Tally tally, const TensorPair& pair, std::size_t first, std::size_t count) {
  const std::size_t done = tally.count;
  if (done < count) merge(tally, tally_real(pair, first + done, count - done));
  return tally;
}

std::size_t whole_vectors(std::size_t count) { return count - count % hn::Lanes(Floats()); }

// Whether a side is so small that sums of its squares in float lost digits. From this largest
// magnitude on, what the smaller elements lose does not show.
bool squares_vanish_in_float(const Tally& tally) {
  constexpr double kLowestAbsMax = 0x1p-50;
  const auto vanish = [](double abs_max) { return abs_max > 0 && abs_max < kLowestAbsMax; };
  return vanish(tally.device_abs_max) || vanish(tally.bench_abs_max);
}

// The elements as they lie in memory.
template <class Device, class Bench>
Tally tally_stored(const TensorPair& pair, std::size_t first, std::size_t count) {
  constexpr bool kDeviceArrayIsSingle = std::is_same_v<Device, hwy::bfloat16_t>;
  constexpr std::size_t kArrayBytes = kDeviceArrayIsSingle ? sizeof(float) : sizeof(Device);
  using PairTraits =
      Traits<(sizeof(Bench) > kArrayBytes), !std::is_same_v<Device, double>, sizeof(Device) == 2>;
  const auto* device = reinterpret_cast<const Device*>(pair.device.bytes.data()) + first;
  const auto* bench = reinterpret_cast<const Bench*>(pair.bench.bytes.data()) + first;
  const auto block_of = [=](std::size_t done, std::size_t) {
    return std::pair(device + done, bench + done);
  };
  const std::size_t whole = whole_vectors(count);
  if constexpr (sizeof(Device) == 2 && sizeof(Bench) <= 4) {
    if (HalfLimits::fit(pair)) {
      const Tally tally = tally_blocks<SameVectors<PairTraits>, CleanHalves<PairTraits>,
                                       AnyHalves<PairTraits>, Device, Bench>(pair, whole, block_of);
      if (!squares_vanish_in_float(tally)) return with_rest(tally, pair, first, count);
    }
  }
  const Tally tally = tally_blocks<SameVectors<PairTraits>, CleanVectors<PairTraits>,
                                   AnyVectors<PairTraits>, Device, Bench>(pair, whole, block_of);
  return with_rest(tally, pair, first, count);
}

// Any other pair, widened a block at a time.
template <bool ulp>
Tally tally_widened(const TensorPair& pair, std::size_t first, std::size_t count) {
  using PairTraits = Traits</*rounds=*/true, ulp, /*coarse=*/false>;
  std::array<double, kBlock> device;
  std::array<double, kBlock> bench;
  const Tally tally = tally_blocks<SameVectors<PairTraits>, CleanVectors<PairTraits>,
                                   AnyVectors<PairTraits>, double, double>(
      pair, whole_vectors(count), [&](std::size_t done, std::size_t n) {
        widen(pair.device, first + done, std::span(device).first(n));
        widen(pair.bench, first + done, std::span(bench).first(n));
        return std::pair(device.data(), bench.data());
      });
  return with_rest(tally, pair, first, count);
}

template <class Device>
TallyFunction kernel_for(const TensorPair& pair) {
  if (pair.bench.dtype == DType::kFloat64) return &tally_stored<Device, double>;
  if (pair.bench.dtype == DType::kFloat32) return &tally_stored<Device, float>;
  if (sizeof(Device) == 2 && pair.bench.dtype == pair.device.dtype) {
    return &tally_stored<Device, Device>;
  }
  return pair.format.ulp == UlpKind::kBinary ? &tally_widened<true> : &tally_widened<false>;
}

Tally tally_with_target(const TensorPair& pair, std::size_t first, std::size_t count) {
  switch (pair.device.dtype) {
    case DType::kFloat16:
      return kernel_for<hwy::float16_t>(pair)(pair, first, count);
    case DType::kBFloat16:
      return kernel_for<hwy::bfloat16_t>(pair)(pair, first, count);
    case DType::kFloat32:
      return kernel_for<float>(pair)(pair, first, count);
    case DType::kFloat64:
      return kernel_for<double>(pair)(pair, first, count);
    default:
      return tally_widened<false>(pair, first, count);
  }
}

}  // namespace
}  // namespace msprobe::measure::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HWY_SCALAR

#if HWY_ONCE
namespace msprobe::measure {

HWY_EXPORT(tally_with_target);

Tally tally_real_in_vectors(const TensorPair& pair, std::size_t first, std::size_t count) {
  return HWY_DYNAMIC_DISPATCH(tally_with_target)(pair, first, count);
}

}  // namespace msprobe::measure
#endif
