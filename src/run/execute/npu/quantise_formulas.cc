// SPDX-License-Identifier: Apache-2.0
// Formulas of the operators that turn rows, blocks or whole tensors into codes, alone or behind a
// normalisation or a gate.
#include <fmt/format.h>

#include "execute/npu/compute_dtype.h"
#include "execute/npu/experts.h"
#include "execute/npu/formula.h"

namespace msprobe::execute::npu {
namespace {

// One row of `table` for each row of the input: that of its group, or the only one.
Bounded row_of_group(const at::Tensor& table, const at::Tensor& groups, bool bounds) {
  const Bounded all = exact(table, bounds);
  const bool one_for_all = !groups.defined() || table.dim() == 0 || table.size(0) == 1;
  if (one_for_all && table.dim() < 2) return all;
  if (one_for_all) return viewed(all, [](const at::Tensor& t) { return t.narrow(0, 0, 1); });
  return viewed(all, [&](const at::Tensor& t) {
    const at::Tensor rows = t.index_select(0, groups.clamp_min(0));
    return t.dim() == 1 ? rows.unsqueeze(-1) : rows;
  });
}

Number code_type(const Bound& a, std::string_view name) {
  return number_or(a, name, Number::kInt8);
}

std::vector<std::int64_t> all_dims(const at::Tensor& tensor) {
  std::vector<std::int64_t> dims;
  for (std::int64_t d = 0; d < tensor.dim(); ++d) dims.push_back(d);
  return dims;
}

// Codes of x beside their scale max|x| / MAX over `dims`, kept in `scale`.
struct Scaled {
  Bounded codes, scale;
};
Scaled scaled_to(const Bounded& x, at::IntArrayRef dims, double largest) {
  const Bounded scale = largest_size(x, dims) * (1 / largest);
  return {x / scale, scale};
}

Bounded squeezed(const Bounded& x, std::int64_t dim) {
  return viewed(x, [&](const at::Tensor& t) { return t.squeeze(dim); });
}

// npu_dynamic_quant

struct DynamicQuant {
  at::Tensor groups;  // of the flattened rows; undefined: none
  std::vector<std::int64_t> dims;
  Bounded x;
};

DynamicQuant dynamic_quant_inputs(const Bound& a, bool bounds) {
  const at::Tensor& input = a.tensor("input");
  const std::string& mode = a.text("quant_mode");
  DynamicQuant found{.groups = {}, .dims = {-1}, .x = exact(input, bounds)};
  if (mode == "perchannel") {
    found.dims = {-2};
  } else if (mode == "pertensor") {
    found.dims = all_dims(input);
  } else if (mode != "pertoken") {
    throw BindError(fmt::format("quant_mode '{}' has no benchmark", mode));
  }
  if (a.is_none("smooth_scales")) return found;
  at::Tensor smooth = a.tensor("smooth_scales");
  if (!a.is_none("group_index")) {
    const std::int64_t rows = input.numel() / std::max<std::int64_t>(input.size(-1), 1);
    found.groups = group_of_rows(group_ends(a.tensor("group_index"), 0), rows);
    smooth = smooth.index_select(0, found.groups.clamp_min(0)).view_as(input);
  } else if (mode == "perchannel" && smooth.dim() == 1) {
    smooth = smooth.unsqueeze(-1);
  }
  found.x = found.x * exact(smooth, bounds);
  return found;
}

FormulaResults dynamic_quant(const Bound& a, Wish wish) {
  const DynamicQuant inputs = dynamic_quant_inputs(a, wish.bounds);
  const Number type = code_type(a, "dst_type");
  const auto [codes, scale] = scaled_to(inputs.x, inputs.dims, largest_of(type));
  const bool whole = inputs.dims.size() > 1;
  const Bounded shown = whole ? viewed(scale, [](const at::Tensor& t) { return t.reshape({1}); })
                              : squeezed(scale, inputs.dims[0]);
  return {as_codes(codes, type), as_floats(shown, at::kFloat)};
}

// A row of zeros has no scale to divide by.
std::vector<at::Tensor> dynamic_quant_written(const Bound& a) {
  const DynamicQuant inputs = dynamic_quant_inputs(a, false);
  at::Tensor codes = inputs.x.value.abs().amax(inputs.dims, /*keepdim=*/true).gt(0);
  if (code_type(a, "dst_type") == Number::kInt4 && codes.size(-1) > 1) {
    codes = codes.unflatten(-1, {-1, 8}).all(-1);  // of words
  }
  if (!inputs.groups.defined()) return {codes, {}};
  const auto sizes = a.tensor("input").sizes();
  const at::Tensor rows = inputs.groups.ge(0).view(sizes.slice(0, sizes.size() - 1));
  return {codes.logical_and(rows.unsqueeze(-1)), rows};
}

// npu_dynamic_block_quant

struct Blocks {
  Bounded x;  // (.., rows of blocks, rows, columns of blocks, columns)
  std::vector<std::int64_t> sizes;
};

Blocks blocks_of(const Bound& a, bool bounds) {
  const at::Tensor& input = a.tensor("x");
  const std::int64_t rows = a.integer("row_block_size");
  const std::int64_t columns = a.integer("col_block_size");
  const auto missing = [](std::int64_t size, std::int64_t block) {
    return (block - size % block) % block;
  };
  const at::Tensor padded =
      at::constant_pad_nd(input.to(at::kDouble),
                          {0, missing(input.size(-1), columns), 0, missing(input.size(-2), rows)});
  const at::Tensor cut = padded.unflatten(-1, {-1, columns}).unflatten(-3, {-1, rows});
  return {exact(cut, bounds), input.sizes().vec()};
}

at::Tensor from_blocks(const at::Tensor& cut, at::IntArrayRef sizes) {
  const at::Tensor all = cut.flatten(-2).flatten(-3, -2);
  return all.narrow(-1, 0, sizes.back()).narrow(-2, 0, sizes[sizes.size() - 2]);
}

FormulaResults dynamic_block_quant(const Bound& a, Wish wish) {
  const Blocks blocks = blocks_of(a, wish.bounds);
  const Number type = code_type(a, "dst_type");
  const Bounded finite{blocks.x.value.masked_fill(blocks.x.value.isfinite().logical_not(), 0),
                       blocks.x.slack};
  Bounded scale = largest_size(finite, {-3, -1}) * (1 / largest_of(type));
  const double smallest = a.real("min_scale");
  if (smallest > 0) scale.value = scale.value.clamp_max(1 / smallest);
  const Bounded codes = viewed(finite / scale, [&](const at::Tensor& t) {
    return from_blocks(t, blocks.sizes).contiguous();
  });
  const Bounded shown =
      viewed(scale, [](const at::Tensor& t) { return t.squeeze(-1).squeeze(-2); });
  return {as_codes(codes, type), as_floats(shown, at::kFloat)};
}

std::vector<at::Tensor> dynamic_block_quant_written(const Bound& a) {
  const Blocks blocks = blocks_of(a, false);
  const at::Tensor finite = blocks.x.value.isfinite();
  const at::Tensor filled = blocks.x.value.masked_fill(finite.logical_not(), 0);
  const at::Tensor any = filled.abs().amax({-3, -1}, /*keepdim=*/true).gt(0);
  return {from_blocks(any.logical_and(finite), blocks.sizes), {}};
}

// npu_quantize

FormulaResults quantize(const Bound& a, Wish wish) {
  const at::Tensor& input = a.tensor("input");
  const bool divides = a.boolean("div_mode");
  std::int64_t axis = a.integer("axis");
  if (!divides) axis = axis == -2 ? -2 : -1;
  axis = at::maybe_wrap_dim(axis, input.dim());
  const auto along = [&](const at::Tensor& given) {
    if (given.dim() != 1 || given.numel() == 1) return given;
    std::vector<std::int64_t> shape(static_cast<std::size_t>(input.dim()), 1);
    shape[static_cast<std::size_t>(axis)] = given.numel();
    return given.reshape(shape);
  };
  const Bounded x = exact(input, wish.bounds);
  const Bounded scale = exact(along(a.tensor("scales")), wish.bounds);
  Bounded codes = divides ? x / scale : x * scale;
  if (!a.is_none("zero_points")) {
    codes = codes + exact(along(a.tensor("zero_points")), wish.bounds);
  }
  return {as_codes(codes, number_or(a, "dtype", Number::kInt8))};
}

// Norms

constexpr std::string_view kSumReadings[] = {"rounds the sum before the norm",
                                             "takes the norm of the unrounded sum"};
constexpr std::string_view kRoundingReadings[] = {
    "rounds the sum before the norm and the norm before gamma, as A2 does",
    "rounds the sum before the norm", "takes the norm of the unrounded sum, as 950 does"};

FormulaResults add_rms_norm(const Bound& a, Wish wish) {
  const at::Tensor& x1 = a.tensor("x1");
  const at::ScalarType type = x1.scalar_type();
  const Bounded sum = exact(x1, wish.bounds) + exact(a.tensor("x2"), wish.bounds);
  const at::Tensor& gamma = a.tensor("gamma");
  const Bounded seen = wish.reading < 2 ? through(sum, type) : sum;
  Normed normed = rms_normed(seen, gamma.dim(), a.real("epsilon"));
  if (wish.reading == 0) normed.y = through(normed.y, type);
  return {as_floats(normed.y * exact(gamma, wish.bounds), type), as_floats(normed.rstd, at::kFloat),
          as_floats(sum, type)};
}

FormulaResults add_rms_norm_quant(const Bound& a, Wish wish) {
  const at::Tensor& x1 = a.tensor("x1");
  const auto given = [&](std::string_view name) { return exact(a.tensor(name), wish.bounds); };
  const Bounded sum = given("x1") + given("x2");
  const Bounded seen = wish.reading == 0 ? through(sum, x1.scalar_type()) : sum;
  Bounded y = rms_normed(seen, 1, a.real("epsilon")).y * given("gamma");
  if (!a.is_none("beta")) y = y + given("beta");
  const Number type = code_type(a, "dst_type");
  const auto codes = [&](std::string_view scale, std::string_view offset) -> FormulaResult {
    if (a.is_none(scale)) return {};
    Bounded q = a.boolean("div_mode") ? y / given(scale) : y * given(scale);
    if (!a.is_none(offset)) q = q + given(offset);
    return as_codes(q, type);
  };
  return {codes("scales1", "zero_points1"), codes("scales2", "zero_points2"),
          as_floats(sum, x1.scalar_type())};
}

constexpr std::string_view kScaleReadings[] = {"divides by the scale", "multiplies by the scale"};

FormulaResults rms_norm_quant(const Bound& a, Wish wish) {
  const auto given = [&](std::string_view name) { return exact(a.tensor(name), wish.bounds); };
  const Bounded y = rms_normed(given("x"), 1, a.real("epsilon")).y * given("gamma") + given("beta");
  const Bounded scaled = wish.reading == 0 ? y / given("scale") : y * given("scale");
  return {as_codes(scaled + given("offset"), code_type(a, "dst_dtype"))};
}

// Gates

Bounded chunk_of(const Bounded& x, std::int64_t which) {
  return viewed(
      x, [&](const at::Tensor& t) { return t.chunk(2, -1)[static_cast<std::size_t>(which)]; });
}

Bounded every_second(const Bounded& x, std::int64_t first) {
  return viewed(x, [&](const at::Tensor& t) { return t.slice(-1, first, c10::nullopt, 2); });
}

at::Tensor as_rows(const at::Tensor& x) { return x.reshape({-1, x.size(-1)}); }

// Groups of the rows of x; undefined without a list.
at::Tensor groups_of(const Bound& a, std::int64_t list_type) {
  if (a.is_none("group_index")) return {};
  return group_of_rows(group_ends(a.tensor("group_index"), list_type),
                       as_rows(a.tensor("x")).size(0));
}

std::vector<at::Tensor> group_masks(const at::Tensor& groups, const at::Tensor& x,
                                    bool row_scales) {
  if (!groups.defined()) return {{}, {}};
  const auto sizes = x.sizes();
  const at::Tensor rows = groups.ge(0).view(sizes.slice(0, sizes.size() - 1));
  return {rows.unsqueeze(-1), row_scales ? rows : at::Tensor()};
}

Bounded in_shape_of(const Bounded& x, const at::Tensor& like) {
  const auto sizes = like.sizes();
  return viewed(x, [&](const at::Tensor& t) {
    std::vector<std::int64_t> shape(sizes.begin(), sizes.end() - 1);
    if (t.dim() == 2) shape.push_back(t.size(-1));
    return t.reshape(shape);
  });
}

FormulaResults swiglu_quant(const Bound& a, Wish wish) {
  const at::Tensor& x = a.tensor("x");
  const at::Tensor groups = groups_of(a, a.integer("group_list_type"));
  const Bounded rows = exact(as_rows(x), wish.bounds);
  const bool left = a.boolean("activate_left");
  Bounded gated = chunk_of(rows, left ? 1 : 0) * silu(chunk_of(rows, left ? 0 : 1));
  if (!a.is_none("smooth_scales")) {
    gated = gated * row_of_group(a.tensor("smooth_scales"), groups, wish.bounds);
  }
  const Number type = code_type(a, "dst_type");
  if (a.integer("quant_mode") == 0) {
    if (!a.is_none("offsets"))
      gated = gated + row_of_group(a.tensor("offsets"), groups, wish.bounds);
    return {as_codes(in_shape_of(gated, x), type), {}};
  }
  const auto [codes, scale] = scaled_to(gated, {-1}, largest_of(type));
  const Bounded one = exact(at::ones({}, at::kDouble), wish.bounds);
  return {as_codes(in_shape_of(codes, x), type),
          as_floats(in_shape_of(squeezed(one / scale, -1), x), at::kFloat)};
}

std::vector<at::Tensor> swiglu_quant_written(const Bound& a) {
  return group_masks(groups_of(a, a.integer("group_list_type")), a.tensor("x"),
                     a.integer("quant_mode") != 0);
}

// What is gated: the products of an int32 input, or the input itself.
Bounded gate_input(const Bound& a, const at::Tensor& groups, bool bounds) {
  const at::Tensor rows = as_rows(a.tensor("x"));
  Bounded x = exact(rows, bounds);
  const bool has_bias = !a.is_none("bias");
  const bool early = has_bias && !a.tensor("bias").is_floating_point();
  if (rows.is_floating_point()) return x;
  if (early) x = {(x.value + row_of_group(a.tensor("bias"), groups, false).value), x.slack};
  if (!a.is_none("weight_scale")) x = x * row_of_group(a.tensor("weight_scale"), groups, bounds);
  if (!a.is_none("activation_scale")) {
    x = x * exact(a.tensor("activation_scale").reshape({-1, 1}), bounds);
  }
  return has_bias && !early ? x + row_of_group(a.tensor("bias"), groups, bounds) : x;
}

Bounded clipped_gate(const Bound& a, const Bounded& gate, const Bounded& linear) {
  const double limit = a.real("clamp_limit");
  const Bounded low{gate.value.clamp_max(limit), gate.slack};
  return silu(low, a.real("glu_alpha")) * (clamped(linear, -limit, limit) + a.real("glu_bias"));
}

Bounded gate_of(const Bound& a, const Bounded& v) {
  const bool left = a.boolean("activate_left");
  switch (a.integer("swiglu_mode")) {
    case 0:
      return chunk_of(v, left ? 1 : 0) * silu(chunk_of(v, left ? 0 : 1));
    case 1:
      return clipped_gate(a, every_second(v, 0), every_second(v, 1));
    case 2:
      return clipped_gate(a, chunk_of(v, 0), chunk_of(v, 1));
    default:
      throw BindError(fmt::format("swiglu_mode {} has no benchmark", a.integer("swiglu_mode")));
  }
}

FormulaResults dequant_swiglu_quant(const Bound& a, Wish wish) {
  const at::Tensor groups = groups_of(a, 1);
  const at::Tensor& x = a.tensor("x");
  Bounded gated = gate_of(a, gate_input(a, groups, wish.bounds));
  const Number type = code_type(a, "dst_type");
  const auto mode = static_cast<RoundMode>(a.opt_integer("round_mode").value_or(0));
  const bool has_scale = !a.is_none("quant_scale");
  if (a.integer("quant_mode") == 0) {
    if (has_scale) {
      const Bounded scale = row_of_group(a.tensor("quant_scale"), groups, wish.bounds);
      gated = wish.reading == 0 ? gated / scale : gated * scale;
    }
    if (!a.is_none("quant_offset")) {
      gated = gated + row_of_group(a.tensor("quant_offset"), groups, wish.bounds);
    }
    return {as_codes(in_shape_of(gated, x), type, mode), {}};
  }
  if (has_scale) gated = gated * row_of_group(a.tensor("quant_scale"), groups, wish.bounds);
  const auto [codes, scale] = scaled_to(gated, {-1}, largest_of(type));
  return {as_codes(in_shape_of(codes, x), type, mode),
          as_floats(in_shape_of(squeezed(scale, -1), x), at::kFloat)};
}

std::vector<at::Tensor> dequant_swiglu_quant_written(const Bound& a) {
  return group_masks(groups_of(a, 1), a.tensor("x"), a.integer("quant_mode") != 0);
}

bool has_static_scale(const Bound& a) {
  return a.integer("quant_mode") == 0 && !a.is_none("quant_scale");
}

constexpr FormulaRow kQuantiseRows[] = {
    {.api = "NPU.npu_add_rms_norm",
     .signature = "x1, x2, gamma, epsilon=1e-06",
     .formula = &add_rms_norm,
     .readings = kRoundingReadings,
     .judges_only = true},
    {.api = "NPU.npu_add_rms_norm_quant",
     .signature =
         "x1, x2, gamma, scales1, zero_points1, beta=None, scales2=None, zero_points2=None, *, "
         "axis=-1, epsilon=1e-06, div_mode=True, dst_type=None",
     .formula = &add_rms_norm_quant,
     .readings = kSumReadings},
    {.api = "NPU.npu_dequant_swiglu_quant",
     .signature =
         "x, *, weight_scale=None, activation_scale=None, bias=None, quant_scale=None, "
         "quant_offset=None, group_index=None, activate_left=False, quant_mode=0, "
         "dst_type=None, round_mode=None, activate_dim=None, swiglu_mode=0, clamp_limit=7.0, "
         "glu_alpha=1.702, glu_bias=1.0",
     .formula = &dequant_swiglu_quant,
     .written = &dequant_swiglu_quant_written,
     .readings = kScaleReadings,
     .is_open = &has_static_scale},
    {.api = "NPU.npu_dynamic_block_quant",
     .signature = "x, *, min_scale=0.0, round_mode='rint', dst_type=1, row_block_size=1, "
                  "col_block_size=128, dst_type_max=0.0",
     .formula = &dynamic_block_quant,
     .written = &dynamic_block_quant_written},
    {.api = "NPU.npu_dynamic_quant",
     .signature = "input|x, *, smooth_scales=None, group_index=None, dst_type=None, "
                  "quant_mode='pertoken', dst_type_max=0.0",
     .formula = &dynamic_quant,
     .written = &dynamic_quant_written},
    {.api = "NPU.npu_quantize",
     .signature = "input|self, scales, zero_points, dtype, axis=1, div_mode=True",
     .formula = &quantize,
     .single = true},
    {.api = "NPU.npu_rms_norm_quant",
     .signature = "x, gamma, beta, scale, offset, epsilon=1e-06, *, dst_dtype=None",
     .formula = &rms_norm_quant,
     .readings = kScaleReadings,
     .single = true},
    {.api = "NPU.npu_swiglu_quant",
     .signature = "x, *, smooth_scales=None, offsets=None, group_index=None, activate_left=False, "
                  "quant_mode=0, group_list_type=0, dst_type=None",
     .formula = &swiglu_quant,
     .written = &swiglu_quant_written},
};

}  // namespace

std::span<const FormulaRow> quantise_formulas() { return kQuantiseRows; }

}  // namespace msprobe::execute::npu
