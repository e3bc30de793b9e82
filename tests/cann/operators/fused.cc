// SPDX-License-Identifier: Apache-2.0
// Operators of torch_npu's own, as its documentation defines them.
#include "operator.h"

using namespace cann;

namespace {

at::Tensor wide(const T& tensor) { return (*tensor).to(at::kFloat); }

// x * sigmoid(1.702 x), in the form that does not overflow.
at::Tensor fast_gelu(const at::Tensor& x) {
  return x * at::exp(0.851 * (x - at::abs(x))) / (1 + at::exp(-1.702 * at::abs(x)));
}

at::Tensor turned(const at::Tensor& x, int64_t mode) {
  if (mode == 0) {  // the second half before the first
    const std::vector<at::Tensor> halves = x.chunk(2, -1);
    return at::cat({-halves[1], halves[0]}, -1);
  }
  const at::Tensor even = x.slice(-1, 0, x.size(-1), 2), odd = x.slice(-1, 1, x.size(-1), 2);
  return at::stack({-odd, even}, -1).flatten(-2);
}

// The transpose of `turned`.
at::Tensor turned_back(const at::Tensor& x, int64_t mode) { return -turned(x, mode); }

// One head after the other: batch, head, position, element.
at::Tensor as_heads(const at::Tensor& x, const std::string& layout, int64_t heads) {
  const at::Tensor f = x.to(at::kFloat);
  if (layout == "BNSD") return f;
  if (layout == "BSND") return f.transpose(1, 2);
  if (layout == "BSH")
    return f.reshape({f.size(0), f.size(1), heads, f.size(2) / heads}).transpose(1, 2);
  if (layout == "SBH")
    return f.reshape({f.size(0), f.size(1), heads, f.size(2) / heads}).permute({1, 2, 0, 3});
  throw std::runtime_error("the stand-in knows no attention of layout " + layout);
}

at::Tensor from_heads(const at::Tensor& x, const std::string& layout, at::IntArrayRef sizes) {
  if (layout == "BNSD") return x;
  return (layout == "SBH" ? x.permute({2, 0, 1, 3}) : x.transpose(1, 2)).reshape(sizes);
}

struct Attention {
  at::Tensor q, k, v;  // every head has its own keys and values
  at::Tensor scores, p;
  int64_t group;  // heads that share a key
};

Attention attend(const T& query, const T& key, const T& value, const T& pse, const T& mask,
                 double scale, int64_t pre, int64_t next, int64_t heads, const std::string& layout,
                 int64_t sparse) {
  Attention a;
  a.q = as_heads(*query, layout, heads);
  const int64_t size = a.q.size(3);
  const int64_t key_heads = layout == "BNSD"   ? (*key).size(1)
                            : layout == "BSND" ? (*key).size(2)
                                               : (*key).size(2) / size;
  a.group = heads / key_heads;
  a.k = as_heads(*key, layout, key_heads).repeat_interleave(a.group, 1);
  a.v = as_heads(*value, layout, key_heads).repeat_interleave(a.group, 1);
  a.scores = at::matmul(a.q, a.k.transpose(2, 3)) * scale;
  if (pse.defined() && (*pse).numel() > 0) a.scores = a.scores + wide(pse);
  const int64_t rows = a.q.size(2), columns = a.k.size(2);
  at::Tensor hidden;
  constexpr int64_t kAll = 1, kLeft = 2, kRight = 3, kBand = 4;
  if (sparse == kLeft)
    hidden = at::ones({rows, columns}, at::kBool).triu(1);
  else if (sparse == kRight)
    hidden = at::ones({rows, columns}, at::kBool).triu(1 + columns - rows);
  else if (sparse == kBand) {
    const at::Tensor all = at::ones({rows, columns}, at::kBool);
    hidden = all.triu(1 + columns - rows + next).logical_or(all.tril(columns - rows - pre - 1));
  } else if (sparse == 0 || sparse == kAll) {
    if (mask.defined() && (*mask).numel() > 0) hidden = (*mask).to(at::kBool);
  } else {
    throw std::runtime_error("the stand-in knows no attention of sparse mode " +
                             std::to_string(sparse));
  }
  if (hidden.defined()) a.scores = a.scores.masked_fill(hidden, -3.4028234663852886e38);
  return a;
}

at::Tensor in_eights(const at::Tensor& x, const T& room) { return x.expand((*room).sizes()); }

// What dropout keeps of the weights of attention, one bit each, times 1 / keep.
at::Tensor dropped(const at::Tensor& weights, const T& drop, double keep) {
  if (keep >= 1 || !drop.defined() || (*drop).numel() == 0) return weights;
  return weights * kept_by(*drop, weights.sizes()) / keep;
}

// The gradient of a key is that of all heads that share it.
at::Tensor shared(const at::Tensor& grad, int64_t group) {
  if (group == 1) return grad;
  return grad.reshape({grad.size(0), grad.size(1) / group, group, grad.size(2), grad.size(3)})
      .sum(2);
}

}  // namespace

