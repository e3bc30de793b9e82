// SPDX-License-Identifier: Apache-2.0
// Operators whose results are judged by a formula of their own: quantised results, products with
// scales, caches, what is not defined. A formula gives the right values, the range in which a right
// device may be, and nothing for what the operator leaves unwritten.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "execute/adapter.h"
#include "execute/npu/bounded.h"
#include "execute/npu/low_bits.h"

namespace msprobe::execute::npu {

struct FormulaResult {
  at::Tensor value;  // as the operator gives it; undefined: it gives nothing that is defined
  // Of the numbers in it, in double, where bounds are wanted; both undefined: `value` alone.
  at::Tensor lowest, highest;
  Packing packing = Packing::kPlain;
  // The argument that the operator changes to this; empty: it is returned.
  std::string argument = {};
};
using FormulaResults = std::vector<FormulaResult>;

struct Wish {
  bool bounds = false;
  std::size_t reading = 0;  // of FormulaRow::readings
  // What the device gave, by output, where a choice among equals is to be judged as it made it.
  const std::vector<at::Tensor>* device = nullptr;
};

using Formula = FormulaResults (*)(const Bound&, Wish);
// True where each result is written, undefined if everywhere. As many as there are results.
using WrittenMasks = std::vector<at::Tensor> (*)(const Bound&);

struct FormulaRow {
  std::string_view api;
  std::string_view signature;
  Formula formula;
  WrittenMasks written = nullptr;
  // What the documents leave open, as a right device may do it: "multiplies by the scale".
  std::span<const std::string_view> readings = {};
  // Whether the readings differ for this call; null: they may.
  bool (*is_open)(const Bound&) = nullptr;
  bool single = false;       // one result, not a tuple
  bool nothing = false;      // returns None; all results are arguments
  bool judges_only = false;  // the API is run by a row of its own, which has a gradient
  bool (*applies)(const Bound&) = nullptr;  // to this call; null: to all
};

std::span<const FormulaRow> quantise_formulas();
std::span<const FormulaRow> mx_formulas();
std::span<const FormulaRow> product_formulas();
std::span<const FormulaRow> routing_formulas();
std::span<const FormulaRow> attention_formulas();
std::span<const FormulaRow> training_formulas();
std::span<const FormulaRow> serving_formulas();
std::span<const FormulaRow> gate_formulas();

// The row of an API; null if it has none.
const FormulaRow* find_formula(std::string_view api);

// Runs the first reading of an API's row. REQUIRES: it has one.
PyValue run_formula(std::string_view api, const Bound& a);

// All of the above, as rows that do so.
std::span<const ApiRow> formula_operators();

// What a right device gives for `call`, by one reading.
FormulaResults expected_results(const FormulaRow& row, const PyCall& call, Wish wish);
// Which elements of each result are written. Empty where all are.
std::vector<at::Tensor> written_masks(const FormulaRow& row, const PyCall& call);

// Results of a formula: numbers of `type` rounded once, and codes. A NaN becomes code 0.
FormulaResult as_floats(const Bounded& x, at::ScalarType type);
FormulaResult as_codes(const Bounded& x, Number number, RoundMode mode = RoundMode::kHalfEven);
FormulaResult as_is(const at::Tensor& tensor);
// As if `x` had been rounded to `type` on the way. Next to a tie it may be either neighbour.
Bounded through(const Bounded& x, at::ScalarType type);

// Arguments. A dtype is one of torch_npu's numbers or a torch.dtype.
std::optional<Number> opt_number(const Bound& a, std::string_view name);
Number number_or(const Bound& a, std::string_view name, Number otherwise);
std::optional<at::Tensor> given_tensor(const Bound& a, std::string_view name);
void refuse(const Bound& a, std::string_view api, std::initializer_list<std::string_view> names);

// Rows as codes of eight bits with a scale for each 32 elements, an even number of scales.
struct MxRows {
  FormulaResult codes, scales;
};
MxRows mx_rows(const at::Tensor& rows, Number number, bool bounds);

// Which group each of `rows` belongs to, -1 behind the last, from where the groups end.
at::Tensor group_of_rows(const std::vector<std::int64_t>& ends, std::int64_t rows);

}  // namespace msprobe::execute::npu
