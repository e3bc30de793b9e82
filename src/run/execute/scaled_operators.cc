// SPDX-License-Identifier: Apache-2.0
#include "execute/scaled_operators.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "libtorch/dtypes.h"
#include "low_precision/codes.h"
#include "low_precision/scaled_call.h"

namespace msprobe::execute {
namespace {

using low_precision::ScaledProduct;

// How the operators name what they are given.
struct ScaledRow {
  std::string_view name;
  std::string_view signature;
  bool grouped;
  bool first_version;  // finds the recipe itself
  bool scaled = true;
};
constexpr ScaledRow kScaledRows[] = {
    {"_scaled_mm",
     "self, mat2, scale_a, scale_b, bias=None, scale_result=None, out_dtype=None, "
     "use_fast_accum=False",
     false, true},
    {"_scaled_mm_v2",
     "self, mat2, scale_a, recipe_a, swizzle_a, scale_b, recipe_b, swizzle_b, bias=None, "
     "out_dtype=None, contraction_dim=[], use_fast_accum=False",
     false, false},
    {"_scaled_grouped_mm",
     "self, mat2, scale_a, scale_b, offs=None, bias=None, scale_result=None, out_dtype=None, "
     "use_fast_accum=False",
     true, true},
    {"_scaled_grouped_mm_v2",
     "self, mat2, scale_a, recipe_a, swizzle_a, scale_b, recipe_b, swizzle_b, offs=None, "
     "bias=None, out_dtype=None, contraction_dim=[], use_fast_accum=False",
     true, false},
    {"_grouped_mm", "self, mat2, offs=None, bias=None, out_dtype=None", true, false, false},
    {"grouped_mm", "self|mat_a, mat2|mat_b, *, offs=None, bias=None, out_dtype=None", true, false,
     false},
    {"scaled_mm",
     "self|mat_a, mat2|mat_b, scale_a, recipe_a|scale_recipe_a, scale_b, recipe_b|scale_recipe_b, "
     "swizzle_a=None, swizzle_b=None, bias=None, out_dtype|output_dtype=None, contraction_dim=[], "
     "use_fast_accum=False",
     false, false},
    {"scaled_grouped_mm",
     "self|mat_a, mat2|mat_b, scale_a, recipe_a|scale_recipe_a, scale_b, recipe_b|scale_recipe_b, "
     "swizzle_a=None, swizzle_b=None, bias=None, offs=None, out_dtype|output_dtype=None, "
     "contraction_dim=[], use_fast_accum=False",
     true, false},
};

const ScaledRow* find_scaled_row(std::string_view bare_name) {
  const auto* row = std::ranges::find(kScaledRows, bare_name, &ScaledRow::name);
  return row == std::end(kScaledRows) ? nullptr : row;
}

// Of torch.nn.functional, whose default result is bfloat16.
bool is_functional(const ScaledRow& row) { return !row.name.starts_with('_'); }

// One scale or a list of them: those of blocks first, then one of the whole tensor.
std::vector<at::Tensor> scales_in(const Bound& a, std::string_view name) {
  if (const auto* one = a.value(name).as<at::Tensor>()) return {*one};
  return a.tensors(name);
}

std::vector<std::int64_t> enums_in(const Bound& a, std::string_view name) {
  if (!a.has(name) || a.is_none(name)) return {};
  if (const auto one = as_integer(a.value(name))) return {*one};
  return a.integers(name);
}

std::vector<std::int64_t> ends_of(const Bound& a) {
  if (a.is_none("offs")) return {};
  const at::Tensor ends = a.tensor("offs").to(at::kCPU, at::kLong).contiguous();
  const auto* first = ends.data_ptr<std::int64_t>();
  return {first, first + ends.numel()};
}

low_precision::ScaledCall call_of(const ScaledRow& row, const Bound& a) {
  low_precision::ScaledCall call;
  call.left = a.tensor("self");
  call.right = a.tensor("mat2");
  call.scaled = row.scaled;
  call.grouped = row.grouped;
  call.first_version = row.first_version;
  if (row.scaled) {
    call.left_scales = {scales_in(a, "scale_a"), enums_in(a, "recipe_a"), enums_in(a, "swizzle_a")};
    call.right_scales = {scales_in(a, "scale_b"), enums_in(a, "recipe_b"),
                         enums_in(a, "swizzle_b")};
  }
  if (row.grouped) call.ends = ends_of(a);
  const at::ScalarType otherwise =
      is_functional(row) || (row.grouped && row.scaled) ? at::kBFloat16 : call.left.scalar_type();
  call.type = a.opt_dtype("out_dtype").value_or(otherwise);
  call.fast_sums = a.has("use_fast_accum") && a.opt_boolean("use_fast_accum").value_or(false);
  if (const auto bias = a.opt_tensor("bias")) call.bias = *bias;
  if (a.has("scale_result") && !a.is_none("scale_result")) {
    call.of_result = a.tensor("scale_result").item<double>();
  }
  return call;
}

ScaledProduct product_of(const ScaledRow& row, const Bound& a) {
  return low_precision::product_of(call_of(row, a));
}

// As the benchmark gives it: scale_result divides an 8-bit result, as PyTorch's CPU has it.
PyValue composed(const ScaledProduct& product) {
  at::Tensor result = low_precision::compose(product);
  if (product.of_result) result = result / *product.of_result;
  return {result};
}

template <std::size_t kPlace>
PyValue run_benchmark(const Bound& a) {
  return composed(product_of(kScaledRows[kPlace], a));
}

template <std::size_t... kPlaces>
std::array<Api, sizeof...(kPlaces)> make_benchmarks(std::index_sequence<kPlaces...>) {
  return {Api(ApiRow{kScaledRows[kPlaces].name, kScaledRows[kPlaces].signature,
                     &run_benchmark<kPlaces>})...};
}

// What belongs to no group: from `begin` on along `dim` of a matrix.
struct Rest {
  std::int64_t dim, begin;
};

std::optional<Rest> rest_of(std::string_view bare_name, const PyCall& call) {
  const ScaledRow* row = find_scaled_row(bare_name);
  if (row == nullptr || !row->grouped) return std::nullopt;
  const Signature signature(row->signature);
  const Bound bound(signature, call);
  const std::vector<std::int64_t> ends = ends_of(bound);
  const bool left_matrices = bound.tensor("self").dim() == 3;
  const bool right_matrices = bound.tensor("mat2").dim() == 3;
  if (ends.empty() || left_matrices == right_matrices) return std::nullopt;
  return Rest{left_matrices ? 1 : 0, std::max<std::int64_t>(ends.back(), 0)};
}

void clear(PyValue& value, const Rest& rest) {
  const auto* given = value.as<at::Tensor>();
  if (given == nullptr || given->dim() != 2 || rest.begin >= given->size(rest.dim)) return;
  at::Tensor cleared = given->detach().clone();
  cleared.narrow(rest.dim, rest.begin, given->size(rest.dim) - rest.begin).zero_();
  value = {cleared};
}

}  // namespace

std::optional<ScaledProduct> scaled_product_of(std::string_view bare_name, const PyCall& call) {
  const ScaledRow* row = find_scaled_row(bare_name);
  if (row == nullptr) return std::nullopt;
  const Signature signature(row->signature);
  return product_of(*row, Bound(signature, call));
}

const Api* find_benchmark(std::string_view bare_name) {
  const ScaledRow* row = find_scaled_row(bare_name);
  if (row == nullptr || !row->scaled) return nullptr;
  static const auto kBenchmarks =
      make_benchmarks(std::make_index_sequence<std::size(kScaledRows)>());
  return &kBenchmarks[static_cast<std::size_t>(row - std::begin(kScaledRows))];
}

void clear_undefined_groups(std::string_view bare_name, const PyCall& call, PyValue& bench,
                            PyValue& device) {
  if (const auto rest = rest_of(bare_name, call)) {
    clear(bench, *rest);
    clear(device, *rest);
  }
}

void clear_undefined_gradients(std::string_view bare_name, const PyCall& call,
                               std::vector<LeafPair>& gradients) {
  const auto rest = rest_of(bare_name, call);
  // The factor whose rows or columns are shared out: the first, or the second one.
  const std::string_view path = rest && rest->dim == 0 ? "0" : "1";
  for (LeafPair& pair : gradients) {
    if (!rest || pair.path != path) continue;
    clear(pair.bench, *rest);
    clear(pair.device, *rest);
  }
}

}  // namespace msprobe::execute
