// SPDX-License-Identifier: Apache-2.0
// The attention that the tests hold npu_fusion_attention against: one score at a time, in doubles,
// over (batch, head, sequence, head size).
#pragma once

#include <array>
#include <limits>
#include <optional>

#include "execute/npu/numbers_for_test.h"

namespace msprobe::execute::npu {

constexpr double kInf = std::numeric_limits<double>::infinity();

struct Extent {
  std::int64_t b = 2, n1 = 4, n2 = 4, s1 = 5, s2 = 7, d = 3, dv = 3;
};

using Indices = std::array<std::int64_t, 4>;  // batch, head, row, column

// A tensor in a layout from, or to, one in (batch, head, sequence, head size), element by element.
struct LaidOut {
  std::vector<std::int64_t> shape;
  std::function<std::int64_t(const Indices&)> offset;
};

inline LaidOut place(const std::string& layout, std::int64_t b, std::int64_t n, std::int64_t s,
                     std::int64_t d) {
  if (layout == "BSH" || layout == "BSND") {
    const auto offset = [=](const Indices& i) { return ((i[0] * s + i[2]) * n + i[1]) * d + i[3]; };
    if (layout == "BSH") return {{b, s, n * d}, offset};
    return {{b, s, n, d}, offset};
  }
  if (layout == "SBH") {
    return {{s, b, n * d},
            [=](const Indices& i) { return ((i[2] * b + i[0]) * n + i[1]) * d + i[3]; }};
  }
  return {{b, n, s, d},
          [=](const Indices& i) { return ((i[0] * n + i[1]) * s + i[2]) * d + i[3]; }};
}

inline at::Tensor arranged(const at::Tensor& bnsd, const std::string& layout) {
  const LaidOut to = place(layout, bnsd.size(0), bnsd.size(1), bnsd.size(2), bnsd.size(3));
  const Numbers values = numbers(bnsd);
  at::Tensor result = at::empty(to.shape, at::kDouble);
  auto* data = result.data_ptr<double>();
  std::size_t next = 0;
  for (std::int64_t b = 0; b < bnsd.size(0); ++b) {
    for (std::int64_t n = 0; n < bnsd.size(1); ++n) {
      for (std::int64_t s = 0; s < bnsd.size(2); ++s) {
        for (std::int64_t d = 0; d < bnsd.size(3); ++d) {
          data[to.offset({b, n, s, d})] = values[next++];
        }
      }
    }
  }
  return result;
}

inline double element(const at::Tensor& tensor, const Indices& i) {
  // Broadcast over dimensions of size one.
  std::int64_t offset = 0;
  for (std::int64_t d = 0; d < 4; ++d) {
    const std::int64_t at_dim = tensor.size(d) == 1 ? 0 : i[static_cast<std::size_t>(d)];
    offset += at_dim * tensor.stride(d);
  }
  return tensor.data_ptr<double>()[offset];
}

using Masked = std::function<bool(const Indices&)>;

struct Wanted {
  at::Tensor y, max, sum;  // in (batch, head, sequence, ...)
};

// The definition, one score at a time. Masked scores take no part at all.
inline Wanted definition(const Extent& e, const at::Tensor& q, const at::Tensor& k,
                         const at::Tensor& v, const std::optional<at::Tensor>& pse,
                         const Masked& masked, double scale) {
  Wanted wanted = {.y = at::zeros({e.b, e.n1, e.s1, e.dv}, at::kDouble),
                   .max = at::full({e.b, e.n1, e.s1, 1}, -kInf, at::kDouble),
                   .sum = at::zeros({e.b, e.n1, e.s1, 1}, at::kDouble)};
  double* y = wanted.y.data_ptr<double>();
  double* max = wanted.max.data_ptr<double>();
  double* sum = wanted.sum.data_ptr<double>();
  std::int64_t row = 0;
  for (std::int64_t b = 0; b < e.b; ++b) {
    for (std::int64_t n = 0; n < e.n1; ++n) {
      const std::int64_t kv = n / (e.n1 / e.n2);
      for (std::int64_t r = 0; r < e.s1; ++r, ++row) {
        Numbers score;
        for (std::int64_t c = 0; c < e.s2; ++c) {
          double product = pse ? element(*pse, {b, n, r, c}) : 0;
          for (std::int64_t d = 0; d < e.d; ++d) {
            product += element(q, {b, n, r, d}) * element(k, {b, kv, c, d});
          }
          score.push_back(masked({b, n, r, c}) ? -kInf : product * scale);
          max[row] = std::max(max[row], score.back());
        }
        if (max[row] == -kInf) continue;
        for (const double value : score) sum[row] += std::exp(value - max[row]);
        for (std::int64_t c = 0; c < e.s2; ++c) {
          const double weight = std::exp(score[static_cast<std::size_t>(c)] - max[row]) / sum[row];
          for (std::int64_t d = 0; d < e.dv; ++d) {
            y[row * e.dv + d] += weight * element(v, {b, kv, c, d});
          }
        }
      }
    }
  }
  return wanted;
}

inline const at::Tensor& compressed_mask() {
  static const at::Tensor mask = at::ones({2048, 2048}, at::kBool).triu(1);
  return mask;
}

struct Tensors {
  at::Tensor q, k, v;  // in (batch, head, sequence, head size)
};

inline Tensors tensors(const Extent& e) {
  return {.q = random({e.b, e.n1, e.s1, e.d}, 1, -2, 2),
          .k = random({e.b, e.n2, e.s2, e.d}, 2, -2, 2),
          .v = random({e.b, e.n2, e.s2, e.dv}, 3, -2, 2)};
}

// Autograd of a composition that shares nothing with the operator: keys repeated, softmax whole.
inline std::vector<at::Tensor> wanted_gradients(const Extent& e, const Tensors& in,
                                                const std::optional<at::Tensor>& pse,
                                                const Masked& masked, double scale,
                                                const at::Tensor& dy) {
  at::Tensor hidden = at::zeros({e.b, e.n1, e.s1, e.s2}, at::kDouble);
  auto* flags = hidden.data_ptr<double>();
  for (std::int64_t i = 0; i < hidden.numel(); ++i) {
    const Indices at_score = {i / (e.n1 * e.s1 * e.s2), i / (e.s1 * e.s2) % e.n1, i / e.s2 % e.s1,
                              i % e.s2};
    flags[i] = masked(at_score) ? 1 : 0;
  }
  const at::Tensor seen = 1 - hidden;
  std::vector<at::Tensor> leaves = {in.q, in.k, in.v};
  if (pse) leaves.push_back(*pse);
  return autograd_of(
      [&](const std::vector<at::Tensor>& x) {
        const at::Tensor k = x[1].repeat_interleave(e.n1 / e.n2, 1);
        const at::Tensor v = x[2].repeat_interleave(e.n1 / e.n2, 1);
        at::Tensor scores = at::einsum("bnrd,bncd->bnrc", {x[0], k});
        if (x.size() == 4) scores = scores + x[3];
        const at::Tensor weights = at::exp(scores * scale) * seen;
        const at::Tensor total = weights.sum(-1, true);
        const at::Tensor shares = weights / at::where(total == 0, at::ones_like(total), total);
        return at::einsum("bnrc,bncd->bnrd", {shares, v});
      },
      leaves, dy);
}

}  // namespace msprobe::execute::npu
