// The vector kernel of similarity.h: what the plain loop does for one element, done for vectors of
// doubles.
#include <algorithm>
#include <array>
#include <type_traits>

#include "measure/similarity.h"
#include "measure/vector_targets.h"
#include "measure/widen.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "measure/similarity_kernel.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#if HWY_TARGET == HWY_SCALAR

// A machine without vectors has the plain loop.
namespace msprobe::measure::HWY_NAMESPACE {
namespace {

SimilarityTally similarity_with_target(const TensorView& device, const TensorView& bench,
                                       std::uint64_t first) {
  return tally_similarity_plainly(device, bench, first);
}

}  // namespace
}  // namespace msprobe::measure::HWY_NAMESPACE

#else

#include "measure/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace msprobe::measure::HWY_NAMESPACE {
namespace {

// Sums and extremes of finite elements.
struct SideVectors {
  Vector max = set(-std::numeric_limits<double>::infinity());
  Vector min = set(std::numeric_limits<double>::infinity());
  Vector sum = set(0);
  Vector squares = set(0);

  SideVectors() {}  // written out: a supplied one is not of the vector target

  HWY_INLINE void add(Vector value) {
    max = hn::Max(max, value);
    min = hn::Min(min, value);
    sum = hn::Add(sum, value);
    squares = hn::MulAdd(value, value, squares);
  }

  SideTally tally(std::uint64_t count) const {
    SideTally side;
    side.count = count;
    if (count == 0) return side;
    side.max = maximum(max);
    side.min = hn::GetLane(hn::MinOfLanes(Doubles(), min));
    side.sum = total(sum);
    side.squares = total(squares);
    return side;
  }
};

class PairVectors {
 public:
  PairVectors()
      : dot_(set(0)),
        error_squares_(set(0)),
        error_sum_(set(0)),
        max_error_(set(0)),
        relative_(set(0)),
        bound_(set(0)) {}

  // False, with nothing added, where an element (or a difference) is not finite.
  HWY_INLINE bool add(Vector device, Vector bench) {
    const Vector error = hn::Abs(hn::Sub(device, bench));
    const Vector magnitude = hn::Abs(bench);
    const Mask finite = hn::Lt(error, set(std::numeric_limits<double>::infinity()));
    if (HWY_UNLIKELY(!hn::AllTrue(Doubles(), finite))) return false;
    // Below the bound a relative error is neither the largest nor near a threshold.
    const Mask open = hn::Gt(error, hn::Mul(magnitude, bound_));
    if (!hn::AllFalse(Doubles(), open)) add_open(error, magnitude);
    count_ += hn::Lanes(Doubles());
    dot_ = hn::MulAdd(device, bench, dot_);
    error_squares_ = hn::MulAdd(error, error, error_squares_);
    error_sum_ = hn::Add(error_sum_, error);
    max_error_ = hn::Max(max_error_, error);
    device_.add(device);
    bench_.add(bench);
    return true;
  }

  SimilarityTally tally() const {
    SimilarityTally tally;
    tally.count = tally.finite = count_;
    tally.dot = total(dot_);
    tally.error_squares = total(error_squares_);
    tally.error_sum = total(error_sum_);
    tally.max_abs_error = maximum(max_error_);
    tally.max_relative_error = maximum(relative_);
    tally.beyond_1000 = beyond_1000_;
    tally.beyond_200 = beyond_200_;
    tally.device = device_.tally(count_);
    tally.bench = bench_.tally(count_);
    tally.device_squares = tally.device.squares;
    tally.bench_squares = tally.bench.squares;
    return tally;
  }

 private:
  HWY_INLINE void add_open(Vector error, Vector magnitude) {
    const Mask equal = hn::Eq(error, set(0));
    const Vector relative = hn::IfThenZeroElse(equal, hn::Div(error, magnitude));
    beyond_1000_ += hn::CountTrue(Doubles(), hn::Ge(relative, set(0.001)));
    beyond_200_ += hn::CountTrue(Doubles(), hn::Ge(relative, set(0.005)));
    relative_ = hn::Max(relative_, relative);
    if (highest_ < kBelowThresholds) {
      highest_ = std::min(maximum(relative_), kBelowThresholds);
      bound_ = set(highest_ * (1 - 0x1p-50));
    }
  }

  // Rounding of the product does not reach a threshold from here.
  static constexpr double kBelowThresholds = 0.001 * (1 - 0x1p-48);

