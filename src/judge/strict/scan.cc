// SPDX-License-Identifier: Apache-2.0
#include "strict/scan.h"

#include <algorithm>
#include <cstring>

#include "libtorch/autograd.h"
#include "strict/scan_elements.h"

namespace msprobe::strict {

void Limits::add(Of of, double coefficient, std::string_view formula) {
  terms.push_back({formula, of, coefficient});
  double* const sums[] = {&relative, &units, &absolute, &spread, &native};
  if (of != Of::kSizes) *sums[static_cast<std::size_t>(of)] += coefficient;
}

void Limits::lower(double share) {
  for (double* const sum : {&relative, &units, &absolute, &spread}) *sum *= share;
  for (Term& term : terms) term.coefficient *= share;
}

void Scan::add(const Scan& more) {
  count += more.count;
  differ += more.differ;
  beyond += more.beyond;
  not_finite += more.not_finite;
  worst = std::max(worst, more.worst);
  worst_inside = std::max(worst_inside, more.worst_inside);
}

namespace {

// Small enough for the second-level cache with all its companions in double.
constexpr std::int64_t kSlice = std::int64_t{1} << 15;
// Enough to see that limits are too small.
constexpr std::int64_t kFirstSlice = std::int64_t{1} << 11;

// Both sides and the sizes of the limits as real numbers. Of complex numbers the parts are compared
// in the scale of the modulus, and where both sides are not finite they are equal.
struct RealPair {
  at::Tensor device, bench, sizes, spreads, natives, drifts;

  RealPair(const at::Tensor& given_device, const at::Tensor& given_bench, const Limits& limits)
      : device(given_device),
        bench(given_bench),
        spreads(limits.spreads),
        natives(limits.natives),
        drifts(limits.drifts) {
    if (!device.is_complex()) return;
    const auto is_finite = [](const at::Tensor& complex) {
      return at::view_as_real(complex).isfinite().all(-1, /*keepdim=*/true);
    };
    const at::Tensor neither =
        is_finite(device).logical_or_(is_finite(bench.to(device.scalar_type()))).logical_not_();
    device = at::view_as_real(device).masked_fill(neither, 0);
    bench = at::view_as_real(bench.to(at::kComplexDouble)).masked_fill(neither, 0);
    sizes = moduli(bench);
    if (spreads.defined()) spreads = moduli(spreads.view(bench.sizes()));
    if (!natives.defined()) return;
    natives = natives.view(bench.sizes());
    natives = at::where(natives.isfinite(), moduli(natives), natives);
  }

 private:
  static at::Tensor moduli(const at::Tensor& parts) {
    const at::Tensor known = parts.nan_to_num(0, 0, 0);
    return at::hypot(known.select(-1, 0), known.select(-1, 1)).unsqueeze(-1).expand_as(parts);
  }
};

// A tensor that fits is taken as it is: most are small, and every call of LibTorch counts.
at::Tensor piece_of(const at::Tensor& tensor, std::int64_t start, std::int64_t length) {
  if (!tensor.defined() || tensor.numel() == length) return tensor;
  return tensor.flatten().narrow(0, start, length);
}

at::Tensor in_double(const at::Tensor& tensor) {
  return tensor.defined() ? tensor.to(at::kDouble).contiguous() : tensor;
}

const double* doubles(const at::Tensor& tensor) {
  return tensor.defined() ? tensor.data_ptr<double>() : nullptr;
}

void scan_slice(const RealPair& pair, std::int64_t start, std::int64_t length, const Limits& limits,
                const FloatType& type, bool with_shares, Notes& notes) {
  at::Tensor device = piece_of(pair.device, start, length).contiguous();
  at::Tensor bench = piece_of(pair.bench, start, length);
  at::Tensor rounded;
  if (device.scalar_type() != at::kFloat && device.scalar_type() != at::kDouble) {
    rounded = bench.to(device.scalar_type()).contiguous();
    if (!with_shares && same_bytes(device, rounded)) {
      notes.found.count += length;
      return;
    }
    device = device.to(at::kFloat);
    rounded = rounded.to(at::kFloat);
  }
  const bool narrow = device.scalar_type() == at::kFloat;
  bench = in_double(bench);
  const at::Tensor sizes = in_double(piece_of(pair.sizes, start, length));
  const at::Tensor spreads = in_double(piece_of(pair.spreads, start, length));
  const at::Tensor natives = in_double(piece_of(pair.natives, start, length));
  const at::Tensor drifts = in_double(piece_of(pair.drifts, start, length));
  scan_elements(
      {narrow ? device.data_ptr<float>() : nullptr, narrow ? nullptr : device.data_ptr<double>(),
       rounded.defined() ? rounded.data_ptr<float>() : nullptr, doubles(bench), doubles(sizes),
       doubles(spreads), doubles(natives), doubles(drifts), static_cast<std::size_t>(length)},
      start, limits, type, with_shares, notes);
}

void walk(const at::Tensor& device, const at::Tensor& bench, const Limits& limits, Look look,
          Notes& notes) {
  const libtorch::BelowAutograd below;
  const FloatType type = *float_type(device.scalar_type());
  const RealPair pair(device, bench, limits);
  const std::int64_t count = pair.device.numel();
  const bool may_end = look == Look::kUntilBeyond;
  std::int64_t length = may_end ? kFirstSlice : kSlice;
  for (std::int64_t start = 0; start < count; start += length, length = kSlice) {
    length = std::min(length, count - start);
    scan_slice(pair, start, length, limits, type, look == Look::kShares, notes);
    if (may_end && !notes.found.good()) break;
  }
  if (!device.is_complex()) return;
  for (std::int64_t* at : {&notes.found.first, &notes.found.last, &notes.found.worst_at}) {
    if (*at >= 0) *at /= 2;
  }
}

}  // namespace

bool same_bytes(const at::Tensor& one, const at::Tensor& other) {
  return one.scalar_type() == other.scalar_type() &&
         std::memcmp(one.data_ptr(), other.data_ptr(), one.nbytes()) == 0;
}

Scan scan(const at::Tensor& device, const at::Tensor& bench, const Limits& limits, Look look) {
  Notes notes;
  walk(device, bench, limits, look, notes);
  return notes.found;
}

at::Tensor beyond_mask(const at::Tensor& device, const at::Tensor& bench, const Limits& limits) {
  const at::Tensor mask = at::zeros(device.sizes(), at::kBool);
  std::vector<std::int64_t> beyond;
  Notes notes;
  notes.beyond = &beyond;
  walk(device, bench, limits, Look::kWhole, notes);
  const std::int64_t parts = device.is_complex() ? 2 : 1;
  for (const std::int64_t place : beyond) mask.data_ptr<bool>()[place / parts] = true;
  return mask;
}

at::Tensor over_bound(const at::Tensor& device, const at::Tensor& bench, const Limits& limits) {
  const std::int64_t parts = device.is_complex() ? 2 : 1;
  const at::Tensor over = at::zeros({device.numel() * parts}, at::kDouble);
  Notes notes;
  notes.over = over.data_ptr<double>();
  walk(device, bench, limits, Look::kWhole, notes);
  if (!device.is_complex()) return over.view(device.sizes());
  return over.view({-1, 2}).amax(1).view(device.sizes());
}

}  // namespace msprobe::strict
