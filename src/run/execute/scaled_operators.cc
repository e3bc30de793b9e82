// SPDX-License-Identifier: Apache-2.0
#include "execute/scaled_operators.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "libtorch/dtypes.h"
#include "low_precision/codes.h"

namespace msprobe::execute {
namespace {

using low_precision::Factor;
using low_precision::FactorShape;
using low_precision::Part;
using low_precision::Recipe;
using low_precision::ScaledProduct;
using low_precision::Swizzle;

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

struct Scaling {
  at::Tensor blocks;
  Recipe recipe = Recipe::kTensor;
  c10::optional<Swizzle> swizzle;  // the first version does not say
  at::Tensor whole;  // of the whole tensor, beside that of the blocks; of a group each
};

Recipe recipe_of(std::int64_t number) {
  constexpr auto kLast = static_cast<std::int64_t>(Recipe::k128x128);
  if (number < 0 || number > kLast) throw BindError("a recipe that this build does not know");
  return static_cast<Recipe>(number);
}

Scaling told(const Bound& a, std::string_view scale, std::string_view recipe,
             std::string_view swizzle) {
  const std::vector<at::Tensor> scales = scales_in(a, scale);
  const auto recipes = enums_in(a, recipe);
  const auto swizzles = enums_in(a, swizzle);
  if (scales.empty() || recipes.size() < scales.size()) throw BindError("a scale without recipe");
  Scaling scaling{scales[0], recipe_of(recipes[0]), Swizzle::kNone, {}};
  if (!swizzles.empty() && swizzles[0] == 1) scaling.swizzle = Swizzle::k32x4x4;
  if (scales.size() > 1) scaling.whole = scales[1].to(at::kCPU, at::kDouble);
  return scaling;
}

std::int64_t blocks_of(std::int64_t extent, std::int64_t length) {
  return (extent + length - 1) / length;
}

// The first version tells recipes apart by dtype and shape.
Recipe found(const at::Tensor& scale, const FactorShape& shape, bool of_right) {
  const auto dtype = libtorch::dtype_of(scale.scalar_type());
  if (dtype == DType::kFloat8E8M0 || dtype == DType::kUInt8) return Recipe::k1x32;
  if (dtype && is_float8(*dtype)) return Recipe::k1x16;
  const std::int64_t blocks = blocks_of(shape.terms, 128);
  const bool along_rows = scale.dim() == 2 && scale.size(of_right ? 0 : 1) == 1;
  if (scale.numel() == 1 && (scale.dim() != 2 || shape.rows != 1)) return Recipe::kTensor;
  if (scale.numel() == shape.rows && (along_rows || scale.dim() == 1)) return Recipe::kRow;
  if (scale.numel() == shape.rows * blocks) return Recipe::k1x128;
  if (scale.numel() == 1) return Recipe::kTensor;
  return Recipe::k128x128;
}

// Where a grid fills its tiles, only the operator knows whether it is swizzled: libraries of CUDA
// ask for it, and hand over a single row of scales.
Swizzle swizzle_of(const Scaling& scaling, const FactorShape& shape) {
  if (scaling.recipe != Recipe::k1x16 && scaling.recipe != Recipe::k1x32) return Swizzle::kNone;
  const std::int64_t blocks =
      blocks_of(shape.terms, low_precision::block_length(scaling.recipe, shape.terms));
  const std::int64_t elements = scaling.blocks.numel();
  if (scaling.swizzle) return *scaling.swizzle;
  if (elements != low_precision::swizzled_size(shape.rows, blocks)) return Swizzle::kNone;
  return Swizzle::k32x4x4;
}

// A factor of one product: numbers with their rows outermost.
Factor factor(const at::Tensor& numbers, const Scaling& scaling, bool first_version,
              bool of_right) {
  Factor made;
  made.numbers = numbers;
  const FactorShape shape = made.shape();
  made.scales = low_precision::scale_grid(
      scaling.blocks, scaling.recipe, swizzle_of(scaling, shape), shape, first_version, of_right);
  made.block = low_precision::block_length(scaling.recipe, shape.terms);
  if (scaling.whole.defined()) made.scale = scaling.whole.flatten()[0].item<double>();
  return made;
}

// The contracted extent is the last one of the left factor, and the last but one of the right one.
at::Tensor left_numbers(const Bound& a) { return low_precision::numbers_of(a.tensor("self"), -1); }
at::Tensor right_numbers(const Bound& a) {
  return low_precision::numbers_of(a.tensor("mat2"), -2).transpose(-1, -2);
}

struct Scalings {
  Scaling left, right;
};

Scalings scalings_of(const ScaledRow& row, const Bound& a, const FactorShape& left,
                     const FactorShape& right) {
  if (!row.first_version) {
    return {told(a, "scale_a", "recipe_a", "swizzle_a"),
            told(a, "scale_b", "recipe_b", "swizzle_b")};
  }
  const at::Tensor& scale_a = a.tensor("scale_a");
  const at::Tensor& scale_b = a.tensor("scale_b");
  return {{scale_a, found(scale_a, left, false), {}, {}},
          {scale_b, found(scale_b, right, true), {}, {}}};
}

void add_product(const ScaledRow& row, const Bound& a, ScaledProduct& product) {
  const at::Tensor left = left_numbers(a);
  const at::Tensor right = right_numbers(a);
  const Scalings scalings =
      scalings_of(row, a, {left.size(0), left.size(1)}, {right.size(0), right.size(1)});
  product.shape = {left.size(0), right.size(0)};
  product.parts.push_back({factor(left, scalings.left, row.first_version, false),
                           factor(right, scalings.right, row.first_version, true)});
}

std::vector<std::int64_t> ends_of(const Bound& a) {
  if (a.is_none("offs")) return {};
  const at::Tensor ends = a.tensor("offs").to(at::kCPU, at::kLong).contiguous();
  const auto* first = ends.data_ptr<std::int64_t>();
  return {first, first + ends.numel()};
}

// A run of `length` along an extent, from `begin` on.
struct Run {
  std::int64_t begin = 0, length = 0;
};

std::vector<Run> runs_of(const std::vector<std::int64_t>& ends, std::int64_t extent) {
  std::vector<Run> runs;
  std::int64_t begin = 0;
  for (const std::int64_t end : ends) {
    const std::int64_t last = std::clamp(end, begin, extent);
    runs.push_back({begin, last - begin});
    begin = last;
  }
  return runs;
}

// How the groups of one factor lie: each its own matrix, or runs of rows or terms of one.
enum class Split : std::uint8_t { kMatrices, kRows, kTerms };

// The scales of one group. Those of blocks are padded and swizzled group by group, one behind the
// other.
class GroupScales {
 public:
  GroupScales(const Scaling& scaling, Split split) : scaling_(scaling), split_(split) {}

