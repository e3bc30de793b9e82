// SPDX-License-Identifier: Apache-2.0
// Formulas of the operators that quantise by blocks with a power of two as scale. Division by it is
// exact, so scales and codes are unique.
#include <cmath>

#include <fmt/format.h>

#include "execute/npu/experts.h"
#include "execute/npu/formula.h"

namespace msprobe::execute::npu {
namespace {

constexpr std::int64_t kBias = 127;  // of a scale's exponent

struct MxOptions {
  Number number = Number::kE2M1;
  RoundMode mode = RoundMode::kHalfEven;
  std::int64_t algorithm = 0;
  double largest = 0;    // algorithm 2: what the largest element becomes; 0: 6
  double low_bound = 0;  // algorithm 1: of the largest element
};

RoundMode round_mode(const std::string& text) {
  if (text == "rint") return RoundMode::kHalfEven;
  if (text == "floor") return RoundMode::kFloor;
  if (text == "round") return RoundMode::kHalfAway;
  throw BindError(fmt::format("round_mode '{}' has no benchmark", text));
}

MxOptions options_of(const Bound& a) {
  MxOptions options{.number = number_or(a, "dst_type", Number::kE2M1),
                    .mode = round_mode(a.text("round_mode")),
                    .algorithm = a.opt_integer("scale_alg").value_or(0),
                    .largest = a.opt_real("dst_type_max").value_or(0)};
  if (a.has("max_low_bound")) options.low_bound = a.real("max_low_bound");
  if (!is_float8_or_4(options.number) || options.algorithm < 0 || options.algorithm > 2) {
    throw BindError("this dst_type or scale_alg has no benchmark");
  }
  return options;
}

std::int64_t largest_exponent(Number number) {
  switch (number) {
    case Number::kE4M3:
      return 8;
    case Number::kE5M2:
      return 15;
    case Number::kE2M1:
      return 2;
    default:
      return 0;
  }
}

// floor(log2(x)) of positive finite numbers.
at::Tensor exponent_of(const at::Tensor& x) {
  return std::get<1>(at::frexp(x)).to(at::kDouble) - 1;
}

// The scale codes, 0 to 255, of blocks with these largest sizes.
at::Tensor scale_codes(const at::Tensor& largest, const MxOptions& options) {
  at::Tensor exponent;
  if (options.algorithm == 0) {
    exponent = exponent_of(largest) - static_cast<double>(largest_exponent(options.number));
  } else if (options.algorithm == 1) {
    const at::Tensor amax = options.low_bound > 0 ? largest.clamp_min(options.low_bound) : largest;
    const at::Tensor scale = (amax.to(at::kFloat) / largest_of(options.number)).to(at::kDouble);
    const at::Tensor below = exponent_of(scale);
    const at::Tensor more = scale.gt(at::exp2(below)).logical_and(below.lt(127));
    exponent = below + more.to(at::kDouble);
    const at::Tensor small = at::where(scale.gt(std::ldexp(1.0, -127)), -126.0, -127.0);
    exponent = at::where(scale.lt(std::ldexp(1.0, -126)), small, exponent);
  } else {
    const at::Tensor scale = largest / (options.largest > 0 ? options.largest : 6.0);
    const at::Tensor below = exponent_of(scale);
    exponent = below + scale.gt(at::exp2(below)).to(at::kDouble);
  }
  at::Tensor codes = exponent.clamp_min(-kBias) + static_cast<double>(kBias);
  codes = codes.masked_fill(largest.eq(0), 0);
  const at::Tensor beyond = largest.isfinite().logical_not().logical_or(codes.gt(254));
  return codes.masked_fill(beyond, 255);
}

// An even number of codes along the last dimension, in pairs.
at::Tensor in_pairs(const at::Tensor& codes) {
  const at::Tensor even = at::constant_pad_nd(codes, {0, codes.size(-1) % 2});
  return even.unflatten(-1, {-1, 2});
}

at::Tensor sizes_without_nan(const at::Tensor& x) { return x.abs().masked_fill(x.isnan(), 0); }

at::Tensor divided(const at::Tensor& x, const at::Tensor& codes, const MxOptions& options) {
  const at::Tensor scaled = x * at::exp2(static_cast<double>(kBias) - codes);
  return rounded_to(options.number, scaled.masked_fill(x.isnan(), 0), options.mode);
}

struct MxResult {
  at::Tensor values;  // of the codes
  at::Tensor scales;  // codes in pairs, float64
};

// Blocks along `axis`; the last one may be short.
MxResult mx_quantised(const at::Tensor& input, std::int64_t axis, std::int64_t block,
                      const MxOptions& options) {
  const at::Tensor along = input.movedim(axis, -1);
  const std::int64_t count = along.size(-1);
  const at::Tensor padded = at::constant_pad_nd(along, {0, (block - count % block) % block});
  const at::Tensor cut = padded.unflatten(-1, {-1, block});
  const at::Tensor codes = scale_codes(sizes_without_nan(cut).amax(-1), options);
  const at::Tensor values =
      divided(cut, codes.unsqueeze(-1), options).flatten(-2).narrow(-1, 0, count);
  const std::int64_t place = at::maybe_wrap_dim(axis, input.dim());
  return {values.movedim(-1, axis), in_pairs(codes).movedim(-2, place)};
}

FormulaResult codes_of(const at::Tensor& values, Number number, bool bounds) {
  return as_codes(exact(values.contiguous(), bounds), number);
}

}  // namespace

MxRows mx_rows(const at::Tensor& rows, Number number, bool bounds) {
  const MxResult result = mx_quantised(rows, -1, 32, {.number = number});
  return {codes_of(result.values, number, bounds),
          as_is(result.scales.flatten(-2).contiguous().to(at::kByte))};
}

namespace {

FormulaResult scales_of(const at::Tensor& codes) { return as_is(codes.contiguous().to(at::kByte)); }

FormulaResults dynamic_mx_quant(const Bound& a, Wish wish) {
  const MxOptions options = options_of(a);
  const MxResult result = mx_quantised(a.tensor("input").to(at::kDouble), a.integer("axis"),
                                       a.integer("block_size"), options);
  return {codes_of(result.values, options.number, wish.bounds), scales_of(result.scales)};
}

FormulaResults dual_axis(const Bound& a, Wish wish) {
  const MxOptions options = options_of(a);
  const at::Tensor input = a.tensor("input").to(at::kDouble);
  const MxResult rows = mx_quantised(input, -1, 32, options);
  const MxResult columns = mx_quantised(input, -2, 32, options);
  return {codes_of(rows.values, options.number, wish.bounds), scales_of(rows.scales),
          codes_of(columns.values, options.number, wish.bounds), scales_of(columns.scales)};
}

// Rows of the scales: each group has its own, from `start` on.
struct GroupedScales {
  std::int64_t rows = 0;
  std::vector<std::int64_t> start, count;
  std::vector<std::int64_t> ends;
};

GroupedScales grouped_scales(const Bound& a) {
  GroupedScales found;
  found.ends = group_ends(a.tensor("group_index"), 0);
  const std::int64_t rows = a.tensor("x").size(0);
  found.rows = rows / 64 + static_cast<std::int64_t>(found.ends.size());
  std::int64_t first = 0;
  for (std::size_t i = 0; i < found.ends.size(); ++i) {
    found.start.push_back(first / 64 + static_cast<std::int64_t>(i));
    const std::int64_t size = found.ends[i] - first;
    TORCH_CHECK(size >= 0 && found.ends[i] <= rows, "group ", i, " ends at ", found.ends[i], " of ",
                rows, " rows");
    found.count.push_back((size + 63) / 64);
    first = found.ends[i];
  }
  return found;
}

FormulaResults grouped_mx_quant(const Bound& a, Wish wish) {
  const MxOptions options = options_of(a);
  const at::Tensor input = a.tensor("x").to(at::kDouble);
  const GroupedScales places = grouped_scales(a);
  at::Tensor values = at::zeros_like(input);
  at::Tensor scales = at::zeros({places.rows, input.size(1), 2}, input.options());
  std::int64_t first = 0;
  for (std::size_t i = 0; i < places.ends.size(); ++i) {
    const std::int64_t size = places.ends[i] - first;
    if (size > 0) {
      const MxResult part =
          mx_quantised(input.narrow(0, first, size), 0, a.integer("blocksize"), options);
      values.narrow(0, first, size).copy_(part.values);
      scales.narrow(0, places.start[i], places.count[i]).copy_(part.scales);
    }
    first = places.ends[i];
  }
  return {codes_of(values, options.number, wish.bounds), scales_of(scales)};
}

std::vector<at::Tensor> grouped_mx_written(const Bound& a) {
  const GroupedScales places = grouped_scales(a);
  at::Tensor mask = at::zeros({places.rows, 1, 1}, at::kBool);
  for (std::size_t i = 0; i < places.start.size(); ++i) {
    mask.narrow(0, places.start[i], places.count[i]).fill_(true);
  }
  return {{}, mask};
}

// One scale for 32 x 32 elements, given to each of its rows and to each of its columns.
FormulaResults block_mx_quant(const Bound& a, Wish wish) {
  constexpr std::int64_t kBlock = 32;
  const MxOptions options = options_of(a);
  const at::Tensor input = a.tensor("input").to(at::kDouble);
  const std::int64_t rows = input.size(-2);
  const std::int64_t columns = input.size(-1);
  const auto missing = [](std::int64_t size) { return (kBlock - size % kBlock) % kBlock; };
  const at::Tensor padded = at::constant_pad_nd(input, {0, missing(columns), 0, missing(rows)});
  const at::Tensor cut = padded.unflatten(-1, {-1, kBlock}).unflatten(-3, {-1, kBlock});
  at::Tensor largest = sizes_without_nan(cut).amax({-3, -1});
  if (options.algorithm == 2) largest = rounded_once(largest, at::kBFloat16).to(at::kDouble);
  const at::Tensor codes = scale_codes(largest, options);
  const at::Tensor values = divided(cut, codes.unsqueeze(-1).unsqueeze(-3), options)
                                .flatten(-2)
                                .flatten(-3, -2)
                                .narrow(-1, 0, columns)
                                .narrow(-2, 0, rows);
  const at::Tensor by_row = in_pairs(codes.repeat_interleave(kBlock, -2).narrow(-2, 0, rows));
  const at::Tensor by_column =
      in_pairs(codes.transpose(-2, -1).repeat_interleave(kBlock, -2).narrow(-2, 0, columns))
          .transpose(-3, -2);
  return {codes_of(values, options.number, wish.bounds), scales_of(by_row), scales_of(by_column)};
}

constexpr FormulaRow kMxRows[] = {
    {.api = "NPU.npu_dynamic_block_mx_quant",
     .signature = "input, *, round_mode='rint', dst_type=296, scale_alg=0, dst_type_max=0.0",
     .formula = &block_mx_quant},
    {.api = "NPU.npu_dynamic_mx_quant",
     .signature = "input, *, axis=-1, round_mode='rint', dst_type=296, block_size=32, scale_alg=0, "
                  "dst_type_max=0.0, max_low_bound=0.0",
     .formula = &dynamic_mx_quant},
    {.api = "NPU.npu_dynamic_mx_quant_with_dual_axis",
     .signature = "input, *, round_mode='rint', dst_type=296, scale_alg=0, dst_type_max=0.0",
     .formula = &dual_axis},
    {.api = "NPU.npu_grouped_dynamic_mx_quant",
     .signature = "x, group_index, *, round_mode='rint', dst_type=23, blocksize=32, scale_alg=0, "
                  "dst_type_max=0.0",
     .formula = &grouped_mx_quant,
     .written = &grouped_mx_written},
};

}  // namespace

std::span<const FormulaRow> mx_formulas() { return kMxRows; }

}  // namespace msprobe::execute::npu
