#include "sim/faults.h"

#include <algorithm>
#include <utility>

namespace msprobe::sim {
namespace {

constexpr ProfileRow kProfiles[] = {
    {Profile::kExact, "exact", "the CPU's own arithmetic", {}},
    {Profile::kBFloat16Accumulate, "bf16-accumulate",
     "products and convolutions keep their sums in bfloat16, 16 terms at a time",
     CauseClass::kAccumulation},
    {Profile::kFloat16Accumulate, "fp16-accumulate",
     "products and convolutions keep their sums in float16, 16 terms at a time",
     CauseClass::kAccumulation},
    {Profile::kTf32, "tf32", "float32 inputs of products and convolutions keep 10 bits",
     CauseClass::kRounding},
    {Profile::kHf32, "hf32", "float32 inputs of products and convolutions keep 11 bits",
     CauseClass::kRounding},
    {Profile::kFlushToZero, "ftz", "subnormal inputs and results are zero",
     CauseClass::kSpecialValues},
    {Profile::kSaturate, "saturate", "results stop at the largest finite number",
     CauseClass::kSpecialValues},
    {Profile::kAtomics, "atomics", "the order of every sum changes from run to run", {}},
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
    {Fault::kWrongMask, "wrong_mask", "zeros stand one place beside where they belong",
     CauseClass::kData},
    {Fault::kLostBlock, "lost_block", "a product leaves out the last terms of its sums",
     CauseClass::kData},
    {Fault::kCrash, "crash", "the process ends by a signal", CauseClass::kLostCall},
    {Fault::kHang, "hang", "the operator does not return", CauseClass::kLostCall},
    {Fault::kOutOfMemory, "out_of_memory", "the device has no memory left", CauseClass::kLostCall},
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
const FaultRow* find_fault(std::string_view name) { return find(faults(), name); }
const FaultRow& row_of(Fault fault) { return kFaults[std::to_underlying(fault)]; }

}  // namespace msprobe::sim
