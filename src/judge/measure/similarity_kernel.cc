// SPDX-License-Identifier: Apache-2.0
// The vector kernel of similarity.h: what the plain loop does for one element, done for vectors.
#include <algorithm>
#include <array>

#include "core/vector_targets.h"
#include "measure/similarity.h"
#include "measure/widen.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "measure/similarity_kernel.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#if HWY_TARGET == HWY_SCALAR

// A machine without vectors has the plain loop.
namespace msprobe::measure::HWY_NAMESPACE {
namespace {

SimilarityTally similarity_with_target(RelativeRule rule, const TensorView& device,
                                       const TensorView& bench, std::uint64_t first) {
  return tally_similarity_plainly_by(rule, device, bench, first);
}

}  // namespace
}  // namespace msprobe::measure::HWY_NAMESPACE

#else

#include "measure/pair_vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace msprobe::measure::HWY_NAMESPACE {
namespace {

// `count` elements; what does not fill a vector and vectors with elements that are not finite go to
// the plain loop.
template <RelativeRule kRule, class Device, class Bench>
HWY_INLINE void add_elements(PairVectors<kRule>& vectors, SimilarityTally& rest,
                             const Device* device, const Bench* bench, std::size_t count,
                             std::uint64_t first) {
  constexpr std::size_t kMost = hn::MaxLanes(Doubles());
  const std::size_t lanes = hn::Lanes(Doubles());
  std::array<double, kMost> device_block;
  std::array<double, kMost> bench_block;
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const Vector d = load(device + i);
    const Vector b = load(bench + i);
    if (HWY_LIKELY(vectors.add(d, b))) continue;
    hn::StoreU(d, Doubles(), device_block.data());
    hn::StoreU(b, Doubles(), bench_block.data());
    add_plainly(rest, kRule, std::span(device_block).first(lanes),
                std::span(bench_block).first(lanes), first + i);
  }
}

// Of pairs that floats can hold, whole groups first. Returns how many elements it took.
template <RelativeRule kRule, class Device, class Bench>
HWY_INLINE std::size_t add_groups(PairVectors<kRule>& vectors, SimilarityTally& rest,
                                  const Device* device, const Bench* bench, std::size_t count,
                                  std::uint64_t first) {
  std::size_t done = 0;
  if constexpr (kAreGrouped<Device, Bench>) {
    const std::size_t group = kFloatVectors * hn::Lanes(Floats());
    for (; done + group <= count; done += group) {
      if (HWY_LIKELY(vectors.add_group(device + done, bench + done))) continue;
      add_elements(vectors, rest, device + done, bench + done, group, first + done);
    }
  }
  return done;
}

template <RelativeRule kRule, class Device, class Bench>
SimilarityTally tally_stored(const TensorView& device, const TensorView& bench,
                             std::uint64_t first) {
  const auto* d = reinterpret_cast<const Device*>(device.bytes.data());
  const auto* b = reinterpret_cast<const Bench*>(bench.bytes.data());
  const std::size_t count = device.numel();
  const std::size_t whole = count - count % hn::Lanes(Doubles());
  PairVectors<kRule> vectors;
  SimilarityTally rest;
  const std::size_t grouped = add_groups(vectors, rest, d, b, whole, first);
  add_elements(vectors, rest, d + grouped, b + grouped, whole - grouped, first + grouped);
  SimilarityTally tally = vectors.tally();
  merge(tally, rest);
  std::array<double, hn::MaxLanes(Doubles())> device_tail;
  std::array<double, hn::MaxLanes(Doubles())> bench_tail;
  const std::size_t left = count - whole;
  widen(device, whole, std::span(device_tail).first(left));
  widen(bench, whole, std::span(bench_tail).first(left));
  SimilarityTally tail;
  add_plainly(tail, kRule, std::span(device_tail).first(left), std::span(bench_tail).first(left),
              first + whole);
  merge(tally, tail);
  return tally;
}

