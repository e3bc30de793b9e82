// SPDX-License-Identifier: Apache-2.0
#include "strict/unique.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "execute/value_tree.h"
#include "libtorch/dtypes.h"
#include "ops/op.h"
#include "strict/float_type.h"
#include "strict/wording.h"

namespace msprobe::strict {
namespace {

using arguments::PyCall;
using arguments::PyValue;

// A backward stable factorisation leaves a residual of a small multiple of n * eps * |A|.
constexpr double kResidual = 8;

struct Context {
  const PyCall& call;
  const Outputs& outputs;
  at::Tensor input;  // the first tensor, wide
  double eps = 0;    // of the device's dtype
};

at::Tensor wide(const at::Tensor& tensor) {
  const at::Tensor plain = libtorch::plain(tensor);
  if (plain.is_complex()) return plain.to(at::kComplexDouble);
  return plain.is_floating_point() ? plain.to(at::kDouble) : plain;
}

// As a factor of `like`: both complex where one is.
at::Tensor as_factor(const at::Tensor& tensor, bool complex) {
  return complex ? tensor.to(at::kComplexDouble) : tensor;
}

double largest(const at::Tensor& tensor) {
  return tensor.numel() == 0 ? 0 : tensor.abs().max().item<double>();
}

StrictFinding conclude(std::string_view what, double residual, double limit) {
  const std::string text = fmt::format("not unique, compared by {}: residual {}, bound {}", what,
                                       number_text(residual), number_text(limit));
  return {residual <= limit ? Verdict::kPass : Verdict::kError, text, ""};
}

double limit_for(const Context& context, double scale) {
  const auto sizes = context.input.sizes();
  std::int64_t n = 1;
  for (std::size_t i = sizes.size() < 2 ? 0 : sizes.size() - 2; i < sizes.size(); ++i) {
    n = std::max(n, sizes[i]);
  }
  return kResidual * static_cast<double>(n) * context.eps * std::max(scale, 1e-300);
}

// The worst of |given - wanted|, each part in the scale of what it should be.
struct Residual {
  const Context& context;
  double worst = 0;  // in limits
  double shown = 0;
  double limit = 0;

