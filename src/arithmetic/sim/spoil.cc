// SPDX-License-Identifier: Apache-2.0
#include "sim/spoil.h"

#include <csignal>
#include <limits>

#include <ATen/CPUGeneratorImpl.h>
#include <unistd.h>

#include "libtorch/dtypes.h"
#include "low_precision/codes.h"

namespace msprobe::sim {
namespace {

constexpr std::int64_t kTile = 16;

at::Tensor as_matrix(const at::Tensor& t) {
  return t.dim() < 2 ? t.reshape({1, -1}) : t.reshape({-1, t.size(-1)});
}

bool floats(const at::Tensor& t) { return t.is_floating_point() || t.is_complex(); }
bool numbers(const at::Tensor& t) { return t.scalar_type() != at::kBool; }

// Each takes a contiguous result that it owns, of at least one element, and gives what the fault
// makes of it; an undefined tensor where the fault cannot be had with such a result.
using Change = at::Tensor (*)(at::Tensor t, std::uint64_t key);

at::Tensor zeros(at::Tensor t, std::uint64_t) { return t.zero_(); }

at::Tensor times_two(at::Tensor t, std::uint64_t) { return numbers(t) ? t.mul_(2) : at::Tensor(); }

at::Tensor plus_one(at::Tensor t, std::uint64_t) { return numbers(t) ? t.add_(1) : at::Tensor(); }

at::Tensor one_special(at::Tensor t, std::uint64_t key, double value) {
  if (!floats(t)) return {};
  t.flatten()[static_cast<std::int64_t>(key % static_cast<std::uint64_t>(t.numel()))].fill_(value);
  return t;
}
at::Tensor one_nan(at::Tensor t, std::uint64_t key) {
  return one_special(std::move(t), key, std::numeric_limits<double>::quiet_NaN());
}
at::Tensor one_inf(at::Tensor t, std::uint64_t key) {
  return one_special(std::move(t), key, std::numeric_limits<double>::infinity());
}

at::Tensor dropped_tail(at::Tensor t, std::uint64_t) {
  const std::int64_t lost = std::max<std::int64_t>(1, t.numel() / 8);
  if (t.numel() < 2) return {};
  t.flatten().narrow(0, t.numel() - lost, lost).zero_();
  return t;
}

// The second tile of the second row of tiles, as far as there is one.
at::Tensor wrong_tile(at::Tensor t, std::uint64_t) {
  const at::Tensor matrix = as_matrix(t);
  const std::int64_t rows = std::min(kTile, matrix.size(0) - kTile);
  const std::int64_t columns = std::min(kTile, matrix.size(1) - kTile);
  if (rows < 1 || columns < 1) return {};
  const at::Tensor row_of_tiles = matrix.narrow(0, kTile, rows);
  row_of_tiles.narrow(1, kTile, columns).copy_(row_of_tiles.narrow(1, 0, columns).clone());
  return t;
}

at::Tensor transposed_tile(at::Tensor t, std::uint64_t) {
  const at::Tensor matrix = as_matrix(t);
  if (matrix.size(0) < kTile || matrix.size(1) < kTile) return {};
  const at::Tensor tile = matrix.narrow(0, 0, kTile).narrow(1, 0, kTile);
  tile.copy_(tile.t().clone());
  return t;
}

at::Tensor shifted_rows(at::Tensor t, std::uint64_t) {
  if (t.dim() == 0) return {};
  return t.roll(1, t.dim() < 2 ? 0 : t.dim() - 2);
}

// Other numbers of the same range.
at::Tensor stale_buffer(at::Tensor t, std::uint64_t key) {
  if (!t.is_floating_point()) return {};
  const at::Tensor wide = t.to(at::kDouble).nan_to_num(0, 0, 0);
  const double least = wide.min().item<double>();
  const double greatest = wide.max().item<double>();
  if (!(greatest > least)) return {};
  at::Generator generator = at::detail::createCPUGenerator(key);
  return at::empty_like(wide).uniform_(least, greatest, generator).to(t.scalar_type());
}

at::Tensor wrong_dtype(at::Tensor t, std::uint64_t) {
  switch (t.scalar_type()) {
    case at::kFloat:
      return t.to(at::kHalf);
    case at::kHalf:
    case at::kBFloat16:
    case at::kDouble:
      return t.to(at::kFloat);
    case at::kLong:
      return t.to(at::kInt);
    case at::kBool:
      return t.to(at::kByte);
    default:
      return {};
  }
}

at::Tensor wrong_shape(at::Tensor t, std::uint64_t) {
  if (t.dim() > 0 && t.size(0) > 1) return t.narrow(0, 0, t.size(0) - 1).contiguous();
  return t.unsqueeze(0);
}

at::Tensor wrong_gradient(at::Tensor t, std::uint64_t) {
  return floats(t) ? t.mul_(0.75) : at::Tensor();
}

// Only where some elements are zero and some are not.
at::Tensor wrong_mask(at::Tensor t, std::uint64_t) {
  const at::Tensor zero = t.eq(0);
  const double share = zero.to(at::kDouble).mean().item<double>();
  if (share < 0.01 || share > 0.99) return {};
  const at::Tensor flat = t.flatten();
  const at::Tensor beside = flat.roll(1, 0);
  const at::Tensor zero_beside = beside.eq(0);
  const at::Tensor woken = at::where(zero.flatten(), beside, flat);
  return at::where(zero_beside, at::zeros_like(flat), woken).view(t.sizes());
}

// The neighbouring numbers, away from zero: the bit pattern is one more.
at::Tensor one_ulp(at::Tensor t, std::uint64_t) {
  if (!t.is_floating_point() || t.element_size() == 1) return {};
  const at::ScalarType bits = t.element_size() == 2   ? at::kShort
                              : t.element_size() == 4 ? at::kInt
                                                      : at::kLong;
  const at::Tensor finite = t.isfinite().logical_and(t.ne(0));
  t.view(bits).add_(finite.to(bits));
  return t;
}

// One element of a float16 or bfloat16 result.
at::Tensor four_units(at::Tensor t, std::uint64_t key) {
  if (t.scalar_type() != at::kHalf && t.scalar_type() != at::kBFloat16) return {};
  const at::Tensor flat = t.contiguous().flatten();
  const at::Tensor places = flat.isfinite().logical_and(flat.ne(0)).nonzero().flatten();
  if (places.numel() == 0) return {};
  const auto at = places[static_cast<std::int64_t>(key % places.numel())].item<std::int64_t>();
  flat.view(at::kShort).narrow(0, at, 1).add_(4);
  return flat.view(t.sizes());
}

at::Tensor negative_zero(at::Tensor t, std::uint64_t) {
  return t.is_floating_point() ? t.masked_fill_(t.eq(0), -0.0) : at::Tensor();
}

// Half of the elements lie above the true result; rounded toward zero they are the number below.
at::Tensor other_rounding(at::Tensor t, std::uint64_t key) {
  if (!t.is_floating_point() || t.element_size() == 1) return {};
  const at::ScalarType bits = t.element_size() == 2   ? at::kShort
                              : t.element_size() == 4 ? at::kInt
                                                      : at::kLong;
  at::Generator generator = at::detail::createCPUGenerator(key);
  const at::Tensor above = at::empty(t.sizes(), at::kFloat).uniform_(0, 1, generator).lt(0.5);
  t.view(bits).sub_(t.isfinite().logical_and(t.ne(0)).logical_and(above).to(bits));
  return t;
}

// The largest finite number where there is none.
at::Tensor saturated(at::Tensor t, std::uint64_t) {
  if (!t.is_floating_point() || t.isfinite().all().item<bool>()) return {};
  return t.nan_to_num_();
}

struct ChangeRow {
  Fault fault;
  Change change;
};
constexpr ChangeRow kChanges[] = {
    {Fault::kZeros, &zeros},
    {Fault::kTimesTwo, &times_two},
    {Fault::kPlusOne, &plus_one},
    {Fault::kOneNan, &one_nan},
    {Fault::kOneInf, &one_inf},
    {Fault::kDroppedTail, &dropped_tail},
    {Fault::kWrongTile, &wrong_tile},
    {Fault::kTransposedTile, &transposed_tile},
    {Fault::kShiftedRows, &shifted_rows},
    {Fault::kStaleBuffer, &stale_buffer},
    {Fault::kWrongDtype, &wrong_dtype},
    {Fault::kWrongShape, &wrong_shape},
    {Fault::kWrongGradient, &wrong_gradient},
    {Fault::kWrongMask, &wrong_mask},
    {Fault::kFourUnits, &four_units},
    {Fault::kSaturated, &saturated},
    {Fault::kOneUlp, &one_ulp},
    {Fault::kNegativeZero, &negative_zero},
    {Fault::kOtherRounding, &other_rounding},
};

bool same_bits(const at::Tensor& one, const at::Tensor& other) {
  return one.scalar_type() == other.scalar_type() && one.sizes() == other.sizes() &&
         std::memcmp(one.data_ptr(), other.data_ptr(), one.nbytes()) == 0;
}

bool fits(const FaultRule& rule, const at::Tensor& t) {
  const auto dtype = libtorch::dtype_of(t.scalar_type());
  return dtype && t.numel() > 0 && sim::fits(rule, name(*dtype), t.sizes().vec());
}

// Codes are changed as the numbers that they mean.
at::Tensor spoiled_by(const ChangeRow& row, const at::Tensor& right, std::uint64_t key) {
  const auto format = low_precision::code_format(right.scalar_type());
  const bool as_they_are = row.fault == Fault::kWrongDtype || row.fault == Fault::kWrongShape;
  if (!format || as_they_are) return row.change(right.clone(), key);
  if (row.fault == Fault::kSaturated) {
    const at::Tensor wide = low_precision::numbers_of(right);
    const double most = largest(*format);
    return low_precision::encoded(right.scalar_type(), wide.nan_to_num(most, most, -most));
  }
  const at::Tensor wide = low_precision::numbers_of(right).to(at::kFloat);
  const at::Tensor spoiled = row.change(wide, key);
  if (!spoiled.defined()) return {};
  return low_precision::encoded(right.scalar_type(), spoiled.contiguous());
}

bool swap_outputs(const FaultRule& rule, std::vector<at::Tensor>& results) {
  for (std::size_t i = 0; i < results.size(); ++i) {
    for (std::size_t j = i + 1; j < results.size(); ++j) {
      if (!results[i].defined() || !results[j].defined() || !fits(rule, results[i])) continue;
      if (results[i].sizes() != results[j].sizes()) continue;
      if (results[i].scalar_type() != results[j].scalar_type()) continue;
      if (same_bits(results[i].contiguous(), results[j].contiguous())) continue;
      std::swap(results[i], results[j]);
      return true;
    }
  }
  return false;
}

bool lose_output(const FaultRule& rule, std::vector<at::Tensor>& results) {
  for (std::size_t i = results.size(); i-- > 0;) {
    if (!results[i].defined() || !fits(rule, results[i])) continue;
    results[i] = at::Tensor();
    return true;
  }
  return false;
}

}  // namespace

bool spoil(const FaultRule& rule, std::vector<at::Tensor>& results, std::uint64_t key) {
  if (rule.fault == Fault::kSwappedOutputs) return swap_outputs(rule, results);
  if (rule.fault == Fault::kMissingOutput) return lose_output(rule, results);
  const auto* row = std::ranges::find(kChanges, rule.fault, &ChangeRow::fault);
  if (row == std::end(kChanges)) return false;
  // One leaf is hit: the first, from one that the key names on, that the fault changes.
  for (std::size_t i = 0; i < results.size(); ++i) {
    at::Tensor& result = results[(key + i) % results.size()];
    if (!result.defined() || !fits(rule, result)) continue;
    const at::Tensor right = result.contiguous();
    const at::Tensor spoiled = spoiled_by(*row, right, key);
    if (!spoiled.defined() || same_bits(spoiled.contiguous(), right)) continue;
    result = spoiled.contiguous();
    return true;
  }
  return false;
}

bool ends_call(Fault fault) {
  return fault == Fault::kCrash || fault == Fault::kHang || fault == Fault::kOutOfMemory ||
         fault == Fault::kNoKernel;
}

void end_call(Fault fault) {
  if (fault == Fault::kCrash) ::raise(SIGSEGV);
  while (fault == Fault::kHang) ::pause();
  TORCH_CHECK(fault != Fault::kOutOfMemory, "sim: out of memory");
  TORCH_CHECK(fault != Fault::kNoKernel, "sim: no kernel for this operator");
}

}  // namespace msprobe::sim
