// SPDX-License-Identifier: Apache-2.0
#include "ops/op.h"

#include <algorithm>

namespace msprobe::ops {
namespace {

constexpr Groups kListed = kFunctional | kTensor | kTorch | kVf | kTorchNpu | kMint |
                           kMintFunctional | kMsTensor | kMsOps | kMintMore | kMintFunctionalMore |
                           kMsTensorMore;

constexpr std::string_view kStandardNames[] = {
    "none", "benchmark", "absolute_threshold", "binary_consistency", "ulp", "dual_1000"};
constexpr std::string_view kLevelNames[] = {"L0", "L1", "L2"};

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

// What the name suggests about an API that has no row: a new operator of a family is most likely
// like the others.
Traits traits_by_name(std::string_view bare_name) {
  Traits traits;
  if (has_one_of(kMixing, bare_name)) traits.sums = Sums::kAll;
  traits.inner_products = bare_name.starts_with("linalg.");
  traits.heavy = has_one_of(kHeavy, bare_name);
  traits.drops = drops_by_name(bare_name);
  return traits;
}

}  // namespace

std::string_view name(Standard standard) {
  return kStandardNames[static_cast<std::size_t>(standard)];
}

std::string_view name(Level level) { return kLevelNames[static_cast<std::size_t>(level)]; }

const Op* find(std::string_view bare_name) {
  const std::span<const Op> ops = all();
  const auto found = std::ranges::lower_bound(ops, bare_name, {}, &Op::name);
  return found != ops.end() && found->name == bare_name ? &*found : nullptr;
}

Traits traits_of(std::string_view bare_name) {
  const Op* const op = find(bare_name);
  return op == nullptr ? traits_by_name(bare_name) : op->traits;
}

bool is_product(const Traits& traits) {
  return traits.sums == Sums::kContraction || traits.sums == Sums::kAddedContraction ||
         traits.sums == Sums::kConvolution || traits.inner_products;
}

bool is_dropout(const Traits& traits) {
  return traits.drops == Drops::kScaled || traits.drops == Drops::kZeroes ||
         traits.drops == Drops::kPart;
}

bool may_be_listed(std::string_view bare_name) {
  const Op* const op = find(bare_name);
  return op != nullptr && (op->groups & kListed) != 0;
}

}  // namespace msprobe::ops
