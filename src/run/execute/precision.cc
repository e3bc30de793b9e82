// SPDX-License-Identifier: Apache-2.0
#include "execute/precision.h"

#include <set>

#include "core/call_name.h"
#include "execute/execute_call.h"
#include "execute/value_tree.h"
#include "libtorch/dtypes.h"
#include "low_precision/codes.h"
#include "ops/autocast.h"
#include "ops/op.h"

namespace msprobe::execute {
namespace {

using arguments::PyCall;

bool is_half(at::ScalarType type) { return type == at::kHalf || type == at::kBFloat16; }

struct Seen {
  std::set<at::ScalarType> floats;  // float16, bfloat16, float32
  bool dtype_argument = false;
  bool codes = false;  // of 8 or 4 bits
};

Seen look_at(const PyCall& call) {
  Seen seen;
  const auto look = [&](const PyValue& leaf) {
    if (leaf.as<at::ScalarType>() != nullptr) seen.dtype_argument = true;
    const auto* tensor = leaf.as<at::Tensor>();
    if (tensor == nullptr) return;
    const at::ScalarType type = tensor->scalar_type();
    if (is_half(type) || type == at::kFloat) seen.floats.insert(type);
    seen.codes = seen.codes || low_precision::code_format(type);
  };
  for (const PyValue& value : call.args) for_each_leaf(value, look);
  for (const auto& [name, value] : call.kwargs) for_each_leaf(value, look);
  return seen;
}

// The dtype of the first recorded output, where it is a floating one.
c10::optional<at::ScalarType> recorded_float(const dump::CallRecord& record) {
  if (record.forward.output.empty()) return c10::nullopt;
  const auto* tensor = record.forward.output.front().as<dump::TensorRecord>();
  if (tensor == nullptr || !tensor->dtype || !is_float(*tensor->dtype)) return c10::nullopt;
  const auto type = libtorch::scalar_type(*tensor->dtype);
  return type ? c10::optional<at::ScalarType>(*type) : c10::nullopt;
}

c10::optional<at::ScalarType> autocast_of(const Seen& seen, c10::optional<at::ScalarType> output) {
  std::set<DType> inputs;
  for (const at::ScalarType type : seen.floats) inputs.insert(*libtorch::dtype_of(type));
  const auto half = ops::autocast_of(inputs, output ? libtorch::dtype_of(*output) : std::nullopt);
  const auto type = half ? libtorch::scalar_type(*half) : std::nullopt;
  return type ? c10::optional<at::ScalarType>(*type) : c10::nullopt;
}

c10::optional<at::ScalarType> half_of(const Seen& seen, c10::optional<at::ScalarType> output) {
  if (output) return is_half(*output) ? output : c10::nullopt;
  if (seen.dtype_argument || seen.floats.size() != 1 || !is_half(*seen.floats.begin())) {
    return c10::nullopt;
  }
  return *seen.floats.begin();
}

}  // namespace

at::ScalarType Precision::raised(at::ScalarType type) const {
  if (!raise) return type;
  switch (type) {
    case at::kHalf:
    case at::kBFloat16:
    case at::kFloat:
      return type == at::kFloat && target == at::kFloat ? at::kFloat : target;
    case at::kComplexHalf:
      return at::kComplexFloat;
    case at::kComplexFloat:
      return target == at::kDouble ? at::kComplexDouble : type;
    default:
      const auto dtype = libtorch::dtype_of(type);
      return dtype && is_float8(*dtype) ? at::kFloat : type;
  }
}

Precision precision_of(const PyCall& call, const dump::CallRecord& record, const CallName& name,
                       bool hf32) {
  const ops::Traits traits = ops::traits_of(name.bare_name);
  const Seen seen = look_at(call);
  Precision precision;
  precision.raise = traits.raise != ops::Raise::kNever &&
                    !(traits.raise == ops::Raise::kWithoutDtype && seen.dtype_argument);
  const bool only_float = seen.floats.empty() || seen.floats == std::set{at::kFloat};
  const bool two_steps = traits.raise == ops::Raise::kEvenToFloat64;
  const bool float_stays =
      traits.raise == ops::Raise::kToFloat32 || (hf32 && traits.inputs == ops::InputRule::kHf32);
  precision.target = two_steps || (only_float && !float_stays) ? at::kDouble : at::kFloat;
  const auto output = recorded_float(record);
  // Autocast leaves codes alone; their scales are float32, whatever the result is.
  if (!seen.codes) precision.autocast = autocast_of(seen, output);
  precision.round_inputs =
      precision.autocast && output == precision.autocast && !seen.dtype_argument && traits.autocast;
  precision.half = half_of(seen, output);
  return precision;
}

}  // namespace msprobe::execute
