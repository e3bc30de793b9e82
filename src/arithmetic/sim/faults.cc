// SPDX-License-Identifier: Apache-2.0
#include "sim/faults.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "units/unit_spec.h"

namespace msprobe::sim {
namespace {

using units::Cut;
using units::Inputs;
using units::Order;
using units::Unit;

// Named by block, bits and cut. The way of real units, and the corners between them.
constexpr Unit kCut4{.block = 4, .bits = 23};
constexpr Unit kCut8{.block = 8, .bits = 24};
constexpr Unit kCut16{.block = 16, .bits = 25};

constexpr ProfileRow unit_row(std::string_view name, std::string_view summary, Unit unit,
                              std::optional<CauseClass> cause = {}) {
  return {SimProfile::kMatrixUnit, name, summary, cause, unit};
}

constexpr Unit with(Unit unit, Inputs inputs) {
  unit.inputs = inputs;
  return unit;
}
constexpr Unit with(Unit unit, Order order) {
  unit.order = order;
  return unit;
}

constexpr ProfileRow kProfiles[] = {
    {SimProfile::kExact, "exact", "the CPU's own arithmetic", {}},
    {SimProfile::kBFloat16Accumulate, "bf16-accumulate",
     "products and convolutions keep their sums in bfloat16, 16 terms at a time",
     CauseClass::kAccumulation},
    {SimProfile::kFloat16Accumulate, "fp16-accumulate",
     "products and convolutions keep their sums in float16, 16 terms at a time",
     CauseClass::kAccumulation},
    {SimProfile::kTf32, "tf32", "float32 inputs of products and convolutions keep 10 bits",
     CauseClass::kRounding},
    {SimProfile::kHf32, "hf32", "float32 inputs of products and convolutions keep 11 bits",
     CauseClass::kRounding},
    {SimProfile::kFlushToZero, "ftz", "subnormal inputs and results are zero",
     CauseClass::kSpecialValues},
    {SimProfile::kSaturate, "saturate", "results stop at the largest finite number",
     CauseClass::kSpecialValues},
    {SimProfile::kAtomics, "atomics", "the order of every sum changes from run to run", {}},
    unit_row("unit1-23-cut", "a matrix unit: blocks of 1, 23 bits, cut toward zero",
             {.block = 1, .bits = 23}),
    unit_row("unit1-24-nearest", "blocks of 1, 24 bits, rounded to nearest",
             {.block = 1, .bits = 24, .cut = Cut::kNearest, .sum = Cut::kNearest}),
    unit_row("unit2-24-down", "blocks of 2, 24 bits, cut downward, sums rounded to nearest",
             {.block = 2, .bits = 24, .cut = Cut::kDown, .sum = Cut::kNearest}),
    unit_row("unit4-23-cut", "blocks of 4, 23 bits, cut toward zero", kCut4),
    unit_row("unit4-24-nearest", "blocks of 4, 24 bits, cut toward zero, sums rounded to nearest",
             {.block = 4, .bits = 24, .sum = Cut::kNearest}),
    unit_row("unit8-24-cut", "blocks of 8, 24 bits, cut toward zero", kCut8),
    unit_row("unit8-24-down", "blocks of 8, 24 bits, cut downward",
             {.block = 8, .bits = 24, .cut = Cut::kDown, .sum = Cut::kDown}),
    unit_row(
        "unit8-25-nearest", "blocks of 8, 25 bits, rounded to nearest, products normalized",
        {.block = 8, .bits = 25, .cut = Cut::kNearest, .sum = Cut::kNearest, .normalized = true}),
    unit_row("unit16-25-cut", "blocks of 16, 25 bits, cut toward zero", kCut16),
    unit_row("unit16-24-apart",
             "blocks of 16, 24 bits, cut downward, then added to the running sum in float32",
             {.block = 16, .bits = 24, .cut = Cut::kDown, .sum = Cut::kNearest, .joined = false}),
    unit_row("unit32-25-cut", "blocks of 32, 25 bits, cut toward zero", {.block = 32, .bits = 25}),
    unit_row("unit32-23-down", "blocks of 32, 23 bits, cut downward",
             {.block = 32, .bits = 23, .cut = Cut::kDown, .sum = Cut::kDown}),
    unit_row("unit8-24-strided", "as unit8-24-cut, the terms of a block far apart",
             with(kCut8, Order::kStrided)),
    unit_row("unit16-25-halves", "as unit16-25-cut, the halves of a sum apart",
             with(kCut16, Order::kHalves)),
    unit_row("unit4-23-reversed", "as unit4-23-cut, the last terms first",
             with(kCut4, Order::kReversed)),
    unit_row("unit8-24-tf32", "as unit8-24-cut, float32 inputs rounded to TF32",
             with(kCut8, Inputs::kTf32)),
    unit_row("unit16-25-tf32", "as unit16-25-cut, float32 inputs rounded to TF32",
             with(kCut16, Inputs::kTf32)),
    unit_row("unit16-25-bf16", "as unit16-25-cut, float32 inputs rounded to bfloat16",
             with(kCut16, Inputs::kBFloat16), CauseClass::kRounding),
    unit_row("unit16-25-fp16", "as unit16-25-cut, float32 inputs rounded to float16",
             with(kCut16, Inputs::kFloat16), CauseClass::kRounding),
    {SimProfile::kMatrixUnit,
     "unit16-13-fp8",
     "as unit16-25-cut, but 13 bits of float8 inputs (_scaled_mm)",
     {},
     kCut16,
     13},
};

constexpr FaultRow kFaults[] = {
    {Fault::kZeros, "zeros", "the whole result is zero", CauseClass::kData},
    {Fault::kTimesTwo, "times_two", "the result is doubled", CauseClass::kScale},
    {Fault::kPlusOne, "plus_one", "one is added to the result", CauseClass::kScale},
    {Fault::kOneNan, "one_nan", "one element is NaN", CauseClass::kSpecialValues},
    {Fault::kOneInf, "one_inf", "one element is infinite", CauseClass::kSpecialValues},
    {Fault::kDroppedTail, "dropped_tail", "the last eighth is never written", CauseClass::kData},
    {Fault::kWrongTile, "wrong_tile", "one tile holds what belongs to its neighbour",
     CauseClass::kData},
    {Fault::kTransposedTile, "transposed_tile", "one square tile is transposed", CauseClass::kData},
    {Fault::kShiftedRows, "shifted_rows", "every row is one place too far down", CauseClass::kData},
    {Fault::kStaleBuffer, "stale_buffer", "the result holds what an earlier call left there",
     CauseClass::kData},
    {Fault::kSwappedOutputs, "swapped_outputs", "two results of one shape are exchanged",
     CauseClass::kData},
    {Fault::kWrongDtype, "wrong_dtype", "the result has another dtype", CauseClass::kKind},
    {Fault::kWrongShape, "wrong_shape", "the result has another shape", CauseClass::kKind},
    {Fault::kMissingOutput, "missing_output", "the last result is not there", CauseClass::kKind},
    {Fault::kWrongGradient, "wrong_gradient", "gradients are three quarters of what they should be",
     CauseClass::kGradientOnly},
    {Fault::kWrongMask, "wrong_mask", "zeros are one place off", CauseClass::kData},
    {Fault::kLostBlock, "lost_block", "a product leaves out the last terms of its sums",
     CauseClass::kData},
    {Fault::kLostTerms, "lost_terms", "a product leaves out one term in 16 of its sums",
     CauseClass::kData},
    {Fault::kCoarseSums, "coarse_sums", "sums of 4096 terms and more are kept in bfloat16",
     CauseClass::kAccumulation},
    {Fault::kCrash, "crash", "the process ends by a signal", CauseClass::kLostCall},
    {Fault::kHang, "hang", "the operator does not return", CauseClass::kLostCall},
    {Fault::kOutOfMemory, "out_of_memory", "the device has no memory left", CauseClass::kLostCall},
    {Fault::kNoKernel, "no_kernel", "the operator raises an error: it does not run there",
     CauseClass::kLostCall},
    {Fault::kFourUnits, "four_units",
     "one element of a half type is four numbers too far from zero", CauseClass::kRounding},
    {Fault::kOtherBlockScale, "other_block_scale",
     "a product of codes takes the scale of the next block", CauseClass::kScale},
    {Fault::kScaleExponent, "scale_exponent", "the scale of one block is twice as large",
     CauseClass::kScale},
    {Fault::kOtherAxisScales, "other_axis_scales",
     "the scales of a product are read along the other axis", CauseClass::kScale},
    {Fault::kWrongSwizzle, "wrong_swizzle", "swizzled scales are read plainly", CauseClass::kScale},
    {Fault::kSwappedHalves, "swapped_halves", "the halves of packed codes are exchanged",
     CauseClass::kData},
    {Fault::kFewBits, "few_bits", "products of codes keep 13 bits of their sums",
     CauseClass::kAccumulation},
    {Fault::kStaleAmax, "stale_amax", "a product takes the scale of the step before",
     CauseClass::kScale},
    {Fault::kSaturated, "saturated", "the largest number in place of NaN and infinity",
     CauseClass::kSpecialValues},
    {Fault::kOneUlp, "one_ulp", "every element is the next number", CauseClass::kRounding, true},
    {Fault::kNegativeZero, "negative_zero", "zeros have the other sign", CauseClass::kRounding,
     true},
    {Fault::kOtherRounding, "other_rounding", "results are rounded toward zero",
     CauseClass::kRounding, true},
};
static_assert(std::ranges::is_sorted(kFaults, {}, &FaultRow::fault));
static_assert(std::ranges::is_sorted(kProfiles, {}, &ProfileRow::profile));

template <class Row>
const Row* find(std::span<const Row> rows, std::string_view name) {
  const auto found = std::ranges::find(rows, name, &Row::name);
  return found == rows.end() ? nullptr : &*found;
}

}  // namespace

std::string_view name(CauseClass cause) {
  constexpr std::string_view kNames[] = {
      "scale",          "rounding",           "accumulation",
      "special values", "lost or moved data", "wrong kind or shape",
      "gradient only",  "lost call"};
  return kNames[std::to_underlying(cause)];
}

std::span<const ProfileRow> profiles() { return kProfiles; }
std::span<const FaultRow> faults() { return kFaults; }
const ProfileRow* find_profile(std::string_view name) { return find(profiles(), name); }

Result<ProfileRow> parse_profile(std::string_view text) {
  constexpr std::string_view kUnit = "unit:";
  const std::size_t plus = text.find('+');
  const std::string_view first = text.substr(0, plus);
  ProfileRow row = profiles().front();
  if (first.starts_with(kUnit)) {
    const Result<units::Unit> unit = units::parse_unit(first.substr(kUnit.size()));
    if (!unit) return propagate(unit);
    row = {SimProfile::kMatrixUnit, "unit", "a matrix unit", std::nullopt, *unit};
  } else if (!first.empty()) {
    const ProfileRow* known = find_profile(first);
    if (known == nullptr) {
      return fail(ErrorKind::kUsage, fmt::format("unknown sim profile '{}'", first));
    }
    row = *known;
  }
  row.flushes = row.profile == SimProfile::kFlushToZero;
  row.saturates = row.profile == SimProfile::kSaturate;
  for (std::string_view rest = text.substr(std::min(plus, text.size())); !rest.empty();) {
    rest.remove_prefix(1);
    const std::string_view mode = rest.substr(0, rest.find('+'));
    if (mode != "ftz" && mode != "saturate") {
      return fail(ErrorKind::kUsage,
                  fmt::format("sim profile: '+{}' is neither +ftz nor +saturate", mode));
    }
    (mode == "ftz" ? row.flushes : row.saturates) = true;
    rest.remove_prefix(mode.size());
  }
  return row;
}
const FaultRow* find_fault(std::string_view name) { return find(faults(), name); }
const FaultRow& row_of(Fault fault) { return kFaults[std::to_underlying(fault)]; }

}  // namespace msprobe::sim
