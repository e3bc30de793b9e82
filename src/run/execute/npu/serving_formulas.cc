// SPDX-License-Identifier: Apache-2.0
// Formulas of operators of serving that join several others, or move rows between tokens and the
// pages of a cache.
#include <fmt/format.h>

#include "execute/npu/experts.h"
#include "execute/npu/formula.h"

namespace msprobe::execute::npu {
namespace {

double unit_of_half(at::ScalarType type) {
  if (type == at::kHalf) return 1.0 / (1 << 11);
  return type == at::kBFloat16 ? 1.0 / (1 << 8) : kOperation;
}

Bounded without_last(const Bounded& x) {
  return viewed(x, [](const at::Tensor& t) { return t.squeeze(-1); });
}

// npu_kronecker_quant: p1 @ (x @ p2) as int4, one scale for each matrix.

constexpr std::string_view kKroneckerReadings[] = {
    "rounds to the nearest code", "truncates",
    "rounds to the nearest code and divides by clip_ratio", "truncates and divides by clip_ratio"};

FormulaResults kronecker_quant(const Bound& a, Wish wish) {
  const Number type = number_or(a, "dst_dtype", Number::kInt32);
  if (type != Number::kInt32 && type != Number::kInt4) {
    throw BindError("npu_kronecker_quant: codes other than int4 have no benchmark");
  }
  const at::Tensor& x = a.tensor("x");
  const double unit = unit_of_half(x.scalar_type());
  const auto given = [&](std::string_view name) { return exact(a.tensor(name), wish.bounds); };
  // Whether the two products are rounded to the half type is open.
  const Bounded inner = loosened(product(given("x"), given("kronecker_p2"), false), unit);
  const Bounded left = viewed(given("kronecker_p1"), [&](const at::Tensor& t) {
    return t.unsqueeze(0).expand({x.size(0), -1, -1});
  });
  const Bounded z = loosened(product(left, inner, false), unit);
  const double clip = a.opt_real("clip_ratio").value_or(1);
  const Bounded scale = largest_size(z, {-2, -1}) * ((wish.reading < 2 ? clip : 1 / clip) / 7);
  const RoundMode mode = wish.reading % 2 == 0 ? RoundMode::kHalfEven : RoundMode::kTruncate;
  return {as_codes(z / scale, Number::kInt4, mode),
          as_floats(without_last(without_last(scale)), at::kFloat)};
}

// npu_grouped_matmul_swiglu_quant: products of codes by group, dequantised, gated, quantised again.

at::Tensor of_group(const Bound& a, std::string_view name, std::size_t group) {
  if (const auto* one = a.value(name).as<at::Tensor>()) {
    return (*one)[static_cast<std::int64_t>(group)];
  }
  const std::vector<at::Tensor> all = a.tensors(name);
  return all.size() == 1 ? all[0][static_cast<std::int64_t>(group)] : all.at(group);
}

std::vector<std::int64_t> ends_of(const Bound& a) {
  const bool counts = a.has("group_list_type") && a.opt_integer("group_list_type").value_or(0) == 1;
  return group_ends(a.tensor("group_list"), counts ? 1 : 0);
}

void refuse_other_codes(const Bound& a, std::string_view api) {
  const bool other_mode = a.has("quant_mode") && (a.opt_integer("quant_mode").value_or(0) != 0 ||
                                                  a.opt_integer("dequant_mode").value_or(0) != 0);
  if (a.tensor("x").scalar_type() != at::kChar ||
      of_group(a, "weight", 0).scalar_type() != at::kChar || other_mode) {
    throw BindError(
        fmt::format("{}: only int8 with one scale for each channel and token has a "
                    "benchmark",
                    api));
  }
}

FormulaResults grouped_swiglu_quant(const Bound& a, Wish wish, std::string_view api) {
  refuse_other_codes(a, api);
  const at::Tensor& x = a.tensor("x");
  const Bounded token = exact(a.tensor("x_scale").reshape({-1, 1}), wish.bounds);
  const std::int64_t width = of_group(a, "weight", 0).size(-1) / 2;
  const auto zeros = [&](std::int64_t columns) {
    return at::zeros({x.size(0), columns}, at::kDouble);
  };
  Bounded gated{zeros(width), wish.bounds ? zeros(width) : at::Tensor()};
  std::int64_t first = 0;
  const std::vector<std::int64_t> ends = ends_of(a);
  for (std::size_t g = 0; g < ends.size(); ++g) {
    const std::int64_t count = ends[g] - first;
    if (count <= 0) continue;
    const auto rows = [&](const at::Tensor& t) { return t.narrow(0, first, count); };
    const Bounded y =
        product(exact(rows(x), wish.bounds), exact(of_group(a, "weight", g), wish.bounds), true) *
        exact(of_group(a, "weight_scale", g), wish.bounds) * viewed(token, rows);
    const auto half = [&](std::int64_t from) {
      return viewed(y, [&](const at::Tensor& t) { return t.narrow(-1, from, width); });
    };
    const Bounded part = silu(half(0)) * half(width);
    rows(gated.value).copy_(part.value);
    if (wish.bounds) rows(gated.slack).copy_(part.slack);
    first = ends[g];
  }
  const Bounded scale = largest_size(gated, {-1}) * (1.0 / 127);
  return {as_codes(gated / scale, Number::kInt8), as_floats(without_last(scale), at::kFloat)};
}

FormulaResults first_swiglu_quant(const Bound& a, Wish wish) {
  refuse(a, "npu_grouped_matmul_swiglu_quant", {"bias", "offset"});
  FormulaResults results = grouped_swiglu_quant(a, wish, "npu_grouped_matmul_swiglu_quant");
  results.emplace_back();  // the offset is not written
  return results;
}

FormulaResults second_swiglu_quant(const Bound& a, Wish wish) {
  refuse(a, "npu_grouped_matmul_swiglu_quant_v2", {"smooth_scale", "weight_assist_matrix", "bias"});
  return grouped_swiglu_quant(a, wish, "npu_grouped_matmul_swiglu_quant_v2");
}

std::vector<at::Tensor> swiglu_quant_rows(const Bound& a) {
  const at::Tensor rows = group_of_rows(ends_of(a), a.tensor("x").size(0)).ge(0);
  return {rows.unsqueeze(-1), rows, {}};
}

// npu_add_rms_norm_dynamic_quant: the norm of a sum, with a scale for each row.

constexpr std::string_view kNormReadings[] = {"rounds the sum before the norm",
                                              "takes the norm of the unrounded sum"};

bool wants(const Bound& a, std::size_t which) {
  const PyValue& mask = a.value("output_mask");
  const auto* list = mask.as<PyList>();
  if (list == nullptr || list->size() != 2) {
    return which == 0 || !a.is_none("smooth_scale2");
  }
  const auto* flag = (*list)[which].as<bool>();
  return flag == nullptr || *flag;
}

FormulaResults add_rms_norm_dynamic_quant(const Bound& a, Wish wish) {
  const at::Tensor& x1 = a.tensor("x1");
  const at::ScalarType type = x1.scalar_type();
  const auto given = [&](std::string_view name) { return exact(a.tensor(name), wish.bounds); };
  const Bounded sum = given("x1") + given("x2");
  const FormulaResult shown = as_floats(sum, type);
  const Bounded seen = wish.reading == 0 ? through(sum, type) : sum;
  Bounded y = rms_normed(seen, 1, a.real("epsilon")).y * given("gamma");
  if (!a.is_none("beta")) y = y + given("beta");
  const Number codes = number_or(a, "y_dtype", Number::kInt8);
  FormulaResults results(5);
  results[2] = shown;
  for (std::size_t i = 0; i < 2; ++i) {
    if (!wants(a, i)) continue;
    const std::string_view smooth = i == 0 ? "smooth_scale1" : "smooth_scale2";
    const Bounded smoothed = a.is_none(smooth) ? y : y * given(smooth);
    const Bounded scale = largest_size(smoothed, {-1}) * (1 / largest_of(codes));
    results[i] = as_codes(smoothed / scale, codes);
    results[3 + i] = as_floats(without_last(scale), at::kFloat);
  }
  return results;
}

// Keys and values of tokens, written into pages and read from them.

// (blocks, size, heads, width) of a cache as rows, one for each slot; or, columns first, (blocks,
// heads * width / each, size, each).
at::Tensor as_slots(const at::Tensor& cache, bool columns_first) {
  TORCH_CHECK(cache.dim() == 4, "a cache of shape ", cache.sizes(), " has no benchmark");
  const at::Tensor in_order = columns_first ? cache.permute({0, 2, 1, 3}) : cache;
  return in_order.reshape({cache.size(0) * in_order.size(1), -1});
}

at::Tensor from_slots(const at::Tensor& slots, const at::Tensor& cache, bool columns_first) {
  if (!columns_first) return slots.reshape(cache.sizes());
  return slots.reshape({cache.size(0), cache.size(2), cache.size(1), cache.size(3)})
      .permute({0, 2, 1, 3})
      .contiguous();
}

FormulaResult written_cache(const Bound& a, std::string_view name, std::string_view rows) {
  const at::Tensor& cache = a.tensor(name);
  const bool columns_first = a.opt_text("cache_mode").value_or("PA_NZ") == "PA_NZ";
  const at::Tensor slots = a.tensor("slot_mapping").to(at::kLong).reshape(-1);
  const at::Tensor kept = slots.ge(0).nonzero().squeeze(1);
  const at::Tensor fresh = a.tensor(rows).reshape({slots.numel(), -1}).index_select(0, kept);
  const at::Tensor all =
      as_slots(cache, columns_first).index_copy(0, slots.index_select(0, kept), fresh);
  FormulaResult result = as_is(from_slots(all, cache, columns_first));
  result.argument = std::string(name);
  return result;
}

FormulaResults scatter_pa_kv_cache(const Bound& a, Wish) {
  refuse(a, "npu_scatter_pa_kv_cache", {"compress_lens", "compress_seq_offsets", "seq_lens"});
  return {written_cache(a, "key_cache", "key"), written_cache(a, "value_cache", "value")};
}

FormulaResults scatter_pa_kv_cache_functional(const Bound& a, Wish wish) {
  FormulaResults results = scatter_pa_kv_cache(a, wish);
  for (FormulaResult& result : results) result.argument.clear();
  return results;
}

std::vector<std::int64_t> whole_numbers(const at::Tensor& tensor) {
  const at::Tensor plain = tensor.to(at::kCPU, at::kLong).contiguous();
  const auto* data = plain.data_ptr<std::int64_t>();
  return {data, data + plain.numel()};
}

// The rows of the cache that hold the tokens of each sequence, one sequence after the other.
at::Tensor gathered_slots(const Bound& a) {
  const std::int64_t size = a.tensor("key_cache").size(1);
  const at::Tensor table = a.tensor("block_tables").to(at::kLong);
  std::vector<std::int64_t> lengths = whole_numbers(a.tensor("seq_lens"));
  if (a.boolean("is_seq_lens_cumsum")) {
    for (std::size_t i = lengths.size(); i-- > 1;) lengths[i] -= lengths[i - 1];
    if (std::ssize(lengths) == table.size(0) + 1) lengths.erase(lengths.begin());
  }
  std::vector<std::int64_t> first(lengths.size());
  if (!a.is_none("seq_offset")) first = whole_numbers(a.tensor("seq_offset"));
  std::vector<at::Tensor> slots;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    TORCH_CHECK(first.at(i) % size == 0, "seq_offset ", first[i], " is inside of a block of ", size,
                " tokens, which has no benchmark");
    const at::Tensor place = at::arange(first[i], first[i] + lengths[i], table.options());
    const at::Tensor blocks =
        table[static_cast<std::int64_t>(i)].index_select(0, place.div(size, "floor"));
    slots.push_back(blocks * size + place.remainder(size));
  }
  return slots.empty() ? at::empty({0}, table.options()) : at::cat(slots);
}

FormulaResult gathered(const Bound& a, std::string_view cache, std::string_view rows,
                       const at::Tensor& slots) {
  const at::Tensor& target = a.tensor(rows);
  at::Tensor all = target.clone();
  all.narrow(0, 0, slots.numel())
      .copy_(as_slots(a.tensor(cache), false)
                 .index_select(0, slots)
                 .view(all.narrow(0, 0, slots.numel()).sizes()));
  FormulaResult result = as_is(all);
  result.argument = std::string(rows);
  return result;
}

FormulaResults gather_pa_kv_cache(const Bound& a, Wish) {
  const at::Tensor slots = gathered_slots(a);
  return {gathered(a, "key_cache", "key", slots), gathered(a, "value_cache", "value", slots)};
}

FormulaResults gather_pa_kv_cache_functional(const Bound& a, Wish wish) {
  FormulaResults results = gather_pa_kv_cache(a, wish);
  for (FormulaResult& result : results) result.argument.clear();
  return results;
}

// Rows behind the last token are not written.
std::vector<at::Tensor> gathered_rows(const Bound& a) {
  const std::int64_t tokens = gathered_slots(a).numel();
  const auto mask = [&](std::string_view name) {
    const at::Tensor& target = a.tensor(name);
    std::vector<std::int64_t> shape(static_cast<std::size_t>(target.dim()), 1);
    shape[0] = target.size(0);
    return at::arange(target.size(0), at::kLong).lt(tokens).view(shape);
  };
  return {mask("key"), mask("value")};
}

constexpr std::string_view kScatterPages =
    "key, value, key_cache, value_cache, slot_mapping, *, compress_lens=None, "
    "compress_seq_offsets=None, seq_lens=None, cache_mode='PA_NZ'";
constexpr std::string_view kGatherPages =
    "key_cache, value_cache, block_tables, seq_lens, key, value, *, seq_offset=None, "
    "is_seq_lens_cumsum=False";

constexpr FormulaRow kServingRows[] = {
    {.api = "NPU.npu_add_rms_norm_dynamic_quant",
     .signature = "x1, x2, gamma, *, smooth_scale1=None, smooth_scale2=None, beta=None, "
                  "epsilon=1e-06, output_mask=None, y_dtype=None",
     .formula = &add_rms_norm_dynamic_quant,
     .readings = kNormReadings},
    {.api = "NPU.npu_gather_pa_kv_cache",
     .signature = kGatherPages,
     .formula = &gather_pa_kv_cache,
     .nothing = true},
    {.api = "NPU.npu_gather_pa_kv_cache_functional",
     .signature = kGatherPages,
     .formula = &gather_pa_kv_cache_functional,
     .written = &gathered_rows},
    {.api = "NPU.npu_grouped_matmul_swiglu_quant",
     .signature = "x, weight, group_list, weight_scale, x_scale, *, bias=None, offset=None",
     .formula = &first_swiglu_quant,
     .written = &swiglu_quant_rows},
    {.api = "NPU.npu_grouped_matmul_swiglu_quant_v2",
     .signature = "x, weight, weight_scale, x_scale, group_list, *, smooth_scale=None, "
                  "weight_assist_matrix=None, bias=None, dequant_mode=0, dequant_dtype=6, "
                  "quant_mode=0, quant_dtype=1, group_list_type=0, tuning_config=None, "
                  "x_dtype=None, weight_dtype=None, weight_scale_dtype=None, x_scale_dtype=None",
     .formula = &second_swiglu_quant,
     .written = &swiglu_quant_rows},
    {.api = "NPU.npu_kronecker_quant",
     .signature = "x, kronecker_p1, kronecker_p2, clip_ratio=None, dst_dtype=None, "
                  "dst_type_max=None",
     .formula = &kronecker_quant,
     .readings = kKroneckerReadings},
    {.api = "NPU.npu_scatter_pa_kv_cache",
     .signature = kScatterPages,
     .formula = &scatter_pa_kv_cache,
     .nothing = true},
    {.api = "NPU.npu_scatter_pa_kv_cache_functional",
     .signature = kScatterPages,
     .formula = &scatter_pa_kv_cache_functional},
};

}  // namespace

std::span<const FormulaRow> serving_formulas() { return kServingRows; }

}  // namespace msprobe::execute::npu
