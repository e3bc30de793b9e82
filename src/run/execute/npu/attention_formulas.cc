// SPDX-License-Identifier: Apache-2.0
// Formulas of the attention of inference: what the operators give, the bound of each element, and
// which rows they write.
#include <fmt/format.h>

#include "execute/npu/attention_bounds.h"
#include "execute/npu/formula.h"
#include "execute/npu/infer_attention.h"

namespace msprobe::execute::npu {
namespace {

Integers lengths_or_none(const Bound& a, std::string_view name) {
  if (a.is_none(name)) return {};
  if (const auto* tensor = a.value(name).as<at::Tensor>()) {
    const at::Tensor plain = tensor->to(at::kCPU, at::kLong).contiguous();
    const auto* data = plain.data_ptr<std::int64_t>();
    return {data, data + plain.numel()};
  }
  return a.integers(name);
}

double weights_unit(at::ScalarType type) {
  if (type == at::kHalf) return 1.0 / (1 << 11);
  return type == at::kBFloat16 ? 1.0 / (1 << 8) : 0;
}

at::Tensor wide(const at::Tensor& tensor) {
  return tensor.defined() ? tensor.to(at::kDouble) : tensor;
}

// (k + offset) * scale of codes in key or value: one number, one for each channel, or for each
// token.
at::Tensor wide_keys(const at::Tensor& codes, const at::Tensor& scale, const at::Tensor& offset,
                     const InferAttention& options) {
  if (!scale.defined()) {
    // Codes of eight bits have no gather.
    const bool float8 = codes.is_floating_point() && codes.element_size() == 1;
    return float8 ? codes.to(at::kDouble) : codes;
  }
  const std::int64_t heads = options.key_heads == 0 ? options.heads : options.key_heads;
  const auto over = [&](const at::Tensor& given) -> at::Tensor {
    const at::Tensor all = given.to(at::kDouble);
    if (all.numel() == 1) return all.reshape({});
    TORCH_CHECK(!options.block_table.defined() && all.numel() % heads == 0 &&
                    all.numel() == heads * (codes.numel() / codes.size(0) / heads /
                                            codes.size(options.layout.starts_with("BNSD") ? 2 : 1)),
                "antiquant of shape ", given.sizes(), " has no benchmark");
    if (options.layout.starts_with("BSH")) return all.reshape({1, 1, -1});
    if (options.layout.starts_with("BSND")) return all.reshape({1, 1, heads, -1});
    return all.reshape({1, heads, 1, -1});
  };
  const at::Tensor moved =
      offset.defined() ? codes.to(at::kDouble) + over(offset) : codes.to(at::kDouble);
  return moved * over(scale);
}

at::Tensor half_of_pair(const at::Tensor& pair, std::int64_t which) {
  return pair.defined() && pair.dim() > 0 && pair.size(0) == 2 ? pair[which] : pair;
}

// Which argument holds what, in the two versions of the operator.
struct InferNames {
  std::string_view query_lengths, key_lengths, heads, scale, lse;
};
constexpr InferNames kFirst{"actual_seq_lengths", "actual_seq_lengths_kv", "num_heads", "scale",
                            "softmax_lse_flag"};
constexpr InferNames kSecond{"actual_seq_qlen", "actual_seq_kvlen", "num_query_heads",
                             "softmax_scale", "return_softmax_lse"};

constexpr std::string_view kPseReadings[] = {"adds pse before scaling", "adds pse after scaling"};

InferAttention infer_options(const Bound& a, const InferNames& names, std::size_t reading) {
  InferAttention options{.heads = a.integer(names.heads),
                         .key_heads = a.integer("num_key_value_heads"),
                         .scale = a.real(names.scale),
                         .layout = a.text("input_layout"),
                         .pse = wide(a.tensor_or_undefined("pse_shift")),
                         .mask = a.tensor_or_undefined("atten_mask"),
                         .sparse_mode = a.integer("sparse_mode"),
                         .pre_tokens = a.integer("pre_tokens"),
                         .next_tokens = a.integer("next_tokens"),
                         .query_lengths = lengths_or_none(a, names.query_lengths),
                         .key_lengths = lengths_or_none(a, names.key_lengths),
                         .block_table = a.tensor_or_undefined("block_table"),
                         .block_size = a.integer("block_size"),
                         .query_rope = wide(a.tensor_or_undefined("query_rope")),
                         .key_rope = a.tensor_or_undefined("key_rope"),
                         .masked_rows_are_zero = (a.integer("inner_precise") & 2) != 0};
  if (reading == 1 && options.pse.defined()) options.pse = options.pse / options.scale;
  if (a.has("query_padding_size") && !a.is_none("query_padding_size")) {
    options.query_padding = lengths_or_none(a, "query_padding_size").at(0);
    options.query_padded_left = true;
  }
  if (a.has("kv_padding_size") && !a.is_none("kv_padding_size")) {
    options.key_padding = lengths_or_none(a, "kv_padding_size").at(0);
    options.key_padded_left = true;
  }
  if (a.has("key_shared_prefix")) {
    options.key_prefix = wide(a.tensor_or_undefined("key_shared_prefix"));
    options.value_prefix = wide(a.tensor_or_undefined("value_shared_prefix"));
    const Integers length = lengths_or_none(a, "actual_shared_prefix_len");
    if (!length.empty()) options.prefix_length = length[0];
  }
  if (a.has("learnable_sink")) options.sink = wide(a.tensor_or_undefined("learnable_sink"));
  return options;
}

at::Tensor key_or_value(const Bound& a, std::string_view name, const InferAttention& options) {
  const at::Tensor& codes = a.tensor(name);
  if (!a.has("antiquant_scale")) return wide_keys(codes, {}, {}, options);
  const bool is_key = name == "key";
  at::Tensor scale = half_of_pair(a.tensor_or_undefined("antiquant_scale"), is_key ? 0 : 1);
  at::Tensor offset = half_of_pair(a.tensor_or_undefined("antiquant_offset"), is_key ? 0 : 1);
  const std::string own = std::string(name) + "_antiquant_";
  if (!a.is_none(own + "scale")) {
    scale = a.tensor(own + "scale");
    offset = a.tensor_or_undefined(own + "offset");
  }
  return wide_keys(codes, scale, offset, options);
}

InferPlan plan_of(const Bound& a, const InferNames& names, std::size_t reading) {
  const InferAttention options = infer_options(a, names, reading);
  return infer_plan(a.tensor("query").to(at::kDouble), key_or_value(a, "key", options),
                    key_or_value(a, "value", options), options);
}

FormulaResult attention_output(const Bound& a, const Bounded& y) {
  const bool first = a.has("quant_scale2");
  const std::string_view scale = first ? "quant_scale2" : "quant_scale_out";
  if (a.is_none(scale)) return as_floats(y, a.tensor("query").scalar_type());
  const std::string_view offset = first ? "quant_offset2" : "quant_offset_out";
  const bool bounds = y.slack.defined();
  const auto over_output = [&](std::string_view name) {
    const at::Tensor& given = a.tensor(name);
    if (given.numel() == 1) return exact(given.reshape({}), bounds);
    const std::string& layout = a.text("input_layout");
    const std::int64_t width = y.value.size(-1);
    const bool joined = layout.ends_with("BSH");
    if (joined || layout.ends_with("BSND") || layout.ends_with("TND")) {
      return exact(joined ? given.reshape({width}) : given.reshape({-1, width}), bounds);
    }
    return exact(given.reshape({-1, 1, width}), bounds);
  };
  Bounded codes = y * over_output(scale);
  if (!a.is_none(offset)) codes = codes + over_output(offset);
  return as_codes(codes, Number::kInt8);
}

FormulaResults infer(const Bound& a, const InferNames& names, Wish wish) {
  if (a.has("quant_scale2")) {
    refuse(a, "npu_fused_infer_attention_score",
           {"dequant_scale1", "quant_scale1", "dequant_scale2", "key_rope_antiquant_scale"});
  } else {
    refuse(a, "npu_fused_infer_attention_score_v2",
           {"dequant_scale_query", "dequant_scale_key", "dequant_scale_value",
            "dequant_scale_key_rope", "quant_scale_p"});
  }
  const InferPlan plan = plan_of(a, names, wish.reading);
  InferOutputs outputs;
  Bounded lse;
  Bounded y;
  if (wish.bounds) {
    const at::ScalarType type = a.tensor("query").scalar_type();
    const double unit = weights_unit(type);
    const bool in_half = type == at::kHalf && (a.integer("inner_precise") & 1) != 0;
    const InferBounds bounds = infer_bounds(plan, unit, in_half ? unit : 0);
    y = bounds.y;
    lse = bounds.lse;
  } else {
    outputs = infer_attention(plan);
    y = exact(outputs.y, false);
    lse = exact(outputs.lse, false);
  }
  FormulaResults results{attention_output(a, y), {}};
  const bool sink = a.has("learnable_sink") && !a.is_none("learnable_sink");
  if (a.boolean(names.lse) && !sink) results[1] = as_floats(lse, at::kFloat);
  return results;
}

std::vector<at::Tensor> infer_masks(const Bound& a, const InferNames& names) {
  const InferWritten masks = infer_written(plan_of(a, names, 0));
  return {masks.y, masks.lse};
}

FormulaResults first_infer(const Bound& a, Wish wish) { return infer(a, kFirst, wish); }
FormulaResults second_infer(const Bound& a, Wish wish) { return infer(a, kSecond, wish); }
std::vector<at::Tensor> first_written(const Bound& a) { return infer_masks(a, kFirst); }
std::vector<at::Tensor> second_written(const Bound& a) { return infer_masks(a, kSecond); }

// One token of each sequence against the pages of its keys.
FormulaResults paged_attention(const Bound& a, Wish wish) {
  const auto pages = [&](std::string_view name) {  // (blocks, heads, size, D)
    return a.tensor(name).permute({0, 2, 1, 3});
  };
  const InferAttention options{.heads = a.integer("num_heads"),
                               .key_heads = a.integer("num_kv_heads"),
                               .scale = a.real("scale_value"),
                               .layout = "BSND",
                               .key_lengths = lengths_or_none(a, "context_lens"),
                               .block_table = a.tensor("block_table")};
  const at::Tensor& query = a.tensor("query");
  const InferPlan plan = infer_plan(query.to(at::kDouble).unsqueeze(1), pages("key_cache"),
                                    pages("value_cache"), options);
  const double unit = weights_unit(query.scalar_type());
  const Bounded y =
      wish.bounds ? infer_bounds(plan, unit, 0).y : exact(infer_attention(plan).y, false);
  const Bounded rows = viewed(y, [](const at::Tensor& t) { return t.squeeze(1); });
  FormulaResult out = as_floats(rows, a.tensor("out").scalar_type());
  out.argument = "out";
  return {out};
}

bool has_pse(const Bound& a) { return !a.is_none("pse_shift"); }

constexpr FormulaRow kInferRows[] = {
    {.api = "NPU._npu_paged_attention",
     .signature = "query, key_cache, value_cache, num_kv_heads, num_heads, scale_value, "
                  "block_table, context_lens, out, *, workspace=None",
     .formula = &paged_attention,
     .nothing = true},
    {.api = "NPU.npu_fused_infer_attention_score",
     .signature =
         "query, key, value, *, pse_shift=None, atten_mask=None, actual_seq_lengths=None, "
         "actual_seq_lengths_kv=None, dequant_scale1=None, quant_scale1=None, "
         "dequant_scale2=None, quant_scale2=None, quant_offset2=None, antiquant_scale=None, "
         "antiquant_offset=None, key_antiquant_scale=None, key_antiquant_offset=None, "
         "value_antiquant_scale=None, value_antiquant_offset=None, block_table=None, "
         "query_padding_size=None, kv_padding_size=None, key_shared_prefix=None, "
         "value_shared_prefix=None, actual_shared_prefix_len=None, query_rope=None, "
         "key_rope=None, key_rope_antiquant_scale=None, num_heads=1, scale=1.0, "
         "pre_tokens=2147483647, next_tokens=2147483647, input_layout='BSH', "
         "num_key_value_heads=0, sparse_mode=0, inner_precise=0, block_size=0, "
         "antiquant_mode=0, key_antiquant_mode=0, value_antiquant_mode=0, "
         "softmax_lse_flag=False",
     .formula = &first_infer,
     .written = &first_written,
     .readings = kPseReadings,
     .is_open = &has_pse},
    {.api = "NPU.npu_fused_infer_attention_score_v2",
     .signature =
         "query, key, value, *, query_rope=None, key_rope=None, pse_shift=None, "
         "atten_mask=None, actual_seq_qlen=None, actual_seq_kvlen=None, block_table=None, "
         "dequant_scale_query=None, dequant_scale_key=None, dequant_offset_key=None, "
         "dequant_scale_value=None, dequant_offset_value=None, dequant_scale_key_rope=None, "
         "quant_scale_out=None, quant_offset_out=None, quant_scale_p=None, "
         "learnable_sink=None, num_query_heads=1, num_key_value_heads=0, softmax_scale=1.0, "
         "pre_tokens=2147483647, next_tokens=2147483647, input_layout='BSH', sparse_mode=0, "
         "block_size=0, query_quant_mode=0, key_quant_mode=0, value_quant_mode=0, "
         "inner_precise=0, return_softmax_lse=False, query_dtype=None, key_dtype=None, "
         "value_dtype=None, query_rope_dtype=None, key_rope_dtype=None, "
         "key_shared_prefix_dtype=None, value_shared_prefix_dtype=None, "
         "dequant_scale_query_dtype=None, dequant_scale_key_dtype=None, "
         "dequant_scale_value_dtype=None, dequant_scale_key_rope_dtype=None, out_dtype=None",
     .formula = &second_infer,
     .written = &second_written,
     .readings = kPseReadings,
     .is_open = &has_pse},
};

}  // namespace

std::span<const FormulaRow> attention_formulas() { return kInferRows; }

}  // namespace msprobe::execute::npu