  Vector dot_;
  Vector error_squares_;
  Vector error_sum_;
  Vector max_error_;
  Vector relative_;
  Vector bound_;
  double highest_ = 0;
  SideVectors device_;
  SideVectors bench_;
  std::uint64_t count_ = 0;
  std::uint64_t beyond_1000_ = 0;
  std::uint64_t beyond_200_ = 0;
};

// `count` elements; what does not fill a vector and vectors with elements that are not finite go to
// the plain loop.
template <class Device, class Bench>
HWY_INLINE void add_elements(PairVectors& vectors, SimilarityTally& rest, const Device* device,
                             const Bench* bench, std::size_t count, std::uint64_t first) {
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
    add_plainly(rest, std::span(device_block).first(lanes), std::span(bench_block).first(lanes),
                first + i);
  }
}

template <class Device, class Bench>
SimilarityTally tally_stored(const TensorView& device, const TensorView& bench,
                             std::uint64_t first) {
  const auto* d = reinterpret_cast<const Device*>(device.bytes.data());
  const auto* b = reinterpret_cast<const Bench*>(bench.bytes.data());
  const std::size_t count = device.numel();
  const std::size_t whole = count - count % hn::Lanes(Doubles());
  PairVectors vectors;
  SimilarityTally rest;
  add_elements(vectors, rest, d, b, whole, first);
  SimilarityTally tally = vectors.tally();
  merge(tally, rest);
  std::array<double, hn::MaxLanes(Doubles())> device_tail;
  std::array<double, hn::MaxLanes(Doubles())> bench_tail;
  const std::size_t left = count - whole;
  widen(device, whole, std::span(device_tail).first(left));
  widen(bench, whole, std::span(bench_tail).first(left));
  SimilarityTally tail;
  add_plainly(tail, std::span(device_tail).first(left), std::span(bench_tail).first(left),
              first + whole);
  merge(tally, tail);
  return tally;
}

// Any other pair, widened a block at a time.
SimilarityTally tally_widened(const TensorView& device, const TensorView& bench,
                              std::uint64_t first) {
  std::array<double, kBlock> device_block;
  std::array<double, kBlock> bench_block;
  PairVectors vectors;
  SimilarityTally rest;
  const std::size_t count = device.numel();
  for (std::size_t done = 0; done < count; done += kBlock) {
    const std::size_t n = std::min(kBlock, count - done);
    widen(device, done, std::span(device_block).first(n));
    widen(bench, done, std::span(bench_block).first(n));
    const std::size_t whole = n - n % hn::Lanes(Doubles());
    add_elements(vectors, rest, device_block.data(), bench_block.data(), whole, first + done);
    add_plainly(rest, std::span(device_block).subspan(whole, n - whole),
                std::span(bench_block).subspan(whole, n - whole), first + done + whole);
  }
  SimilarityTally tally = vectors.tally();
  merge(tally, rest);
  return tally;
}

using Kernel = SimilarityTally (*)(const TensorView&, const TensorView&, std::uint64_t);

template <class Device>
Kernel kernel_for(DType bench) {
  switch (bench) {
    case DType::kFloat16:
      return &tally_stored<Device, hwy::float16_t>;
    case DType::kBFloat16:
      return &tally_stored<Device, hwy::bfloat16_t>;
    case DType::kFloat32:
      return &tally_stored<Device, float>;
    case DType::kFloat64:
      return &tally_stored<Device, double>;
    default:
      return &tally_widened;
  }
}

SimilarityTally similarity_with_target(const TensorView& device, const TensorView& bench,
                                       std::uint64_t first) {
  switch (device.dtype) {
    case DType::kFloat16:
      return kernel_for<hwy::float16_t>(bench.dtype)(device, bench, first);
    case DType::kBFloat16:
      return kernel_for<hwy::bfloat16_t>(bench.dtype)(device, bench, first);
    case DType::kFloat32:
      return kernel_for<float>(bench.dtype)(device, bench, first);
    case DType::kFloat64:
      return kernel_for<double>(bench.dtype)(device, bench, first);
    default:
      return tally_widened(device, bench, first);
  }
}

}  // namespace
}  // namespace msprobe::measure::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HWY_SCALAR

#if HWY_ONCE
namespace msprobe::measure {

HWY_EXPORT(similarity_with_target);

SimilarityTally tally_similarity(const TensorView& device, const TensorView& bench,
                                 std::uint64_t first) {
  if (is_complex(device.dtype) || is_complex(bench.dtype)) {
    return tally_similarity_plainly(device, bench, first);
  }
  return HWY_DYNAMIC_DISPATCH(similarity_with_target)(device, bench, first);
}

}  // namespace msprobe::measure
#endif