// Any other pair, widened a block at a time.
template <RelativeRule kRule>
SimilarityTally tally_widened(const TensorView& device, const TensorView& bench,
                              std::uint64_t first) {
  std::array<double, kBlock> device_block;
  std::array<double, kBlock> bench_block;
  PairVectors<kRule> vectors;
  SimilarityTally rest;
  const std::size_t count = device.numel();
  for (std::size_t done = 0; done < count; done += kBlock) {
    const std::size_t n = std::min(kBlock, count - done);
    widen(device, done, std::span(device_block).first(n));
    widen(bench, done, std::span(bench_block).first(n));
    const std::size_t whole = n - n % hn::Lanes(Doubles());
    add_elements(vectors, rest, device_block.data(), bench_block.data(), whole, first + done);
    add_plainly(rest, kRule, std::span(device_block).subspan(whole, n - whole),
                std::span(bench_block).subspan(whole, n - whole), first + done + whole);
  }
  SimilarityTally tally = vectors.tally();
  merge(tally, rest);
  return tally;
}

using Kernel = SimilarityTally (*)(const TensorView&, const TensorView&, std::uint64_t);

// The rules with an epsilon are for floats up to 32 bits, or for what is wider.
template <RelativeRule kRule, class Device, class Bench>
Kernel kernel_of_pair() {
  constexpr bool kIsSingle = kAreGrouped<Device, Bench>;
  if constexpr (kRule == RelativeRule::kPlain ||
                kIsSingle == (kRule == RelativeRule::kEpsilonSingle)) {
    return &tally_stored<kRule, Device, Bench>;
  } else {
    return &tally_widened<kRule>;
  }
}

template <RelativeRule kRule, class Device>
Kernel kernel_for(DType bench) {
  switch (bench) {
    case DType::kFloat16:
      return kernel_of_pair<kRule, Device, hwy::float16_t>();
    case DType::kBFloat16:
      return kernel_of_pair<kRule, Device, hwy::bfloat16_t>();
    case DType::kFloat32:
      return kernel_of_pair<kRule, Device, float>();
    case DType::kFloat64:
      return kernel_of_pair<kRule, Device, double>();
    default:
      return &tally_widened<kRule>;
  }
}

template <RelativeRule kRule>
SimilarityTally similarity_by(const TensorView& device, const TensorView& bench,
                              std::uint64_t first) {
  switch (device.dtype) {
    case DType::kFloat16:
      return kernel_for<kRule, hwy::float16_t>(bench.dtype)(device, bench, first);
    case DType::kBFloat16:
      return kernel_for<kRule, hwy::bfloat16_t>(bench.dtype)(device, bench, first);
    case DType::kFloat32:
      return kernel_for<kRule, float>(bench.dtype)(device, bench, first);
    case DType::kFloat64:
      return kernel_for<kRule, double>(bench.dtype)(device, bench, first);
    default:
      return tally_widened<kRule>(device, bench, first);
  }
}

SimilarityTally similarity_with_target(RelativeRule rule, const TensorView& device,
                                       const TensorView& bench, std::uint64_t first) {
  switch (rule) {
    case RelativeRule::kEpsilonSingle:
      return similarity_by<RelativeRule::kEpsilonSingle>(device, bench, first);
    case RelativeRule::kEpsilonDouble:
      return similarity_by<RelativeRule::kEpsilonDouble>(device, bench, first);
    case RelativeRule::kPlain:
      break;
  }
  return similarity_by<RelativeRule::kPlain>(device, bench, first);
}

}  // namespace
}  // namespace msprobe::measure::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HWY_SCALAR

#if HWY_ONCE
namespace msprobe::measure {

HWY_EXPORT(similarity_with_target);

SimilarityTally tally_similarity_by(RelativeRule rule, const TensorView& device,
                                    const TensorView& bench, std::uint64_t first) {
  if (is_complex(device.dtype) || is_complex(bench.dtype)) {
    return tally_similarity_plainly_by(rule, device, bench, first);
  }
  return HWY_DYNAMIC_DISPATCH(similarity_with_target)(rule, device, bench, first);
}

SimilarityTally tally_similarity(const TensorView& device, const TensorView& bench,
                                 std::uint64_t first) {
  return tally_similarity_by(RelativeRule::kPlain, device, bench, first);
}

}  // namespace msprobe::measure
#endif