  void add(const at::Tensor& given, const at::Tensor& wanted) {
    const double bound = limit_for(context, std::max(largest(wanted), 1e-300));
    const double found = (given - wanted).abs().numel() == 0 ? 0 : largest(given - wanted);
    const double relative = found <= bound ? found / bound : std::max(found / bound, 1.0);
    if (!(relative >= worst) && relative == relative) return;
    worst = relative == relative ? relative : INFINITY;
    shown = found;
    limit = bound;
  }
  // Columns of length one, at right angles.
  void add_orthonormal(const at::Tensor& columns) {
    const at::Tensor product = columns.mH().matmul(columns);
    add(product, at::eye(product.size(-1), product.options()).expand_as(product));
  }
  StrictFinding finding(std::string_view what) const { return conclude(what, shown, limit); }
};

using Judge = std::optional<StrictFinding> (*)(const Context&, std::size_t place);

// (Q, R)
std::optional<StrictFinding> judge_qr(const Context& c, std::size_t /*place*/) {
  const at::Tensor q = wide(c.outputs.device[0]);
  const at::Tensor r = wide(c.outputs.device[1]);
  if (q.numel() == 0) return std::nullopt;
  Residual residual{c};
  residual.add(q.matmul(r), c.input);
  residual.add_orthonormal(q);
  residual.add(r, r.triu());
  return residual.finding("Q R and the angles of Q");
}

std::optional<StrictFinding> svd(const Context& c, std::size_t place, bool transposed) {
  if (place == 1) return std::nullopt;  // the singular values are unique
  const at::Tensor u = wide(c.outputs.device[0]);
  const at::Tensor v = transposed ? wide(c.outputs.device[2]).mH() : wide(c.outputs.device[2]);
  const bool complex = u.is_complex();
  const at::Tensor s = as_factor(wide(c.outputs.device[1]), complex);
  const std::int64_t rank = s.size(-1);
  Residual residual{c};
  residual.add((u.narrow(-1, 0, rank) * s.unsqueeze(-2)).matmul(v.narrow(-1, 0, rank).mH()),
               c.input);
  residual.add_orthonormal(u);
  residual.add_orthonormal(v);
  return residual.finding("U S V and the angles of U and V");
}
std::optional<StrictFinding> judge_svd(const Context& c, std::size_t place) {
  return svd(c, place, false);
}
std::optional<StrictFinding> judge_linalg_svd(const Context& c, std::size_t place) {
  return svd(c, place, true);
}

// (values, vectors) of a Hermitian matrix, of which one triangle counts.
std::optional<StrictFinding> judge_eigh(const Context& c, std::size_t place) {
  if (place == 0) return std::nullopt;
  const at::Tensor vectors = wide(c.outputs.device[1]);
  const at::Tensor values = as_factor(wide(c.outputs.device[0]), vectors.is_complex());
  const at::Tensor lower = c.input.tril(-1);
  const at::Tensor matrix = lower + lower.mH() + c.input.tril().triu();
  Residual residual{c};
  residual.add((vectors * values.unsqueeze(-2)).matmul(vectors.mH()), matrix);
  residual.add_orthonormal(vectors);
  return residual.finding("V L V^H and the angles of V");
}

std::optional<StrictFinding> judge_eig(const Context& c, std::size_t /*place*/) {
  const at::Tensor values = wide(c.outputs.device[0]);
  const at::Tensor vectors = wide(c.outputs.device[1]);
  Residual residual{c};
  const at::Tensor matrix = as_factor(c.input, true);
  residual.add(matrix.matmul(vectors), vectors * values.unsqueeze(-2));
  const at::Tensor lengths = vectors.abs().square().sum(-2).sqrt();
  residual.add(lengths, at::ones_like(lengths));
  return residual.finding("A V and V L");
}

// (P, L, U)
std::optional<StrictFinding> judge_lu(const Context& c, std::size_t /*place*/) {
  if (c.outputs.device.size() < 3) return std::nullopt;
  const at::Tensor l = wide(c.outputs.device[1]);
  const at::Tensor u = wide(c.outputs.device[2]);
  const at::Tensor p = as_factor(wide(c.outputs.device[0]), l.is_complex());
  if (p.numel() == 0) return std::nullopt;
  Residual residual{c};
  residual.add(p.matmul(l).matmul(u), c.input);
  return residual.finding("P L U");
}

std::int64_t dim_of(const PyCall& call, std::size_t place) {
  for (const auto& [key, value] : call.kwargs) {
    if (const auto* dim = value.as<std::int64_t>();
        dim != nullptr && (key == "dim" || key == "axis"))
      return *dim;
  }
  const auto* dim = place < call.args.size() ? call.args[place].as<std::int64_t>() : nullptr;
  return dim == nullptr ? -1 : *dim;
}

// Ties may be broken otherwise: the values that the indices point at are compared.
std::optional<StrictFinding> pointed_at(const Context& c, std::size_t index_place,
                                        std::int64_t dim) {
  const at::Tensor device = c.outputs.device[index_place];
  const at::Tensor bench = c.outputs.bench[index_place];
  const std::int64_t extent = c.input.dim() == 0 ? 1 : c.input.size(dim);
  if (device.lt(0).any().item<bool>() || device.ge(extent).any().item<bool>()) {
    return StrictFinding{Verdict::kError, "indices outside the input", ""};
  }
  const auto values = [&](const at::Tensor& index) {
    if (c.input.dim() == 0) return c.input;
    const bool kept = index.dim() == c.input.dim();
    return c.input.gather(dim, kept ? index : index.unsqueeze(dim));
  };
  const at::Tensor differ =
      values(device)
          .ne(values(bench))
          .logical_and(values(device).isnan().logical_and(values(bench).isnan()).logical_not());
  const auto count = differ.sum().item<std::int64_t>();
  if (count == 0) {
    return StrictFinding{Verdict::kPass,
                         "not unique, compared by the values that the indices point at: equal", ""};
  }
  return StrictFinding{Verdict::kError,
                       fmt::format("{} of {} indices point at other values", count, differ.numel()),
                       ""};
}

// sort(input, dim), topk(input, k, dim), kthvalue(input, k, dim), median(input, dim) and so on.
std::optional<StrictFinding> judge_second_is_index(const Context& c, std::size_t place) {
  return place == 1 ? pointed_at(c, 1, dim_of(c.call, 1)) : std::nullopt;
}
std::optional<StrictFinding> judge_second_is_index_after_k(const Context& c, std::size_t place) {
  return place == 1 ? pointed_at(c, 1, dim_of(c.call, 2)) : std::nullopt;
}
std::optional<StrictFinding> judge_is_index(const Context& c, std::size_t /*place*/) {
  if (c.outputs.bench[0].dim() == 0 && c.input.dim() != 1) {
    Context flat = c;
    flat.input = c.input.flatten();
    return pointed_at(flat, 0, 0);
  }
  return pointed_at(c, 0, dim_of(c.call, 1));
}

std::optional<StrictFinding> judge_set(const Context& c, std::size_t place) {
  if (place != 0) return std::nullopt;
  const auto sorted = [](const at::Tensor& t) { return std::get<0>(wide(t).flatten().sort()); };
  const bool same = at::equal(sorted(c.outputs.bench[0]), sorted(c.outputs.device[0]));
  return StrictFinding{same ? Verdict::kPass : Verdict::kError,
                       same ? "not unique, compared as a set: equal" : "another set of values", ""};
}

struct UniqueRow {
  ops::Unique unique;
  std::size_t outputs;  // at least
  Judge judge;
};
constexpr UniqueRow kUniqueRows[] = {
    {ops::Unique::kIndex, 1, &judge_is_index},
    {ops::Unique::kSecondIndex, 2, &judge_second_is_index},
    {ops::Unique::kSecondIndexAfterK, 2, &judge_second_is_index_after_k},
    {ops::Unique::kSet, 1, &judge_set},
    {ops::Unique::kQr, 2, &judge_qr},
    {ops::Unique::kSvd, 3, &judge_svd},
    {ops::Unique::kSvdTransposed, 3, &judge_linalg_svd},
    {ops::Unique::kEigh, 2, &judge_eigh},
    {ops::Unique::kEig, 2, &judge_eig},
    {ops::Unique::kLu, 3, &judge_lu},
};

}  // namespace

std::optional<StrictFinding> judge_unique(std::string_view bare_name, const PyCall& call,
                                          const Outputs& outputs, std::size_t place) {
  const auto row =
      std::ranges::find(kUniqueRows, ops::traits_of(bare_name).unique, &UniqueRow::unique);
  if (row == std::end(kUniqueRows)) return std::nullopt;
  if (outputs.device.size() < row->outputs || outputs.bench.size() < row->outputs)
    return std::nullopt;
  const auto defined = [](const at::Tensor& tensor) { return tensor.defined(); };
  if (!std::ranges::all_of(outputs.device, defined) ||
      !std::ranges::all_of(outputs.bench, defined)) {
    return std::nullopt;
  }
  at::Tensor input;
  for (const PyValue& value : call.args) {
    execute::for_each_tensor(value, [&](const at::Tensor& tensor) {
      if (!input.defined()) input = wide(tensor);
    });
  }
  if (!input.defined()) return std::nullopt;
  const auto type = float_type(outputs.device[0].scalar_type());
  return row->judge({call, outputs, input, type ? type->eps : 0}, place);
}

}  // namespace msprobe::strict
