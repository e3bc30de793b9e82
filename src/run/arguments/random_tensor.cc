// SPDX-License-Identifier: Apache-2.0
#include "arguments/random_tensor.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <span>

#include <fmt/format.h>

#include "arguments/philox_words.h"
#include "libtorch/dtypes.h"
#include "low_precision/codes.h"

namespace msprobe::arguments {
namespace {

using dump::Statistic;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// The bounds values are drawn from (finite or not), and what was recorded with NaN and infinities.
struct Range {
  Statistic low, high;  // of the finite elements where the record separates them
  Statistic whole_low, whole_high;
  bool finite_known = false;  // low and high are those of the finite elements
};

Range range_of(const dump::TensorRecord& record) {
  const auto is_there = [](const Statistic& s) { return s.kind != Statistic::Kind::kAbsent; };
  Range range{record.min, record.max, record.min, record.max, is_there(record.max_finite)};
  if (is_there(record.min_finite)) range.low = record.min_finite;
  if (is_there(record.max_finite)) range.high = record.max_finite;
  return range;
}

std::string python_text(const Statistic& statistic) {
  switch (statistic.kind) {
    case Statistic::Kind::kInteger:
      return fmt::format("{}", statistic.integer);
    case Statistic::Kind::kReal:
      return fmt::format("{}", statistic.real);
    default:
      return "None";
  }
}

// Of an 8-bit float its own: what is drawn beyond it would be infinite or NaN.
double largest(at::ScalarType type) {
  if (const auto format = low_precision::code_format(type)) return msprobe::largest(*format);
  switch (type) {
    case at::kHalf:
      return 65504;
    case at::kBFloat16:
      return 0x1.FEp127;
    case at::kDouble:
      return std::numeric_limits<double>::max();
    default:
      return std::numeric_limits<float>::max();
  }
}

// Draws u * (high - low) + low, in a way that does not overflow where the range is wider than the
// type.
class Uniform {
 public:
  Uniform(double low, double high) : low_(low), high_(high), wide_(std::isinf(high - low)) {}
  bool is_wide() const { return wide_; }
  double low() const { return low_; }
  double width() const { return high_ - low_; }
  double operator()(double unit) const {
    return wide_ ? low_ * (1 - unit) + high_ * unit : unit * (high_ - low_) + low_;
  }

