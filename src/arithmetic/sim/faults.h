// SPDX-License-Identifier: Apache-2.0
// What the simulated device can do wrong, and how it computes where it does nothing wrong: names
// and facts alone, for the device, for its configuration and for those who grade a checker by it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "core/result.h"
#include "units/unit.h"

namespace msprobe::sim {

enum class SimProfile : std::uint8_t {
  kExact,
  kBFloat16Accumulate,
  kFloat16Accumulate,
  kTf32,
  kHf32,
  kFlushToZero,
  kSaturate,
  kAtomics,
  kMatrixUnit,  // as the row's unit says
};

enum class Fault : std::uint8_t {
  kZeros,
  kTimesTwo,
  kPlusOne,
  kOneNan,
  kOneInf,
  kDroppedTail,
  kWrongTile,
  kTransposedTile,
  kShiftedRows,
  kStaleBuffer,
  kSwappedOutputs,
  kWrongDtype,
  kWrongShape,
  kMissingOutput,
  kWrongGradient,
  kWrongMask,
  kLostBlock,
  kLostTerms,
  kCoarseSums,
  kCrash,
  kHang,
  kOutOfMemory,
  kNoKernel,
  kFourUnits,
  kOtherBlockScale,
  kScaleExponent,
  kOtherAxisScales,
  kWrongSwizzle,
  kSwappedHalves,
  kFewBits,
  kStaleAmax,
  kSaturated,
  kOneUlp,
  kNegativeZero,
  kOtherRounding,
};

// What a person would call the cause.
enum class CauseClass : std::uint8_t {
  kScale,
  kRounding,
  kAccumulation,
  kSpecialValues,
  kData,  // lost or moved
  kKind,  // another dtype, shape or number of outputs
  kGradientOnly,
  kLostCall,  // the call gives nothing at all
};
std::string_view name(CauseClass cause);

struct ProfileRow {
  SimProfile profile;
  std::string_view name;
  std::string_view summary;
  std::optional<CauseClass> cause;  // none: nothing of it is an error
  units::Unit unit = {};            // of Profile::kMatrixUnit
  int float8_bits = 0;              // that it keeps of float8 inputs; 0: as of others
  bool flushes = false;             // beside what `profile` says, as kFlushToZero and kSaturate do
  bool saturates = false;
};
std::span<const ProfileRow> profiles();
const ProfileRow* find_profile(std::string_view name);

// A named profile, or "unit:KEY=VALUE,..." (units/unit_spec.h), with "+ftz" and "+saturate" behind
// it as wanted.
Result<ProfileRow> parse_profile(std::string_view text);

struct FaultRow {
  Fault fault;
  std::string_view name;
  std::string_view summary;
  CauseClass cause;
  bool excusable = false;  // a checker may let it pass
};
std::span<const FaultRow> faults();
const FaultRow* find_fault(std::string_view name);
const FaultRow& row_of(Fault fault);

}  // namespace msprobe::sim
