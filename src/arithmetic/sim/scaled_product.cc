// SPDX-License-Identifier: Apache-2.0
#include "sim/scaled_product.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "low_precision/codes.h"
#include "low_precision/scaled_call.h"
#include "sim/unit_product.h"

namespace msprobe::sim {
namespace {

using low_precision::Factor;
using low_precision::Part;
using low_precision::ScaledCall;
using low_precision::ScaledProduct;
using torch::jit::Stack;

constexpr units::Unit kFewBits{.block = 32, .bits = 13};
constexpr std::int64_t kInside = 32;     // blocks of so many are scaled by the unit itself
constexpr std::int64_t kLostBlock = 32;  // terms
constexpr double kStaleScale = 0.75;     // of the right one

constexpr std::string_view kNames[] = {"aten::_scaled_mm", "aten::_scaled_mm_v2",
                                       "aten::_scaled_grouped_mm", "aten::_scaled_grouped_mm_v2"};

bool is_scaled(const c10::OperatorHandle& op) {
  return std::ranges::find(kNames, op.schema().name()) != std::end(kNames);
}

// An argument by its name; None if the operator has none of it.
c10::IValue named(const c10::OperatorHandle& op, const Stack& stack, std::string_view name) {
  const auto& arguments = op.schema().arguments();
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].name() == name) return stack[stack.size() - arguments.size() + i];
  }
  return {};
}

low_precision::GivenScales scales_of(const c10::OperatorHandle& op, const Stack& stack,
                                     const std::string& side) {
  low_precision::GivenScales given;
  const c10::IValue scale = named(op, stack, "scale_" + side);
  if (scale.isTensor()) {
    given.scales = {scale.toTensor()};
    return given;
  }
  given.scales = scale.toTensorVector();
  given.recipes = named(op, stack, "recipe_" + side).toIntVector();
  given.swizzles = named(op, stack, "swizzle_" + side).toIntVector();
  return given;
}

at::Tensor tensor_or_none(const c10::IValue& value) {
  return value.isTensor() ? value.toTensor() : at::Tensor();
}

ScaledProduct product_of(const c10::OperatorHandle& op, const Stack& stack) {
  const std::string& name = op.schema().name();
  ScaledCall call;
  call.left = named(op, stack, "self").toTensor();
  call.right = named(op, stack, "mat2").toTensor();
  call.left_scales = scales_of(op, stack, "a");
  call.right_scales = scales_of(op, stack, "b");
  call.grouped = name.find("grouped") != std::string::npos;
  call.first_version = !name.ends_with("_v2");
  if (const at::Tensor ends = tensor_or_none(named(op, stack, "offs")); ends.defined()) {
    const at::Tensor wide = ends.to(at::kLong).contiguous();
    call.ends = {wide.data_ptr<std::int64_t>(), wide.data_ptr<std::int64_t>() + wide.numel()};
  }
  call.bias = tensor_or_none(named(op, stack, "bias"));
  call.type = named(op, stack, "out_dtype")
                  .toOptional<at::ScalarType>()
                  .value_or(call.grouped ? at::kBFloat16 : call.left.scalar_type());
  if (const at::Tensor of_result = tensor_or_none(named(op, stack, "scale_result"));
      of_result.defined()) {
    call.of_result = of_result.item<double>();
  }
  return low_precision::product_of(call);
}

// --- Faults. Each says whether it changed anything. ---

bool replaced(at::Tensor& tensor, const at::Tensor& by) {
  if (at::equal(tensor, by)) return false;
  tensor = by;
  return true;
}

bool other_block(Factor& f) {
  if (!f.scales.defined() || f.scales.numel() < 2) return false;
  return replaced(f.scales, f.scales.roll({-1}, {f.scales.size(1) > 1 ? 1 : 0}));
}

bool wrong_exponent(Factor& f) {
  if (!f.scales.defined() || f.scales.numel() == 0) return false;
  f.scales = f.scales.clone();
  f.scales.select(0, f.scales.size(0) / 2).select(0, f.scales.size(1) / 2).mul_(2);
  return true;
}

bool column_by_column(Factor& f) {
  if (!f.scales.defined() || f.scales.size(0) < 2 || f.scales.size(1) < 2) return false;
  return replaced(f.scales, f.scales.t().reshape(f.scales.sizes()));
}

bool other_axis(Part& part) {
  const bool fits = part.left.scales.defined() && part.right.scales.defined() &&
                    part.left.scales.sizes() == part.right.scales.sizes();
  if (!fits || part.left.scales.numel() < 2) return column_by_column(part.left);
  std::swap(part.left.scales, part.right.scales);
  return !at::equal(part.left.scales, part.right.scales);
}

bool read_plainly(Factor& f) {
  if (!f.scales.defined() || f.block > kInside || f.scales.size(1) < 2) return false;
  const std::int64_t wide = (f.scales.size(1) + 3) / 4 * 4;
  return replaced(f.scales, low_precision::swizzled(f.scales)
                                .view({-1, wide})
                                .narrow(0, 0, f.scales.size(0))
                                .narrow(1, 0, f.scales.size(1))
                                .contiguous());
}

bool swapped_halves(Factor& f) {
  const std::int64_t pairs = f.numbers.size(1) / 2;
  return replaced(f.numbers, f.numbers.unflatten(1, {pairs, 2}).flip(-1).flatten(1).contiguous());
}