  Factor factor_of(const at::Tensor& numbers, std::int64_t group, const Run& run,
                   bool first_version, bool of_right) {
    Scaling own = scaling_;
    own.blocks = blocks_of_group({numbers.size(0), numbers.size(1)}, group, run);
    if (scaling_.whole.defined() && scaling_.whole.numel() > 1) {
      own.whole = scaling_.whole.flatten()[group];
    }
    return factor(numbers, own, first_version, of_right);
  }

 private:
  at::Tensor blocks_of_group(const FactorShape& shape, std::int64_t group, const Run& run) {
    const at::Tensor& all = scaling_.blocks;
    if (scaling_.recipe == Recipe::kTensor) return all.numel() == 1 ? all : all.flatten()[group];
    if (split_ == Split::kMatrices) return all.select(0, group);
    if (scaling_.recipe == Recipe::kRow) {
      if (split_ == Split::kRows) return all.flatten().narrow(0, run.begin, run.length);
      return all.flatten().narrow(0, group * shape.rows, shape.rows);
    }
    const std::int64_t length = low_precision::block_length(scaling_.recipe, shape.terms);
    const std::int64_t blocks = blocks_of(shape.terms, length);
    if (scaling_.swizzle == Swizzle::kNone) return plain_blocks(all, run, length, blocks);
    const std::int64_t size = low_precision::swizzled_size(shape.rows, blocks);
    taken_ += size;
    return all.flatten().narrow(0, taken_ - size, size);
  }

