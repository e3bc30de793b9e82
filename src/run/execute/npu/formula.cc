// SPDX-License-Identifier: Apache-2.0
#include "execute/npu/formula.h"

#include <algorithm>

#include <fmt/format.h>

namespace msprobe::execute::npu {
namespace {

// The last two only judge what rows of their own compute.
constexpr std::span<const FormulaRow> (*kFamilies[])() = {
    &quantise_formulas,  &mx_formulas,      &product_formulas,  &routing_formulas,
    &attention_formulas, &serving_formulas, &training_formulas, &gate_formulas};

Packing packing_of(Number number) {
  switch (number) {
    case Number::kInt4:
      return Packing::kInt4InInt32;
    case Number::kE2M1:
      return Packing::kE2M1InByte;
    case Number::kE1M2:
      return Packing::kE1M2InByte;
    default:
      return Packing::kPlain;
  }
}

at::Tensor only_written(const at::Tensor& value, const at::Tensor& written) {
  if (!written.defined() || !value.defined()) return value;
  return at::where(written.to(value.device()), value, at::zeros({}, value.options()));
}

// A mask of words, as one of the numbers in them.
at::Tensor mask_of_numbers(const at::Tensor& mask, Packing packing) {
  const bool as_is = packing == Packing::kPlain || !mask.defined() || mask.size(-1) == 1;
  if (as_is) return mask;
  return mask.repeat_interleave(packing == Packing::kInt4InInt32 ? 8 : 2, mask.dim() - 1);
}

FormulaResults written_results(const FormulaRow& row, const Bound& a, Wish wish) {
  FormulaResults results = row.formula(a, wish);
  if (row.written == nullptr) return results;
  const std::vector<at::Tensor> masks = row.written(a);
  for (std::size_t i = 0; i < std::min(masks.size(), results.size()); ++i) {
    FormulaResult& result = results[i];
    const at::Tensor of_numbers = mask_of_numbers(masks[i], result.packing);
    result.value = only_written(result.value, masks[i]);
    result.lowest = only_written(result.lowest, of_numbers);
    result.highest = only_written(result.highest, of_numbers);
  }
  return results;
}

PyValue run(const FormulaRow& row, const Bound& a) {
  const at::NoGradGuard no_grad;
  PyList returned;
  for (const FormulaResult& result : written_results(row, a, {})) {
    if (!result.argument.empty()) {
      at::Tensor(a.tensor(result.argument)).copy_(result.value);
      if (!row.nothing) returned.push_back({a.tensor(result.argument)});
    } else if (result.value.defined()) {
      returned.push_back({result.value});
    } else {
      returned.push_back({dump::None{}});
    }
  }
  if (row.nothing) return {dump::None{}};
  if (row.single) return returned.front();
  return {std::move(returned)};
}

template <std::size_t kFamily, std::size_t kIndex>
PyValue run_row(const Bound& a) {
  return run(kFamilies[kFamily]()[kIndex], a);
}

constexpr std::size_t kMost = 24;  // rows of a family

template <std::size_t kFamily, std::size_t... kIndex>
void add_rows(std::vector<ApiRow>& rows, std::index_sequence<kIndex...>) {
  constexpr Adapter kRun[] = {&run_row<kFamily, kIndex>...};
  const std::span<const FormulaRow> family = kFamilies[kFamily]();
  TORCH_CHECK(family.size() <= kMost, "more rows than adapters");
  for (std::size_t i = 0; i < family.size(); ++i) {
    if (family[i].judges_only) continue;
    rows.push_back({family[i].api, family[i].signature, kRun[i]});
  }
}

std::vector<ApiRow> all_rows() {
  std::vector<ApiRow> rows;
  add_rows<0>(rows, std::make_index_sequence<kMost>());
  add_rows<1>(rows, std::make_index_sequence<kMost>());
  add_rows<2>(rows, std::make_index_sequence<kMost>());
  add_rows<3>(rows, std::make_index_sequence<kMost>());
  add_rows<4>(rows, std::make_index_sequence<kMost>());
  add_rows<5>(rows, std::make_index_sequence<kMost>());
  return rows;
}

}  // namespace

const FormulaRow* find_formula(std::string_view api) {
  for (const auto family : kFamilies) {
    const auto rows = family();
    const auto found = std::ranges::find(rows, api, &FormulaRow::api);
    if (found != rows.end()) return &*found;
  }
  return nullptr;
}

PyValue run_formula(std::string_view api, const Bound& a) { return run(*find_formula(api), a); }

std::span<const ApiRow> formula_operators() {
  static const std::vector<ApiRow> rows = all_rows();
  return rows;
}

FormulaResults expected_results(const FormulaRow& row, const PyCall& call, Wish wish) {
  const at::NoGradGuard no_grad;
  const Signature signature(row.signature);
  return written_results(row, Bound(signature, call), wish);
}

std::vector<at::Tensor> written_masks(const FormulaRow& row, const PyCall& call) {
  if (row.written == nullptr) return {};
  const at::NoGradGuard no_grad;
  const Signature signature(row.signature);
  return row.written(Bound(signature, call));
}

FormulaResult as_floats(const Bounded& x, at::ScalarType type) {
  FormulaResult result{.value = rounded_once(x.value, type), .lowest = {}, .highest = {}};
  if (!x.slack.defined()) return result;
  result.lowest = rounded_once(x.value - x.slack, type).to(at::kDouble);
  result.highest = rounded_once(x.value + x.slack, type).to(at::kDouble);
  return result;
}

FormulaResult as_codes(const Bounded& x, Number number, RoundMode mode) {
  const at::Tensor value = rounded_to(number, x.value.nan_to_num(0), mode);
  FormulaResult result{.value = {}, .lowest = {}, .highest = {}, .packing = packing_of(number)};
  result.value = result.packing == Packing::kPlain ? value.to(scalar_type_of(number))
                                                   : packed(value, result.packing);
  if (!x.slack.defined()) return result;
  result.lowest = rounded_to(number, (x.value - x.slack).nan_to_num(0), mode);
  result.highest = rounded_to(number, (x.value + x.slack).nan_to_num(0), mode);
  return result;
}

Bounded through(const Bounded& x, at::ScalarType type) {
  const FormulaResult rounded = as_floats(x, type);
  const at::Tensor value = rounded.value.to(at::kDouble);
  if (!x.slack.defined()) return {value, {}};
  return {value, at::maximum(rounded.highest - value, value - rounded.lowest)};
}

FormulaResult as_is(const at::Tensor& tensor) {
  return {.value = tensor, .lowest = {}, .highest = {}};
}

std::optional<Number> opt_number(const Bound& a, std::string_view name) {
  const PyValue& value = a.value(name);
  if (value.is_none()) return std::nullopt;
  std::optional<Number> found;
  if (const auto* type = value.as<at::ScalarType>()) {
    found = number_of(*type);
  } else {
    found = number_of(a.integer(name));
  }
  if (!found) throw BindError(fmt::format("{} is a dtype without a benchmark", name));
  return found;
}

Number number_or(const Bound& a, std::string_view name, Number otherwise) {
  return opt_number(a, name).value_or(otherwise);
}

std::optional<at::Tensor> given_tensor(const Bound& a, std::string_view name) {
  return a.is_none(name) ? std::nullopt : std::optional(a.tensor(name));
}

void refuse(const Bound& a, std::string_view api, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    if (!a.is_none(name)) throw BindError(fmt::format("{}: {} has no benchmark", api, name));
  }
}

at::Tensor group_of_rows(const std::vector<std::int64_t>& ends, std::int64_t rows) {
  std::vector<std::int64_t> groups(static_cast<std::size_t>(rows), -1);
  std::int64_t row = 0;
  for (std::size_t group = 0; group < ends.size(); ++group) {
    TORCH_CHECK(ends[group] >= row && ends[group] <= rows, "a group ends at ", ends[group],
                ", between ", row, " and ", rows, " was expected");
    for (; row < ends[group]; ++row) {
      groups[static_cast<std::size_t>(row)] = static_cast<std::int64_t>(group);
    }
  }
  return at::tensor(groups, at::kLong);
}

}  // namespace msprobe::execute::npu
