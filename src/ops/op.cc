// SPDX-License-Identifier: Apache-2.0
#include "ops/op.h"

#include <algorithm>

#include "ops/families.h"

namespace msprobe::ops {
namespace {

constexpr Groups kListed = kFunctional | kTensor | kTorch | kVf | kTorchNpu | kMint |
                           kMintFunctional | kMsTensor | kMsOps | kMintMore | kMintFunctionalMore |
                           kMsTensorMore;

constexpr std::string_view kStandardNames[] = {
    "none", "benchmark", "absolute_threshold", "binary_consistency", "ulp", "dual_1000"};
constexpr std::string_view kLevelNames[] = {"L0", "L1", "L2"};

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
