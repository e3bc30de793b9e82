// SPDX-License-Identifier: Apache-2.0
#include "strict/draws.h"

#include "ops/op.h"
#include "strict/float_type.h"

namespace msprobe::strict {
namespace {

constexpr std::uint64_t kFirstSeed = 0x5eed;
// Least number of dimensions of a tensor that begins with a batch (or with channels, which then
// count as one).
constexpr std::size_t kBatchDims = 3;

// The arguments that become many. Elements: the first one of the result's shape, with which the
// others broadcast. Images: all batches.
std::vector<std::size_t> places_to_copy(execute::Rerun& rerun, ops::Chance chance,
                                        at::IntArrayRef shape) {
  std::vector<std::size_t> places;
  const auto call = rerun.arguments();
  if (!call || chance == ops::Chance::kWholeCall) return places;
  at::IntArrayRef first;
  for (std::size_t i = 0; i < (*call)->args.size(); ++i) {
    const auto* tensor = (*call)->args[i].as<at::Tensor>();
    if (tensor == nullptr) continue;
    const at::IntArrayRef sizes = tensor->sizes();
    if (chance == ops::Chance::kElement) {
      if (sizes == shape) return {i};
    } else if (places.empty() ? sizes.size() >= kBatchDims
                              : sizes.size() == first.size() && sizes[0] == first[0]) {
      if (places.empty()) first = sizes;
      places.push_back(i);
    }
  }
  return places;
}

}  // namespace

at::Tensor Draws::rows(Direction direction, const std::string& path, at::IntArrayRef shape,
                       bool raise, std::size_t count) {
  std::vector<LeafTensors>& draws = raise ? raised_ : native_;
  if (raise && draws.empty()) draws.push_back(base_);
  while (draws.size() < count) {
    const auto leaves = rerun_.run({.seed = kFirstSeed + draws.size(), .raise = raise});
    draws.push_back(leaves ? tensors_of(*leaves) : LeafTensors{});
  }
  std::vector<at::Tensor> rows;
  for (std::size_t i = 0; i < count; ++i) {
    const auto found = draws[i].find({direction, path});
    if (found == draws[i].end() || found->second.sizes() != shape) return {};
    rows.push_back(flat(found->second));
  }
  return at::stack(rows);
}

at::Tensor Draws::rows_of_copies(Direction direction, const std::string& path,
                                 at::IntArrayRef shape, bool raise, std::size_t count) {
  const ops::Chance chance = ops::traits_of(bare_name_).chance;
  const std::vector<std::size_t> places = places_to_copy(rerun_, chance, shape);
  if (places.empty()) return {};
  const auto copies = static_cast<std::int64_t>(count);
  const bool images = chance == ops::Chance::kBatchPart;
  const auto copied = [&](const at::Tensor& tensor) {
    const at::Tensor rows = at::stack(std::vector<at::Tensor>(count, tensor));
    return images ? rows.flatten(0, 1) : rows;
  };
  const auto [found, is_new] = of_copies_.try_emplace({raise, count});
  if (is_new) {
    execute::Variation many{.seed = kFirstSeed, .raise = raise};
    many.edit = [&](arguments::PyCall& call) {
      for (const std::size_t i : places) {
        const auto* tensor = call.args[i].as<at::Tensor>();
        call.args[i] = {copied(tensor->detach()).set_requires_grad(tensor->requires_grad())};
      }
    };
    many.change_arriving = [&](const at::Tensor& tensor, at::ScalarType) {
      return images || tensor.sizes() == shape ? copied(tensor) : tensor;
    };
    const auto leaves = rerun_.run(many);
    if (leaves) found->second = tensors_of(*leaves);
  }
  const auto leaf = found->second.find({direction, path});
  if (leaf == found->second.end()) return {};
  if (leaf->second.numel() != copies * c10::multiply_integers(shape)) return {};
  return flat(leaf->second).view({copies, -1});
}

}  // namespace msprobe::strict