  at::Tensor plain_blocks(const at::Tensor& all, const Run& run, std::int64_t length,
                          std::int64_t blocks) const {
    if (split_ == Split::kRows) return all.narrow(0, run.begin, run.length);
    return all.narrow(1, run.begin / length, blocks);
  }

  const Scaling& scaling_;
  Split split_;
  std::int64_t taken_ = 0;  // elements of the groups before
};

void add_group(ScaledProduct& product, Factor left, Factor right, const Part& place) {
  Part part = place;
  part.left = std::move(left);
  part.right = std::move(right);
  product.parts.push_back(std::move(part));
}

void add_groups(const ScaledRow& row, const Bound& a, ScaledProduct& product) {
  const at::Tensor left = left_numbers(a);
  const at::Tensor right = right_numbers(a);
  const bool left_matrices = left.dim() == 3;
  const bool right_matrices = right.dim() == 3;
  const bool both = left_matrices && right_matrices;
  const bool by_terms = !left_matrices && !right_matrices;
  const std::int64_t extent = by_terms        ? left.size(1)
                              : left_matrices ? right.size(0)
                                              : left.size(0);
  std::vector<Run> runs = runs_of(ends_of(a), extent);
  if (both) runs.assign(static_cast<std::size_t>(left.size(0)), {});
  const auto groups = static_cast<std::int64_t>(runs.size());
  const FactorShape left_shape{left.size(-2), left.size(-1)};
  const FactorShape right_shape{right.size(-2), right.size(-1)};
  Scalings scalings;
  if (row.scaled && row.first_version) {
    const auto one = [&](std::string_view name) {
      const at::Tensor& scale = a.tensor(name);
      const bool floats = scale.scalar_type() == at::kFloat;
      const Recipe recipe = floats ? Recipe::kRow : found(scale, {}, false);
      return Scaling{scale, recipe, c10::nullopt, {}};
    };
    scalings = {one("scale_a"), one("scale_b")};
  } else if (row.scaled) {
    scalings = scalings_of(row, a, left_shape, right_shape);
  }
  const auto split = [&](bool matrices) {
    return matrices ? Split::kMatrices : by_terms ? Split::kTerms : Split::kRows;
  };
  GroupScales left_scales(scalings.left, split(left_matrices));
  GroupScales right_scales(scalings.right, split(right_matrices));
  for (std::int64_t group = 0; group < groups; ++group) {
    const Run& run = runs[static_cast<std::size_t>(group)];
    const auto numbers = [&](const at::Tensor& all, bool matrices) {
      return matrices ? all.select(0, group) : all.narrow(by_terms ? 1 : 0, run.begin, run.length);
    };
    const at::Tensor own_left = numbers(left, left_matrices);
    const at::Tensor own_right = numbers(right, right_matrices);
    Part place;
    if (both || by_terms) {
      place.index = group;
    } else {
      (right_matrices ? place.row : place.column) = run.begin;
    }
    if (!row.scaled) {
      Factor plain_left;
      Factor plain_right;
      plain_left.numbers = own_left;
      plain_right.numbers = own_right;
      add_group(product, std::move(plain_left), std::move(plain_right), place);
      continue;
    }
    add_group(product, left_scales.factor_of(own_left, group, run, row.first_version, false),
              right_scales.factor_of(own_right, group, run, row.first_version, true), place);
  }
  product.shape = {left.size(-2), right.size(-2)};
  if (both || by_terms) product.shape.insert(product.shape.begin(), groups);
  product.is_whole =
      both || by_terms || (!runs.empty() && runs.back().begin + runs.back().length == extent);
}

void read_options(const ScaledRow& row, const Bound& a, ScaledProduct& product) {
  product.left_type = a.tensor("self").scalar_type();
  product.right_type = a.tensor("mat2").scalar_type();
  product.scaled = row.scaled;
  const at::ScalarType otherwise =
      is_functional(row) || (row.grouped && row.scaled) ? at::kBFloat16 : product.left_type;
  product.type = a.opt_dtype("out_dtype").value_or(otherwise);
  product.fast_sums = a.has("use_fast_accum") && a.opt_boolean("use_fast_accum").value_or(false);
  if (const auto bias = a.opt_tensor("bias")) product.bias = low_precision::numbers_of(*bias);
  if (!a.has("scale_result") || a.is_none("scale_result")) return;
  const double of_result = a.tensor("scale_result").item<double>();
  const bool coded = low_precision::code_format(product.type).has_value();
  if (of_result != 1 && coded) product.of_result = of_result;
}

// As the benchmark gives it: scale_result divides an 8-bit result, as PyTorch's CPU has it.
PyValue composed(const ScaledProduct& product) {
  at::Tensor result = low_precision::compose(product);
  if (product.of_result) result = result / *product.of_result;
  return {result};
}

template <std::size_t kPlace>
PyValue run_benchmark(const Bound& a) {
  const ScaledRow& row = kScaledRows[kPlace];
  ScaledProduct product;
  row.grouped ? add_groups(row, a, product) : add_product(row, a, product);
  read_options(row, a, product);
  return composed(product);
}

template <std::size_t... kPlaces>
std::array<Api, sizeof...(kPlaces)> make_benchmarks(std::index_sequence<kPlaces...>) {
  return {Api(ApiRow{kScaledRows[kPlaces].name, kScaledRows[kPlaces].signature,
                     &run_benchmark<kPlaces>})...};
}

}  // namespace

std::optional<ScaledProduct> scaled_product_of(std::string_view bare_name, const PyCall& call) {
  const ScaledRow* row = find_scaled_row(bare_name);
  if (row == nullptr) return std::nullopt;
  const Signature signature(row->signature);
  const Bound bound(signature, call);
  ScaledProduct product;
  row->grouped ? add_groups(*row, bound, product) : add_product(*row, bound, product);
  read_options(*row, bound, product);
  return product;
}

const Api* find_benchmark(std::string_view bare_name) {
  const ScaledRow* row = find_scaled_row(bare_name);
  if (row == nullptr || !row->scaled) return nullptr;
  static const auto kBenchmarks =
      make_benchmarks(std::make_index_sequence<std::size(kScaledRows)>());
  return &kBenchmarks[static_cast<std::size_t>(row - std::begin(kScaledRows))];
}

void clear_undefined_groups(std::string_view bare_name, const PyCall& call, const PyValue& bench,
                            PyValue& device) {
  const ScaledRow* row = find_scaled_row(bare_name);
  if (row == nullptr || !row->grouped) return;
  const auto* right = bench.as<at::Tensor>();
  const auto* given = device.as<at::Tensor>();
  if (right == nullptr || given == nullptr || right->sizes() != given->sizes()) return;
  const Signature signature(row->signature);
  const Bound bound(signature, call);
  const std::vector<std::int64_t> ends = ends_of(bound);
  const bool matrices = bound.tensor("self").dim() == 3;
  if (ends.empty() || given->dim() != 2) return;
  const std::int64_t dim = matrices ? 1 : 0;
  const std::int64_t begin = std::clamp<std::int64_t>(ends.back(), 0, given->size(dim));
  if (begin == given->size(dim)) return;
  at::Tensor cleared = given->detach().clone();
  cleared.narrow(dim, begin, given->size(dim) - begin).zero_();
  device = {cleared};
}

}  // namespace msprobe::execute
