// SPDX-License-Identifier: Apache-2.0
// Formulas of products whose operands are codes with scales.
#include <fmt/format.h>

#include "execute/npu/experts.h"
#include "execute/npu/formula.h"
#include "execute/npu/grouped_arguments.h"

namespace msprobe::execute::npu {
namespace {

// A matrix of codes, and whether sums of its products are exact.
struct Operand {
  Bounded value;
  bool whole = false;
};

std::optional<Packing> fp4_packing(std::optional<Number> declared) {
  if (declared == Number::kE2M1) return Packing::kE2M1InByte;
  if (declared == Number::kE1M2) return Packing::kE1M2InByte;
  return std::nullopt;
}

// `rows`: of the matrix, where that is known; eight int4 in a word lie along the other dimension.
Operand operand(const at::Tensor& codes, std::optional<Number> declared, std::int64_t rows,
                bool bounds) {
  const at::ScalarType type = codes.scalar_type();
  const auto unpack = [&](Packing packing) {
    const bool down = rows >= 0 && codes.size(-2) != rows;
    return down ? unpacked(codes.transpose(-2, -1).contiguous(), packing).transpose(-2, -1)
                : unpacked(codes.contiguous(), packing);
  };
  if (type == at::kChar) return {exact(codes, bounds), true};
  if (type == at::kInt) return {exact(unpack(Packing::kInt4InInt32), bounds), true};
  if (type == at::kByte) {
    const auto packing = fp4_packing(declared);
    if (!packing) throw BindError("operands of torch.uint8 need a dtype that says what they hold");
    return {exact(unpack(*packing), bounds), false};
  }
  return {exact(codes, bounds), false};
}

bool is_words(const at::Tensor& scale) {
  return !scale.is_floating_point() && scale.element_size() == 8;
}

bool are_powers(const at::Tensor& scale) { return scale.element_size() == 1; }

// (.., pairs of blocks, n, 2) as one row for each of `count` elements along k.
at::Tensor along_k(const at::Tensor& pairs, std::int64_t count) {
  return powers_of_two(pairs).transpose(-2, -1).flatten(-3, -2).repeat_interleave(32, -2).narrow(
      -2, 0, count);
}

// (m, pairs of blocks, 2): the same along the last dimension.
at::Tensor along_last(const at::Tensor& pairs, std::int64_t count) {
  return powers_of_two(pairs).flatten(-2).repeat_interleave(32, -1).narrow(-1, 0, count);
}

Bounded repeated(const Bounded& x, std::int64_t each, std::int64_t dim, std::int64_t count) {
  return viewed(
      x, [&](const at::Tensor& t) { return t.repeat_interleave(each, dim).narrow(dim, 0, count); });
}

Bounded with_powers(const Bounded& x, const at::Tensor& powers) {
  return {x.value * powers, x.slack.defined() && x.slack.dim() > 0 ? x.slack * powers : x.slack};
}

at::ScalarType out_type(std::optional<Number> number, at::ScalarType otherwise) {
  return number ? scalar_type_of(*number) : otherwise;
}

FormulaResult as_number(const Bounded& x, at::ScalarType type) {
  if (type == at::kChar) return as_codes(x, Number::kInt8);
  if (type == at::kInt) return as_codes(x, Number::kInt32);
  return as_floats(x, type);
}

// npu_quant_matmul

struct QuantMatmul {
  Operand x1, x2;
  at::Tensor scale, token, bias, offset;  // undefined where not given
  at::ScalarType out = at::kChar;
  std::int64_t k = 0;
};

QuantMatmul quant_matmul_inputs(const Bound& a, bool bounds) {
  QuantMatmul q{.x1 = operand(a.tensor("x1"), opt_number(a, "x1_dtype"), -1, bounds),
                .x2 = {},
                .scale = a.tensor("scale"),
                .token = a.tensor_or_undefined("pertoken_scale"),
                .bias = a.tensor_or_undefined("bias"),
                .offset = a.tensor_or_undefined("offset"),
                .out = out_type(opt_number(a, "output_dtype"), at::kChar)};
  q.k = q.x1.value.value.size(-1);
  q.x2 = operand(a.tensor("x2"), opt_number(a, "x2_dtype"), q.k, bounds);
  return q;
}

// Blocks of the summed dimension have scales of their own: powers of two, or float32 numbers.
Bounded scaled_by_block(const Bound& a, const QuantMatmul& q, bool bounds) {
  const Bounded& x1 = q.x1.value;
  const Bounded& x2 = q.x2.value;
  const bool along_columns = q.token.defined() && are_powers(q.token) && q.token.size(-1) != 2;
  TORCH_CHECK(!along_columns, "pertoken_scale of shape ", q.token.sizes(), " has no benchmark");
  if (are_powers(q.scale)) {
    const Bounded left = q.token.defined() ? with_powers(x1, along_last(q.token, q.k)) : x1;
    return product(left, with_powers(x2, along_k(q.scale, q.k)), false);
  }
  const auto sizes = a.opt_integers("group_sizes").value_or(std::vector<std::int64_t>());
  const std::int64_t by_rows = sizes.empty() ? 1 : std::max<std::int64_t>(sizes[0], 1);
  const std::int64_t rows = x1.value.size(-2);
  const Bounded token = repeated(repeated(exact(q.token, bounds), 128, -1, q.k),
                                 q.token.size(-2) == rows ? 1 : by_rows, -2, rows);
  const Bounded scale =
      repeated(repeated(exact(q.scale, bounds), 128, -2, q.k), 128, -1, x2.value.size(-1));
  return product(x1 * token, x2 * scale, false);
}

// int4 with a scale and an offset for each 256 elements of the summed dimension.
Bounded scaled_by_group(const QuantMatmul& q, bool bounds) {
  const std::int64_t each = q.k / q.scale.size(0);
  const Bounded scale = repeated(exact(q.scale, bounds), each, -2, q.k);
  Bounded weight = q.x2.value;
  if (q.offset.defined()) {
    weight = weight - repeated(exact(q.offset, bounds), each, -2, q.k);
  }
  return product(q.x1.value, weight * scale, false);
}

bool has_float_bias(const QuantMatmul& q) { return q.bias.defined() && q.bias.is_floating_point(); }

Bounded with_token(const Bounded& y, const at::Tensor& token, bool bounds) {
  if (!token.defined()) return y;
  return y * exact(token.dim() == 1 && token.numel() > 1 ? token.unsqueeze(-1) : token, bounds);
}

Bounded with_whole_bias(const Bounded& y, const QuantMatmul& q) {
  if (!q.bias.defined() || has_float_bias(q)) return y;
  return {y.value + q.bias.to(at::kDouble), y.slack};  // exact in int32
}

Bounded plain_scales(const QuantMatmul& q, bool bounds) {
  Bounded y = product(q.x1.value, q.x2.value, q.x1.whole && q.x2.whole);
  y = with_whole_bias(y, q);
  if (q.out == at::kInt) return y;
  // The binding turns float32 scales into words where nothing else is multiplied.
  const bool cut = q.scale.scalar_type() == at::kFloat && !q.token.defined() &&
                   q.out != at::kBFloat16 && q.x1.whole;
  at::Tensor offset = q.offset;
  if (is_words(q.scale)) {
    const WordScale words = scale_of_words(q.scale);
    y = y * exact(words.scale, bounds);
    if (!offset.defined() && q.out == at::kChar) offset = words.offset;
  } else if (cut) {
    y = y * exact(scale_of_19_bits(q.scale), bounds);
    if (offset.defined()) offset = offset.to(at::kDouble).round().clamp(-256, 255);
  } else {
    y = y * exact(q.scale, bounds);
  }
  y = with_token(y, q.token, bounds);
  if (has_float_bias(q)) y = y + exact(q.bias, bounds);
  return offset.defined() ? y + exact(offset, bounds) : y;
}

FormulaResults quant_matmul(const Bound& a, Wish wish) {
  QuantMatmul q = quant_matmul_inputs(a, wish.bounds);
  const auto sizes = a.opt_integers("group_sizes").value_or(std::vector<std::int64_t>());
  const std::int64_t along_sum = sizes.size() == 3 ? sizes[2] : 0;
  const bool token_blocks = q.token.defined() && q.token.dim() > 1 && q.token.size(-1) > 1;
  const bool blocks = are_powers(q.scale) || along_sum == 128 || token_blocks;
  const bool many_scales = q.scale.dim() == 2 && q.scale.size(0) > 1;
  const bool groups = !blocks && (many_scales || along_sum == 256);
  if (!a.is_none("y_scale")) {
    const at::Tensor rows = q.scale.to(at::kDouble).transpose(-2, -1);
    const Bounded scale = repeated(exact(rows, wish.bounds), q.k / rows.size(-2), -2, q.k);
    const Bounded y = product(q.x1.value, q.x2.value * scale, false) *
                      exact(scale_of_words(a.tensor("y_scale")).scale, wish.bounds);
    return {as_number(y, q.out)};
  }
  Bounded y;
  if (blocks) {
    y = scaled_by_block(a, q, wish.bounds);
    if (has_float_bias(q)) y = y + exact(q.bias, wish.bounds);
  } else if (groups) {
    y = with_token(scaled_by_group(q, wish.bounds), q.token, wish.bounds);
    if (has_float_bias(q)) y = y + exact(q.bias, wish.bounds);
  } else {
    y = plain_scales(q, wish.bounds);
  }
  return {as_number(y, q.out)};
}

// Weights of few bits

double unit_of(at::ScalarType type) {
  if (type == at::kHalf) return 1.0 / (1 << 11);
  return type == at::kBFloat16 ? 1.0 / (1 << 8) : kOperation;
}

// x @ weight, where each weight has been rounded to the dtype of x.
Bounded product_of_rounded(const Bounded& x, const Bounded& weight, double unit) {
  Bounded y = product(x, weight, false);
  if (!y.slack.defined()) return y;
  // Roundings of the single weights are independent of each other.
  const at::Tensor linear = at::matmul(x.value.abs(), weight.value.abs());
  const at::Tensor squares = at::matmul(x.value.square(), weight.value.square()).sqrt() * 4;
  return {y.value, y.slack + at::minimum(linear, squares) * unit};
}

// (weight + offset) * scale; scale and offset have one row for each `each` rows of the weight.
Bounded wide_weight(const Bounded& weight, const at::Tensor& scale, const at::Tensor& offset,
                    bool bounds) {
  const std::int64_t k = weight.value.size(-2);
  const auto spread = [&](const at::Tensor& given) {
    const Bounded all = exact(given, bounds);
    if (given.dim() < 2 || given.size(-2) == 1) return all;
    const std::int64_t each = (k + given.size(-2) - 1) / given.size(-2);
    return repeated(all, each, -2, k);
  };
  const Bounded moved = offset.defined() ? weight + spread(offset) : weight;
  return moved * spread(scale);
}

FormulaResults weight_quant_batchmatmul(const Bound& a, Wish wish) {
  const at::Tensor& x = a.tensor("x");
  const Operand weight =
      operand(a.tensor("weight"), opt_number(a, "weight_dtype"), x.size(-1), wish.bounds);
  at::Tensor scale = a.tensor("antiquant_scale");
  at::Tensor offset = a.tensor_or_undefined("antiquant_offset");
  if (is_words(scale)) scale = scale_of_words(scale).scale;
  if (scale.dim() == 2 && scale.size(0) > 1 && a.integer("antiquant_group_size") > 0) {
    const std::int64_t each = a.integer("antiquant_group_size");
    const auto spread = [&](const at::Tensor& t) {
      return t.repeat_interleave(each, 0).narrow(0, 0, x.size(-1));
    };
    scale = spread(scale);
    if (offset.defined() && offset.dim() == 2 && offset.size(0) > 1) offset = spread(offset);
  }
  Bounded y = product_of_rounded(exact(x, wish.bounds),
                                 wide_weight(weight.value, scale, offset, wish.bounds),
                                 unit_of(x.scalar_type()));
  if (!a.is_none("bias")) y = y + exact(a.tensor("bias"), wish.bounds);
  if (a.is_none("quant_scale")) return {as_floats(y, x.scalar_type())};
  const at::Tensor& quant = a.tensor("quant_scale");
  y = y * exact(is_words(quant) ? scale_of_words(quant).scale : quant, wish.bounds);
  if (!a.is_none("quant_offset")) y = y + exact(a.tensor("quant_offset"), wish.bounds);
  return {as_codes(y, Number::kInt8)};
}

// npu_grouped_matmul with codes

std::vector<at::Tensor> list_or_none(const Bound& a, std::string_view name) {
  return a.is_none(name) ? std::vector<at::Tensor>() : a.tensors(name);
}

// Of a list with one tensor for each group, or of one tensor that holds all of them.
at::Tensor tensor_of_group(const std::vector<at::Tensor>& list, std::size_t group, bool stacked) {
  if (list.empty()) return {};
  if (list.size() == 1 && stacked) return list[0][static_cast<std::int64_t>(group)];
  return list[std::min(group, list.size() - 1)];
}

struct GroupedLists {
  std::vector<at::Tensor> x, weight, bias, scale, offset, antiquant_scale, antiquant_offset, token;
  bool stacked = false;
  std::optional<Number> x_type, weight_type;
  at::ScalarType out = at::kChar;
  std::int64_t activation = 0;
};

GroupedLists grouped_lists(const Bound& a) {
  GroupedLists lists{.x = a.tensors("x"),
                     .weight = a.tensors("weight"),
                     .bias = list_or_none(a, "bias"),
                     .scale = list_or_none(a, "scale"),
                     .offset = list_or_none(a, "offset"),
                     .antiquant_scale = list_or_none(a, "antiquant_scale"),
                     .antiquant_offset = list_or_none(a, "antiquant_offset"),
                     .token = list_or_none(a, "per_token_scale"),
                     .x_type = opt_number(a, "x_dtype"),
                     .weight_type = opt_number(a, "weight_dtype"),
                     .activation = a.opt_integer("act_type").value_or(0)};
  lists.stacked = lists.weight.size() == 1 && lists.weight[0].dim() == 3;
  const at::ScalarType type = lists.x.at(0).scalar_type();
  at::ScalarType otherwise = type;
  if (type == at::kChar && lists.scale.empty()) otherwise = at::kInt;
  if (type == at::kInt) otherwise = at::kHalf;
  lists.out = out_type(opt_number(a, "output_dtype"), otherwise);
  return lists;
}

Bounded activated(const Bounded& y, std::int64_t activation) {
  switch (activation) {
    case 0:
      return y;
    case 1:
      return relu(y);
    case 2:
      return gelu(y, /*tanh=*/true);
    case 4:
      return silu(y, 1.702);
    case 5:
      return silu(y);
    default:
      throw BindError(fmt::format("npu_grouped_matmul: act_type {} has no benchmark", activation));
  }
}

// The rows of one group, and their scales.
struct GroupPart {
  at::Tensor x, token;
  std::size_t group = 0;
};

// Codes against codes, with a scale for each column, each part of the sum, or none.
Bounded codes_product(const GroupedLists& lists, const GroupPart& part, bool bounds) {
  const at::Tensor weight_codes = tensor_of_group(lists.weight, part.group, lists.stacked);
  const at::Tensor bias = tensor_of_group(lists.bias, part.group, lists.stacked);
  Operand x = operand(part.x, lists.x_type, -1, bounds);
  const std::int64_t k = x.value.value.size(-1);
  Operand weight = operand(weight_codes, lists.weight_type, k, bounds);
  at::Tensor scale = tensor_of_group(lists.scale, part.group, lists.stacked);
  if (scale.defined() && is_words(scale)) scale = scale_of_words(scale).scale;
  const bool mixed = part.x.scalar_type() == at::kChar && weight_codes.scalar_type() == at::kInt;
  const bool by_part = scale.defined() && scale.dim() == 2 && scale.size(0) > 1;
  Bounded y;
  if (mixed) {
    if (!lists.offset.empty()) throw BindError("npu_grouped_matmul: offset has no benchmark");
    x.value.value = x.value.value - 8;
  }
  if (mixed || by_part) {
    y = product(x.value, wide_weight(weight.value, scale, {}, bounds), false);
    if (bias.defined()) y = y + exact(bias, bounds);
  } else {
    y = product(x.value, weight.value, x.whole && weight.whole);
    const bool whole_bias = bias.defined() && !bias.is_floating_point();
    if (whole_bias) y.value = y.value + bias.to(at::kDouble);
    if (scale.defined()) y = y * exact(scale, bounds);
    if (bias.defined() && !whole_bias && !part.token.defined()) y = y + exact(bias, bounds);
  }
  if (part.token.defined()) {
    y = y * exact(part.token.reshape({-1, 1}), bounds);
    const bool late = bias.defined() && bias.is_floating_point() && !mixed && !by_part;
    if (late) y = y + exact(bias, bounds);
  }
  return activated(y, lists.activation);
}

Bounded powers_product(const GroupedLists& lists, const GroupPart& part, bool bounds) {
  const Operand x = operand(part.x, lists.x_type, -1, bounds);
  const std::int64_t k = x.value.value.size(-1);
  const Operand weight = operand(tensor_of_group(lists.weight, part.group, lists.stacked),
                                 lists.weight_type, k, bounds);
  const at::Tensor scale = tensor_of_group(lists.scale, part.group, lists.stacked);
  Bounded y = product(with_powers(x.value, along_last(part.token, k)),
                      with_powers(weight.value, along_k(scale, k)), false);
  const at::Tensor bias = tensor_of_group(lists.bias, part.group, lists.stacked);
  return bias.defined() ? y + exact(bias, bounds) : y;
}

Bounded few_bits_product(const GroupedLists& lists, const GroupPart& part, bool bounds) {
  const at::Tensor& x = part.x;
  const Operand weight = operand(tensor_of_group(lists.weight, part.group, lists.stacked),
                                 lists.weight_type, x.size(-1), bounds);
  const Bounded wide =
      wide_weight(weight.value, tensor_of_group(lists.antiquant_scale, part.group, lists.stacked),
                  tensor_of_group(lists.antiquant_offset, part.group, lists.stacked), bounds);
  Bounded y = product_of_rounded(exact(x, bounds), wide, unit_of(x.scalar_type()));
  const at::Tensor bias = tensor_of_group(lists.bias, part.group, lists.stacked);
  return bias.defined() ? y + exact(bias, bounds) : y;
}

Bounded part_product(const GroupedLists& lists, const GroupPart& part, bool bounds) {
  if (!lists.antiquant_scale.empty()) return few_bits_product(lists, part, bounds);
  if (!lists.scale.empty() && are_powers(lists.scale[0])) {
    if (!part.token.defined()) throw BindError("npu_grouped_matmul: per_token_scale is missing");
    return powers_product(lists, part, bounds);
  }
  return codes_product(lists, part, bounds);
}

// K is cut: both operands have their scales along it, each group from row end // 64 + group on.
std::vector<Bounded> powers_by_sum(const GroupedLists& lists, const std::vector<std::int64_t>& ends,
                                   bool bounds) {
  const Bounded x = operand(lists.x[0], lists.x_type, -1, bounds).value;
  const Bounded weight =
      operand(lists.weight[0], lists.weight_type, x.value.size(-1), bounds).value;
  std::vector<Bounded> parts;
  std::int64_t first = 0;
  for (std::size_t g = 0; g < ends.size(); ++g) {
    const std::int64_t count = ends[g] - first;
    const std::int64_t row = first / 64 + static_cast<std::int64_t>(g);
    const std::int64_t rows = (count + 63) / 64;
    const auto cut = [&](const Bounded& all, std::int64_t dim) {
      return viewed(all, [&](const at::Tensor& t) { return t.narrow(dim, first, count); });
    };
    const at::Tensor of_x = along_last(lists.token[0].narrow(1, row, rows), count);
    const at::Tensor of_weight = along_k(lists.scale[0].narrow(0, row, rows), count);
    parts.push_back(
        product(with_powers(cut(x, 1), of_x), with_powers(cut(weight, 0), of_weight), false));
    first = ends[g];
  }
  return parts;
}

FormulaResult joined(const std::vector<Bounded>& parts, at::ScalarType type, bool stacked) {
  std::vector<at::Tensor> values;
  std::vector<at::Tensor> slacks;
  for (const Bounded& part : parts) {
    values.push_back(part.value);
    if (part.slack.defined()) slacks.push_back(part.slack.expand_as(part.value));
  }
  const auto join = [&](const std::vector<at::Tensor>& all) {
    return stacked ? at::stack(all) : at::cat(all);
  };
  return as_number({join(values), slacks.empty() ? at::Tensor() : join(slacks)}, type);
}

FormulaResults grouped_products(const GroupedLists& lists, const GroupedCut& cut, bool bounds) {
  FormulaResults results;
  std::vector<Bounded> parts;
  if (cut.by == GroupedBy::kSummed) {
    if (lists.scale.empty() || !are_powers(lists.scale[0])) {
      throw BindError(
          "npu_grouped_matmul: codes with group_type 2 have a benchmark only with "
          "scales that are powers of two");
    }
    parts = powers_by_sum(lists, cut.ends, bounds);
    if (cut.one_result) return {joined(parts, lists.out, true)};
  } else if (cut.by == GroupedBy::kRows) {
    std::int64_t first = 0;
    const at::Tensor token = lists.token.empty() ? at::Tensor() : lists.token[0];
    for (std::size_t g = 0; g < cut.ends.size(); ++g) {
      const auto rows = [&](const at::Tensor& all) {
        return all.defined() ? all.narrow(0, first, cut.ends[g] - first) : all;
      };
      parts.push_back(part_product(lists, {rows(lists.x[0]), rows(token), g}, bounds));
      first = cut.ends[g];
    }
    const std::int64_t left = lists.x[0].size(0) - first;
    if (cut.one_result && left > 0) {
      const std::int64_t width = parts.empty() ? 0 : parts[0].value.size(1);
      parts.push_back(exact(at::zeros({left, width}), bounds));
    }
  } else {
    for (std::size_t g = 0; g < lists.x.size(); ++g) {
      parts.push_back(
          part_product(lists, {lists.x[g], tensor_of_group(lists.token, g, false), g}, bounds));
    }
  }
  if (cut.one_result) return {joined(parts, lists.out, false)};
  for (const Bounded& part : parts) results.push_back(as_number(part, lists.out));
  return results;
}

FormulaResults grouped_matmul(const Bound& a, Wish wish) {
  const GroupedLists lists = grouped_lists(a);
  return grouped_products(lists, grouped_cut(a), wish.bounds);
}

// npu_ffn

// The halves of a hidden layer, one of them activated. Which one is open.
Bounded ffn_gated(const Bounded& h, const std::string& activation, std::size_t reading) {
  const auto half = [&](std::size_t which) {
    return viewed(h, [&](const at::Tensor& t) { return t.chunk(2, -1)[which]; });
  };
  const std::size_t active = reading / 2;
  const Bounded gate = half(active);
  const Bounded activated_half = activation == "swiglu"  ? silu(gate)
                                 : activation == "reglu" ? relu(gate)
                                                         : gelu(gate, reading % 2 == 1);
  return activated_half * half(1 - active);
}

Bounded ffn_activated(const Bounded& h, const std::string& name, std::size_t reading) {
  if (name.ends_with("glu")) return ffn_gated(h, name, reading);
  if (name == "relu") return relu(h);
  if (name == "gelu") return gelu(h, reading % 2 == 1);
  if (name == "silu") return silu(h);
  if (name == "fastgelu") return silu(h, 1.702);
  throw BindError(fmt::format("npu_ffn: activation '{}' has no benchmark", name));
}

struct FfnPart {
  at::Tensor x;
  std::int64_t expert = -1;  // -1: there are none
};

at::Tensor of_expert(const Bound& a, std::string_view name, std::int64_t expert) {
  const at::Tensor all = a.tensor_or_undefined(name);
  if (!all.defined() || expert < 0) return all;
  return all.dim() > 1 || all.size(0) > 1 ? all[std::min(expert, all.size(0) - 1)] : all;
}

Bounded ffn_weight(const Bound& a, const FfnPart& part, bool first, bool bounds) {
  const at::Tensor weight = of_expert(a, first ? "weight1" : "weight2", part.expert);
  const at::Tensor scale =
      of_expert(a, first ? "antiquant_scale1" : "antiquant_scale2", part.expert);
  if (!scale.defined()) return exact(weight, bounds);
  const at::Tensor offset =
      of_expert(a, first ? "antiquant_offset1" : "antiquant_offset2", part.expert);
  return wide_weight(exact(weight, bounds), scale, offset, bounds);
}

at::Tensor plain_scale(const at::Tensor& scale) {
  return is_words(scale) ? scale_of_words(scale).scale : scale;
}

Bounded ffn_part(const Bound& a, const FfnPart& part, Wish wish) {
  const bool codes = part.x.scalar_type() == at::kChar;
  const double unit = unit_of(part.x.scalar_type());
  const auto given = [&](std::string_view name) { return of_expert(a, name, part.expert); };
  const auto layer = [&](const Bounded& x, bool first) {
    const Bounded weight = ffn_weight(a, part, first, wish.bounds);
    const bool rounds = given(first ? "antiquant_scale1" : "antiquant_scale2").defined();
    Bounded y = rounds ? product_of_rounded(x, weight, unit) : product(x, weight, codes);
    const at::Tensor bias = given(first ? "bias1" : "bias2");
    if (bias.defined()) y = y + exact(bias, wish.bounds);
    const at::Tensor scale = given(first ? "deq_scale1" : "deq_scale2");
    return scale.defined() ? y * exact(plain_scale(scale), wish.bounds) : y;
  };
  Bounded h =
      ffn_activated(layer(exact(part.x, wish.bounds), true), a.text("activation"), wish.reading);
  if (!codes) return layer(loosened(h, unit), false);
  h = h * exact(given("scale"), wish.bounds);
  if (const at::Tensor offset = given("offset"); offset.defined()) {
    h = h + exact(offset, wish.bounds);
  }
  const FormulaResult rounded = as_codes(h, Number::kInt8);
  Bounded hidden = exact(rounded.value, wish.bounds);
  if (wish.bounds) hidden.slack = rounded.highest - rounded.lowest;
  return layer(hidden, false);
}

FormulaResults ffn(const Bound& a, Wish wish) {
  const at::Tensor& x = a.tensor("x");
  const bool codes = x.scalar_type() == at::kChar;
  const at::ScalarType type =
      codes ? out_type(opt_number(a, "output_dtype"), at::kHalf) : x.scalar_type();
  auto counts = a.opt_integers("expert_tokens");
  if (const auto ends = a.opt_integers("expert_tokens_index")) {
    counts = *ends;
    for (std::size_t i = ends->size(); i-- > 1;) (*counts)[i] -= (*ends)[i - 1];
  }
  if (!counts) return {as_floats(ffn_part(a, {x}, wish), type)};
  std::vector<Bounded> parts;
  std::int64_t first = 0;
  for (std::size_t i = 0; i < counts->size(); ++i) {
    parts.push_back(
        ffn_part(a, {x.narrow(0, first, (*counts)[i]), static_cast<std::int64_t>(i)}, wish));
    first += (*counts)[i];
  }
  return {joined(parts, type, false)};
}

bool has_open_activation(const Bound& a) {
  return a.text("activation").ends_with("glu") || a.text("activation") == "gelu";
}

constexpr std::string_view kGeluReadings[] = {"uses GELU by erf", "uses GELU by tanh",
                                              "activates the second half, GELU by erf",
                                              "activates the second half, GELU by tanh"};

// npu_transpose_batchmatmul with a scale

at::Tensor transposed_by(const Bound& a, std::string_view name, const at::Tensor& tensor) {
  const auto order = a.opt_integers(name);
  return order ? tensor.permute(*order) : tensor;
}

FormulaResults scaled_transpose_batchmatmul(const Bound& a, Wish wish) {
  const Bounded x = exact(transposed_by(a, "perm_x1", a.tensor("input")), wish.bounds);
  const Bounded weight = exact(transposed_by(a, "perm_x2", a.tensor("weight")), wish.bounds);
  const Bounded y = viewed(product(x, weight, false), [](const at::Tensor& t) {
    return t.permute({1, 0, 2}).flatten(1).unsqueeze(1);
  });
  const Bounded scaled = y * exact(plain_scale(a.tensor("scale")), wish.bounds);
  return {as_codes(scaled, Number::kInt8,
                   wish.reading == 0 ? RoundMode::kHalfEven : RoundMode::kTruncate)};
}

bool has_scale(const Bound& a) { return !a.is_none("scale"); }

constexpr std::string_view kRoundReadings[] = {"rounds to the nearest code", "truncates"};

constexpr FormulaRow kProductRows[] = {
    {.api = "NPU.npu_ffn",
     .signature =
         "x, weight1, weight2, activation, *, expert_tokens=None, expert_tokens_index=None, "
         "bias1=None, bias2=None, scale=None, offset=None, deq_scale1=None, deq_scale2=None, "
         "antiquant_scale1=None, antiquant_scale2=None, antiquant_offset1=None, "
         "antiquant_offset2=None, inner_precise=None, output_dtype=None",
     .formula = &ffn,
     .readings = kGeluReadings,
     .is_open = &has_open_activation,
     .single = true},
    {.api = "NPU.npu_grouped_matmul",
     .signature =
         "x, weight, *, bias=None, scale=None, offset=None, antiquant_scale=None, "
         "antiquant_offset=None, per_token_scale=None, group_list=None, activation_input=None, "
         "activation_quant_scale=None, activation_quant_offset=None, split_item=0, "
         "group_type=None, group_list_type=0, act_type=0, tuning_config=None, "
         "output_dtype=None, x_dtype=None, weight_dtype=None, scale_dtype=None, "
         "per_token_scale_dtype=None",
     .formula = &grouped_matmul,
     .judges_only = true,
     .applies = &is_quantised_product},
    {.api = "NPU.npu_quant_matmul",
     .signature =
         "x1, x2, scale, *, offset=None, pertoken_scale=None, bias=None, output_dtype=None, "
         "x1_dtype=None, x2_dtype=None, pertoken_scale_dtype=None, scale_dtype=None, "
         "group_sizes=None, y_scale=None",
     .formula = &quant_matmul,
     .single = true},
    {.api = "NPU.npu_transpose_batchmatmul",
     .signature =
         "input, weight, *, bias=None, scale=None, perm_x1=None, perm_x2=None, perm_y=None, "
         "batch_split_factor=1",
     .formula = &scaled_transpose_batchmatmul,
     .readings = kRoundReadings,
     .single = true,
     .judges_only = true,
     .applies = &has_scale},
    {.api = "NPU.npu_weight_quant_batchmatmul",
     .signature = "x, weight, antiquant_scale, antiquant_offset=None, quant_scale=None, "
                  "quant_offset=None, bias=None, antiquant_group_size=0, inner_precise=0, "
                  "weight_dtype=None",
     .formula = &weight_quant_batchmatmul,
     .single = true},
};

}  // namespace

std::span<const FormulaRow> product_formulas() { return kProductRows; }

}  // namespace msprobe::execute::npu