bool without_block(Factor& f) {
  const std::int64_t terms = f.numbers.size(1);
  const std::int64_t lost = std::clamp<std::int64_t>(terms / 4, 1, kLostBlock);
  if (terms < 2) return false;
  f.numbers = f.numbers.clone();
  f.numbers.narrow(1, terms - lost, lost).zero_();
  return true;
}

bool changed(Fault fault, ScaledProduct& product) {
  bool any = false;
  for (Part& part : product.parts) {
    if (part.left.numbers.numel() == 0) continue;
    bool here = false;
    switch (fault) {
      case Fault::kOtherBlockScale:
        here = other_block(part.left);
        break;
      case Fault::kScaleExponent:
        here = wrong_exponent(part.left);
        break;
      case Fault::kOtherAxisScales:
        here = other_axis(part);
        break;
      case Fault::kWrongSwizzle:
        here = read_plainly(part.left);
        break;
      case Fault::kSwappedHalves:
        here = low_precision::is_packed(product.left_type) && swapped_halves(part.left);
        break;
      case Fault::kStaleAmax:
        part.left.scale *= kStaleScale;
        here = true;
        break;
      case Fault::kLostBlock:
        here = without_block(part.left);
        break;
      case Fault::kFewBits:
        here = true;
        break;
      default:
        break;
    }
    any = any || here;
  }
  return any;
}

// --- Sums. ---

bool has_blocks(const Factor& f) { return f.scales.defined() && f.scales.size(1) > 1; }

at::Tensor block_scale(const Factor& f, std::int64_t begin) {
  if (!f.scales.defined()) return at::ones({1, 1}, at::kDouble);
  return f.scales.narrow(1, has_blocks(f) ? begin / f.block : 0, 1);
}

at::Tensor multiplied(const units::Unit& unit, const at::Tensor& left, const at::Tensor& right) {
  return unit_matmul(unit, left.to(at::kFloat), right.t().to(at::kFloat)).to(at::kDouble);
}

// As units do: blocks of at most 32 are scaled inside, longer ones after their sum.
at::Tensor sums_of(const units::Unit& unit, const Part& part) {
  const Factor &left = part.left, &right = part.right;
  const std::int64_t terms = left.numbers.size(1);
  std::int64_t block = std::max<std::int64_t>(terms, 1);
  for (const Factor* f : {&left, &right}) {
    if (has_blocks(*f)) block = std::min(block, f->block);
  }
  const double whole = left.scale * right.scale;
  if (block <= kInside && block < terms) {
    Factor inner_left = left, inner_right = right;
    inner_left.scale = inner_right.scale = 1;
    return multiplied(unit, inner_left.scaled(), inner_right.scaled()) * whole;
  }
  at::Tensor sum = at::zeros({left.numbers.size(0), right.numbers.size(0)}, at::kFloat);
  for (std::int64_t begin = 0; begin < terms; begin += block) {
    const std::int64_t length = std::min(block, terms - begin);
    sum += (multiplied(unit, left.numbers.narrow(1, begin, length),
                       right.numbers.narrow(1, begin, length)) *
            block_scale(left, begin) * block_scale(right, begin).t())
               .to(at::kFloat);
  }
  return sum.to(at::kDouble) * whole;
}

at::Tensor result_of(const std::optional<units::Unit>& unit, const ScaledProduct& product) {
  at::Tensor sum = at::zeros(product.shape, at::kDouble);
  for (const Part& part : product.parts) {
    const at::Tensor own =
        unit ? sums_of(*unit, part) : at::mm(part.left.scaled(), part.right.scaled().t());
    part.place_in(sum).copy_(own);
  }
  if (product.bias.defined()) sum = sum + product.bias;
  if (product.of_result) sum = sum / *product.of_result;
  if (low_precision::code_format(product.type)) return low_precision::encoded(product.type, sum);
  return sum.to(product.type);
}

// What PyTorch's CPU has a kernel for: one scale for each factor, or for each of its rows.
bool runs_on_cpu(const ScaledProduct& product) {
  return product.parts.size() == 1 && std::ranges::all_of(product.parts, [&](const Part& part) {
           return !has_blocks(part.left) && !has_blocks(part.right) && part.left.scale == 1 &&
                  part.right.scale == 1 && !low_precision::is_packed(product.left_type);
         });
}

}  // namespace

bool strikes_scaled(Fault fault, const c10::OperatorHandle& op, Stack& stack) {
  if (!is_scaled(op)) return false;
  ScaledProduct product = product_of(op, stack);
  return changed(fault, product);
}

bool compute_scaled(const ProfileRow& profile, const c10::OperatorHandle& op, Stack& stack,
                    const std::vector<Fault>& faults) {
  if (!is_scaled(op)) return false;
  ScaledProduct product = product_of(op, stack);
  std::optional<units::Unit> unit;
  if (profile.profile == SimProfile::kMatrixUnit) {
    unit = profile.unit;
    if (profile.float8_bits > 0) unit->bits = profile.float8_bits;
  }
  bool spoiled = false;
  for (const Fault fault : faults) {
    if (changed(fault, product)) spoiled = true;
    if (fault == Fault::kFewBits) unit = kFewBits;
  }
  const bool grouped = op.schema().name().find("grouped") != std::string::npos;
  if (!unit && !spoiled && !grouped && runs_on_cpu(product)) return false;
  give_result(op, stack, result_of(unit, product));
  return true;
}

}  // namespace msprobe::sim