OPERATOR(FastGelu, (T self, T out), out = fast_gelu(wide(self)))
OPERATOR(FastGeluBackward, (T grad, T self, T out), {
  const at::Tensor x = wide(self), s = at::sigmoid(1.702 * x);
  out = wide(grad) * (s + 1.702 * x * s * (1 - s));
})
OPERATOR(SwiGlu, (T x, int64_t dim, T out), {
  const std::vector<at::Tensor> halves = wide(x).chunk(2, dim);
  out = at::silu(halves[0]) * halves[1];
})
OPERATOR(SwiGluGrad, (T grad, T x, int64_t dim, T out), {
  const std::vector<at::Tensor> halves = wide(x).chunk(2, dim);
  out = at::cat(
      {at::silu_backward(wide(grad) * halves[1], halves[0]), wide(grad) * at::silu(halves[0])},
      dim);
})
OPERATOR(RmsNorm, (T x, T gamma, double epsilon, T out, T rstd), {
  std::vector<int64_t> dims;
  for (int64_t dim = (*x).dim() - (*gamma).dim(); dim < (*x).dim(); ++dim) dims.push_back(dim);
  const at::Tensor inverse = at::rsqrt(wide(x).square().mean(dims, true) + epsilon);
  out = wide(x) * inverse * wide(gamma);
  rstd = inverse;
})
OPERATOR(RmsNormGrad, (T grad, T x, T rstd, T gamma, T grad_x, T grad_gamma), {
  std::vector<int64_t> dims, outer;
  for (int64_t dim = 0; dim < (*x).dim(); ++dim)
    (dim < (*x).dim() - (*gamma).dim() ? outer : dims).push_back(dim);
  std::vector<int64_t> shape = (*x).sizes().vec();
  for (const int64_t dim : dims) shape[static_cast<std::size_t>(dim)] = 1;
  const at::Tensor inverse = wide(rstd).reshape(shape), unit = wide(x) * inverse,
                   weighted = wide(grad) * wide(gamma);
  grad_x = inverse * (weighted - unit * (weighted * unit).mean(dims, true));
  grad_gamma = outer.empty() ? wide(grad) * unit : (wide(grad) * unit).sum(outer);
})
OPERATOR(RotaryPositionEmbedding, (T x, T cos, T sin, int64_t mode, T out),
         out = wide(x) * wide(cos) + turned(wide(x), mode) * wide(sin))
OPERATOR(RotaryPositionEmbeddingGrad,
         (T grad, T cos, T sin, T x, int64_t mode, T grad_x, T grad_cos, T grad_sin), {
           grad_x = wide(grad) * wide(cos) + turned_back(wide(grad) * wide(sin), mode);
           if (!x.defined() || (*x).numel() == 0) return;
           grad_cos = (wide(grad) * wide(x)).sum_to_size((*cos).sizes());
           grad_sin = (wide(grad) * turned(wide(x), mode)).sum_to_size((*sin).sizes());
         })
OPERATOR(GroupNormSilu, (T x, T gamma, T beta, int64_t group, double eps, T out, T mean, T rstd), {
  const at::Tensor values = wide(x).contiguous();
  const int64_t n = values.size(0), c = values.size(1);
  const auto float_of = [](const T& tensor) {
    return tensor.defined() ? std::optional(wide(tensor)) : std::nullopt;
  };
  const auto [result, average, inverse] = at::native_group_norm(
      values, float_of(gamma), float_of(beta), n, c, values.numel() / (n * c), group, eps);
  out = at::silu(result);
  mean = average;
  rstd = inverse;
})
OPERATOR(MoeGatingTopKSoftmax, (T x, T finished, int64_t k, T out, T experts, T rows), {
  const auto [values, places] = at::topk(at::softmax(wide(x), -1), k, -1);
  out = values;
  const at::Tensor done =
      finished.defined() ? (*finished).to(at::kBool).unsqueeze(-1) : at::Tensor();
  experts = done.defined() ? places.masked_fill(done, (*x).size(-1)) : places;
  const int64_t tokens = values.numel() / k;
  rows = at::arange(k * tokens).reshape({k, tokens}).t().reshape(values.sizes());
})

OPERATOR_WITH_TEXT(FlashAttentionScore,
                   (T query, T key, T value, T pse, T drop, T padding, T mask, Ints prefix,
                    double scale, double keep, int64_t pre, int64_t next, int64_t heads,
                    const char* text, int64_t inner, int64_t sparse, T softmax_max, T softmax_sum,
                    T softmax_out, T out),
                   {
                     const Attention a = attend(query, key, value, pse, mask, scale, pre, next,
                                                heads, text, sparse);
                     const at::Tensor top = a.scores.amax({-1}, true), e = at::exp(a.scores - top),
                                      sum = e.sum(-1, true);
                     softmax_max = in_eights(top, softmax_max);
                     softmax_sum = in_eights(sum, softmax_sum);
                     out = from_heads(at::matmul(dropped(e / sum, drop, keep), a.v), text,
                                      (*query).sizes());
                   })
OPERATOR_WITH_TEXT(
    FlashAttentionScoreGrad,
    (T query, T key, T value, T grad, T pse, T drop, T padding, T mask, T softmax_max,
     T softmax_sum, T softmax_in, T attention_in, Ints prefix, double scale, double keep,
     int64_t pre, int64_t next, int64_t heads, const char* text, int64_t inner, int64_t sparse,
     T grad_query, T grad_key, T grad_value, T grad_pse),
    {
      const Attention a =
          attend(query, key, value, pse, mask, scale, pre, next, heads, text, sparse);
      const at::Tensor p = at::softmax(a.scores, -1), g = as_heads(*grad, text, heads);
      const at::Tensor of_p = dropped(at::matmul(g, a.v.transpose(2, 3)), drop, keep);
      const at::Tensor of_scores = p * (of_p - (of_p * p).sum(-1, true));
      grad_query = from_heads(at::matmul(of_scores, a.k) * scale, text, (*query).sizes());
      grad_key = from_heads(shared(at::matmul(of_scores.transpose(2, 3), a.q) * scale, a.group),
                            text, (*key).sizes());
      grad_value =
          from_heads(shared(at::matmul(dropped(p, drop, keep).transpose(2, 3), g), a.group), text,
                     (*value).sizes());
      if (grad_pse.defined() && (*grad_pse).numel() > 0)
        grad_pse = of_scores.sum_to_size((*grad_pse).sizes());
    })