 private:
  double low_, high_;
  bool wide_;
};

// So many words are drawn at once.
constexpr std::size_t kWordsAtOnce = 1024;

// A number for each word.
template <class T>
void write_numbers(std::span<const std::uint32_t> words, const Uniform& uniform, T* values) {
  if constexpr (std::is_same_v<T, float>) {
    if (!uniform.is_wide()) {
      return uniform_floats(words, uniform.low(), uniform.width(), {values, words.size()});
    }
  }
  for (const std::uint32_t word : words) {
    *values++ =
        c10::convert<T>(static_cast<float>(uniform(static_cast<double>(word >> 8) * 0x1p-24)));
  }
}

template <class T>
void fill_reals(at::Tensor& tensor, const Uniform& uniform, Philox& random) {
  std::span<T> left(tensor.data_ptr<T>(), static_cast<std::size_t>(tensor.numel()));
  if constexpr (std::is_same_v<T, double>) {
    for (double& value : left) value = uniform(random.next_unit());
  } else {
    std::array<std::uint32_t, kWordsAtOnce> drawn;
    while (!left.empty()) {
      const std::span words = std::span(drawn).first(std::min(left.size(), drawn.size()));
      random.next_words(words);
      write_numbers(words, uniform, left.data());
      left = left.subspan(words.size());
    }
  }
}

void fill_floats(at::Tensor& tensor, const Uniform& uniform, Philox& random) {
  switch (tensor.scalar_type()) {
    case at::kHalf:
      return fill_reals<at::Half>(tensor, uniform, random);
    case at::kBFloat16:
      return fill_reals<at::BFloat16>(tensor, uniform, random);
    case at::kDouble:
      return fill_reals<double>(tensor, uniform, random);
    default:
      return fill_reals<float>(tensor, uniform, random);
  }
}

void write(at::Tensor& tensor, std::int64_t index, double value) {
  void* data = tensor.data_ptr();
  switch (tensor.scalar_type()) {
    case at::kHalf:
      static_cast<at::Half*>(data)[index] = c10::convert<at::Half>(static_cast<float>(value));
      return;
    case at::kBFloat16:
      static_cast<at::BFloat16*>(data)[index] = static_cast<float>(value);
      return;
    case at::kDouble:
      static_cast<double*>(data)[index] = value;
      return;
    default:
      static_cast<float*>(data)[index] = static_cast<float>(value);
  }
}

// A NaN or an infinity that was recorded, and the ends of the range.
void write_ends(at::Tensor& tensor, const Range& range, double low, double high) {
  const std::int64_t count = tensor.numel();
  if (count == 0) return;
  if (std::isnan(range.whole_high.real)) {
    write(tensor, 0, count > 2 ? low : kNan);
    if (count > 2) write(tensor, 1, kNan);
    write(tensor, count - 1, high);
    return;
  }
  write(tensor, 0, std::isinf(range.whole_low.real) ? range.whole_low.real : low);
  write(tensor, count - 1, std::isinf(range.whole_high.real) ? range.whole_high.real : high);
}

// Nothing finite was there: infinities as recorded, Min in the last slice.
void fill_infinite(at::Tensor& tensor, const Range& range) {
  tensor.fill_(range.high.real);
  if (tensor.dim() == 0) return;
  tensor.select(0, tensor.size(0) - 1).fill_(range.low.real);
}

at::Tensor random_floats(const dump::TensorRecord& record, at::ScalarType type, Philox& random) {
  Range range = range_of(record);
  const bool coded = low_precision::code_format(type).has_value();
  Shape shape = record.shape;
  if (is_packed(*record.dtype) && !shape.empty()) shape.back() *= 2;
  at::Tensor tensor = at::empty(shape, coded ? at::kFloat : type);
  if (range.finite_known && std::isnan(range.high.real)) {
    tensor.fill_(kNan);
  } else if (range.finite_known && std::isinf(range.high.real)) {
    fill_infinite(tensor, range);
  } else {
    // A record that does not tell finite elements apart leaves the range open where it is not
    // finite: NaN says nothing, an infinity only its side.
    double low = std::isnan(range.low.real) ? -1 : range.low.real;
    double high = std::isnan(range.high.real) ? 1 : range.high.real;
    const double limit = largest(type);
    low = std::clamp(low, -limit, limit);
    high = std::clamp(high, -limit, limit);
    fill_floats(tensor, Uniform(low, high), random);
    write_ends(tensor, range, low, high);
  }
  return coded ? low_precision::encoded(type, tensor) : tensor;
}

std::int64_t as_int64(const Statistic& statistic) {
  if (statistic.kind == Statistic::Kind::kInteger) return statistic.integer;
  if (std::isnan(statistic.real)) return 0;
  constexpr double kLimit = 0x1p63;
  if (statistic.real >= kLimit) return std::numeric_limits<std::int64_t>::max();
  if (statistic.real < -kLimit) return std::numeric_limits<std::int64_t>::min();
  return static_cast<std::int64_t>(statistic.real);
}

at::Tensor random_integers(const dump::TensorRecord& record, at::ScalarType type, Philox& random) {
  const Range range = range_of(record);
  std::int64_t low = as_int64(range.low);
  std::int64_t high = as_int64(range.high);
  if (low > high) std::swap(low, high);
  at::Tensor tensor = at::empty(record.shape, at::kLong);
  auto* data = tensor.data_ptr<std::int64_t>();
  const std::int64_t count = tensor.numel();
  // In unsigned arithmetic the width of the widest range is still a number.
  const auto base = static_cast<std::uint64_t>(low);
  const std::uint64_t width = static_cast<std::uint64_t>(high) - base;
  for (std::int64_t i = 0; i < count; ++i) {
    data[i] = static_cast<std::int64_t>(base + random.next_upto(width));
  }
  if (count > 0) {
    data[0] = low;
    data[count - 1] = high;
  }
  if (type == at::kBool) return tensor > 0;
  return tensor.to(type);
}

at::Tensor random_complex(const dump::TensorRecord& record, at::ScalarType type, Philox& random) {
  dump::TensorRecord modulus = record;
  modulus.dtype = DType::kFloat64;
  const at::Tensor length = random_floats(modulus, at::kDouble, random);
  at::Tensor phase = at::empty(record.shape, at::kDouble);
  fill_reals<double>(phase, Uniform(0, 2 * std::numbers::pi), random);
  return at::polar(length, phase).to(type);
}

}  // namespace

OrSkip<at::Tensor> random_tensor(const dump::TensorRecord& record, Philox random) {
  const auto type = record.dtype ? libtorch::scalar_type(*record.dtype) : std::nullopt;
  if (!type) {
    return skip(SkipReason::kUnknownDType,
                fmt::format("the linked PyTorch has no dtype {}", record.dtype_text));
  }
  if (std::ranges::find(record.shape, 0) != record.shape.end())
    return at::empty(record.shape, *type);
  const Range range = range_of(record);
  if (!range.low.is_number() || !range.high.is_number()) {
    return skip(SkipReason::kNoStatistics,
                fmt::format("Data info Min: {} , Max: {}, info type must be int or float.",
                            python_text(range.low), python_text(range.high)));
  }
  if (is_integer_or_bool(*record.dtype)) return random_integers(record, *type, random);
  if (is_complex(*record.dtype)) return random_complex(record, *type, random);
  return random_floats(record, *type, random);
}

}  // namespace msprobe::arguments
