// SPDX-License-Identifier: Apache-2.0
#include "low_precision/scaled_call.h"

#include <algorithm>

#include "libtorch/dtypes.h"
#include "low_precision/codes.h"

namespace msprobe::low_precision {
namespace {

struct Scaling {
  at::Tensor blocks;
  Recipe recipe = Recipe::kTensor;
  c10::optional<Swizzle> swizzle;  // the first version does not say
  at::Tensor whole;  // of the whole tensor, beside that of the blocks; of a group each
};

Recipe recipe_of(std::int64_t number) {
  constexpr auto kLast = static_cast<std::int64_t>(Recipe::k128x128);
  TORCH_CHECK(number >= 0 && number <= kLast, "a recipe that this build does not know");
  return static_cast<Recipe>(number);
}

Scaling told(const GivenScales& given) {
  TORCH_CHECK(!given.scales.empty() && given.recipes.size() >= given.scales.size(),
              "a scale without recipe");
  Scaling scaling{given.scales[0], recipe_of(given.recipes[0]), Swizzle::kNone, {}};
  if (!given.swizzles.empty() && given.swizzles[0] == 1) scaling.swizzle = Swizzle::k32x4x4;
  if (given.scales.size() > 1) scaling.whole = given.scales[1].to(at::kCPU, at::kDouble);
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
  const std::int64_t blocks = blocks_of(shape.terms, block_length(scaling.recipe, shape.terms));
  const std::int64_t elements = scaling.blocks.numel();
  if (scaling.swizzle) return *scaling.swizzle;
  if (elements != swizzled_size(shape.rows, blocks)) return Swizzle::kNone;
  return Swizzle::k32x4x4;
}

// A factor of one product: numbers with their rows outermost.
Factor factor(const at::Tensor& numbers, const Scaling& scaling, bool first_version,
              bool of_right) {
  Factor made;
  made.numbers = numbers;
  const FactorShape shape = made.shape();
  made.scales = scale_grid(scaling.blocks, scaling.recipe, swizzle_of(scaling, shape), shape,
                           first_version, of_right);
  made.block = block_length(scaling.recipe, shape.terms);
  if (scaling.whole.defined()) made.scale = scaling.whole.flatten()[0].item<double>();
  return made;
}

// The contracted extent is the last one of the left factor, and the last but one of the right one.
at::Tensor left_numbers(const ScaledCall& call) { return numbers_of(call.left, -1); }
at::Tensor right_numbers(const ScaledCall& call) {
  return numbers_of(call.right, -2).transpose(-1, -2);
}

struct Scalings {
  Scaling left, right;
};

Scalings scalings_of(const ScaledCall& call, const FactorShape& left, const FactorShape& right) {
  if (!call.first_version) return {told(call.left_scales), told(call.right_scales)};
  const at::Tensor& left_scale = call.left_scales.scales.at(0);
  const at::Tensor& right_scale = call.right_scales.scales.at(0);
  return {{left_scale, found(left_scale, left, false), {}, {}},
          {right_scale, found(right_scale, right, true), {}, {}}};
}

void add_product(const ScaledCall& call, ScaledProduct& product) {
  const at::Tensor left = left_numbers(call);
  const at::Tensor right = right_numbers(call);
  const Scalings scalings =
      scalings_of(call, {left.size(0), left.size(1)}, {right.size(0), right.size(1)});
  product.shape = {left.size(0), right.size(0)};
  product.parts.push_back({factor(left, scalings.left, call.first_version, false),
                           factor(right, scalings.right, call.first_version, true)});
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
    const std::int64_t length = block_length(scaling_.recipe, shape.terms);
    const std::int64_t blocks = blocks_of(shape.terms, length);
    if (scaling_.swizzle == Swizzle::kNone) return plain_blocks(all, run, length, blocks);
    const std::int64_t size = swizzled_size(shape.rows, blocks);
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

void add_groups(const ScaledCall& call, ScaledProduct& product) {
  const at::Tensor left = left_numbers(call);
  const at::Tensor right = right_numbers(call);
  const bool left_matrices = left.dim() == 3;
  const bool right_matrices = right.dim() == 3;
  const bool both = left_matrices && right_matrices;
  const bool by_terms = !left_matrices && !right_matrices;
  const std::int64_t extent = by_terms        ? left.size(1)
                              : left_matrices ? right.size(0)
                                              : left.size(0);
  std::vector<Run> runs = runs_of(call.ends, extent);
  if (both) runs.assign(static_cast<std::size_t>(left.size(0)), {});
  const auto groups = static_cast<std::int64_t>(runs.size());
  const FactorShape left_shape{left.size(-2), left.size(-1)};
  const FactorShape right_shape{right.size(-2), right.size(-1)};
  Scalings scalings;
  if (call.scaled && call.first_version) {
    const auto one = [&](const GivenScales& given) {
      const at::Tensor& scale = given.scales.at(0);
      const bool floats = scale.scalar_type() == at::kFloat;
      const Recipe recipe = floats ? Recipe::kRow : found(scale, {}, false);
      return Scaling{scale, recipe, c10::nullopt, {}};
    };
    scalings = {one(call.left_scales), one(call.right_scales)};
  } else if (call.scaled) {
    scalings = scalings_of(call, left_shape, right_shape);
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
    if (!call.scaled) {
      Factor plain_left;
      Factor plain_right;
      plain_left.numbers = own_left;
      plain_right.numbers = own_right;
      add_group(product, std::move(plain_left), std::move(plain_right), place);
      continue;
    }
    add_group(product, left_scales.factor_of(own_left, group, run, call.first_version, false),
              right_scales.factor_of(own_right, group, run, call.first_version, true), place);
  }
  product.shape = {left.size(-2), right.size(-2)};
  if (both || by_terms) product.shape.insert(product.shape.begin(), groups);
  product.is_whole =
      both || by_terms || (!runs.empty() && runs.back().begin + runs.back().length == extent);
}

}  // namespace

ScaledProduct product_of(const ScaledCall& call) {
  ScaledProduct product;
  call.grouped ? add_groups(call, product) : add_product(call, product);
  product.left_type = call.left.scalar_type();
  product.right_type = call.right.scalar_type();
  product.scaled = call.scaled;
  product.type = call.type;
  product.fast_sums = call.fast_sums;
  if (call.bias.defined()) product.bias = numbers_of(call.bias);
  const bool coded = code_format(product.type).has_value();
  if (call.of_result && *call.of_result != 1 && coded) product.of_result = call.of_result;
  return product;
}

}  // namespace msprobe::low_precision
