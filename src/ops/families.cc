// SPDX-License-Identifier: Apache-2.0
#include "ops/families.h"

#include <algorithm>

namespace msprobe::ops {
namespace {

// Every API with one of these in its name mixes all of its inputs.
constexpr std::string_view kMixing[] = {"linalg.",
                                        "fft.",
                                        "npu_fusion_attention",
                                        "multi_head_attention_forward",
                                        "lstm",
                                        "gru",
                                        "rnn_",
                                        "_loss",
                                        "cross_entropy",
                                        "cholesky",
                                        "svd",
                                        "pinverse",
                                        "matrix_",
                                        "inverse",
                                        "lu_solve",
                                        "qr",
                                        "corrcoef",
                                        "cov",
                                        "kl_div",
                                        "stft",
                                        "bilinear",
                                        "cumulative"};

constexpr std::string_view kHeavy[] = {"attention", "bmm",    "cdist", "conv",   "einsum",
                                       "gru",       "linalg", "lstm",  "linear", "lu",
                                       "matmul",    "mm",     "qr",    "rnn",    "svd"};

template <class Words>
bool has_one_of(const Words& words, std::string_view name) {
  return std::ranges::any_of(
      words, [&](std::string_view word) { return name.find(word) != std::string_view::npos; });
}

Drops drops_by_name(std::string_view name) {
  const auto has = [&](std::string_view word) { return name.find(word) != std::string_view::npos; };
  if (has("dropout")) return has("alpha") ? Drops::kScaled : Drops::kPart;
  return has("bernoulli") ? Drops::kDraws : Drops::kNothing;
}

}  // namespace

Traits traits_by_name(std::string_view bare_name) {
  Traits traits;
  if (has_one_of(kMixing, bare_name)) traits.sums = Sums::kAll;
  traits.inner_products = bare_name.starts_with("linalg.");
  traits.heavy = has_one_of(kHeavy, bare_name);
  traits.drops = drops_by_name(bare_name);
  return traits;
}

}  // namespace msprobe::ops
