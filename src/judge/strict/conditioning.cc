// SPDX-License-Identifier: Apache-2.0
#include "strict/conditioning.h"

#include <algorithm>

#include "core/stable_hash.h"
#include "execute/value_tree.h"
#include "libtorch/dtypes.h"
#include "strict/bound.h"
#include "strict/float_type.h"
#include "strict/uniform_draws.h"

namespace msprobe::strict {
namespace {

using execute::Leaf;
using execute::Leaves;

// From this run on, inputs move by several roundings, as many as the bound allows intermediate
// results, and the effect is divided: where a result jumps, the jump is seen that those can cause.
constexpr int kFirstWideRun = 2;
// Where the benchmark computes in the recorded dtype itself, half a unit cannot be added: more is,
// and the effect divided.
constexpr double kLargerMove = 64;

// x * (1 + size * r), r uniform in [-1, 1), or in [-1, 0) where a larger x may leave the domain;
// and `more * r` farther from zero or nearer to it. Layout and dtype are those of `raised`.
at::Tensor moved(const at::Tensor& raised, const Move& how, UniformDraws& draws) {
  const at::Tensor parts = raised.is_complex() ? at::view_as_real(raised) : raised;
  const bool in_place = parts.scalar_type() == at::kDouble && parts.is_contiguous();
  // In logical order, whatever the order in memory.
  at::Tensor wide = in_place ? parts
                             : parts.to(at::kDouble, /*non_blocking=*/false, /*copy=*/true,
                                        at::MemoryFormat::Contiguous);
  draws.move({wide.data_ptr<double>(), static_cast<std::size_t>(wide.numel())}, how);
  if (in_place) return raised;
  const at::Tensor changed = at::empty_like(parts).copy_(wide);
  return raised.is_complex() ? at::view_as_complex(changed.contiguous()) : changed;
}

}  // namespace

LeafTensors tensors_of(const Leaves& leaves) {
  LeafTensors tensors;
  const auto add = [&](Direction direction, const std::vector<Leaf>& all) {
    for (const Leaf& leaf : all) {
      if (const auto* tensor = leaf.value.as<at::Tensor>())
        tensors[{direction, leaf.path}] = *tensor;
    }
  };
  add(Direction::kForward, leaves.forward);
  add(Direction::kBackward, leaves.backward);
  return tensors;
}

double Conditioning::amplitude() {
  if (amplitude_) return *amplitude_;
  amplitude_ = 1;
  const auto look = [&](const at::Tensor& tensor) {
    const auto recorded = float_type(rerun_.recorded_type(tensor));
    const auto raised = float_type(rerun_.raised_type(tensor.scalar_type(), how_));
    if (recorded && raised && raised->eps >= recorded->eps) amplitude_ = kLargerMove;
  };
  if (const auto call = rerun_.arguments()) {
    for (const auto& value : (*call)->args) execute::for_each_tensor(value, look);
    for (const auto& [name, value] : (*call)->kwargs) execute::for_each_tensor(value, look);
  }
  if (const auto arriving = rerun_.arriving()) {
    for (const auto& value : **arriving) execute::for_each_tensor(value, look);
  }
  return *amplitude_;
}

bool Conditioning::run_once(int number, bool inward, const Wanted& wanted) {
  const std::uint64_t seed =
      StableHash().add(full_name_).add(static_cast<std::uint64_t>(number)).value().low;
  UniformDraws draws(seed);
  const double amplitude = this->amplitude() * (number < kFirstWideRun ? 1 : kIntermediates);
  execute::Variation variation = how_;
  const auto move_by = [&](double more) {
    return [&, more](const at::Tensor& raised, at::ScalarType recorded) {
      const auto type = float_type(recorded);
      const double half_unit = type ? type->eps / 2 : 0;
      const Move how{-1, inward ? 0.0 : 1.0, amplitude * half_unit, amplitude * more};
      return type ? moved(raised, how, draws) : raised;
    };
  };
  variation.change = move_by(argument_);
  variation.change_arriving = move_by(0);
  if (wanted && wanted->first == Direction::kForward) variation.forward_only = true;
  if (wanted && wanted->first == Direction::kBackward) {
    variation.only_gradient = wanted->second;
  }
  const auto leaves = rerun_.run(variation);
  if (!leaves) return false;
  random_ = random_ || leaves->random;
  for (const auto& [key, tensor] : tensors_of(*leaves)) {
    if (wanted && key != *wanted) continue;
    const auto base = base_.find(key);
    if (base == base_.end() || base->second.sizes() != tensor.sizes()) continue;
    const at::Tensor from = real_parts(base->second);
    const at::Tensor to = real_parts(tensor);
    if (to.sizes() != from.sizes()) continue;  // one of both is complex
    at::Tensor& spread = spreads_[key];
    if (!spread.defined()) spread = at::zeros_like(from);
    spread = at::maximum(spread, (to - from).abs_().div_(amplitude).nan_to_num_(0, 0, 0));
  }
  return true;
}

bool Conditioning::is_derived(Direction direction, const std::string& path) {
  if (!derived_) return false;
  if (spreads_.contains({direction, path})) return true;
  const at::Tensor spread = derived_(direction, path);
  if (spread.defined()) spreads_[{direction, path}] = spread;
  return spread.defined();
}

void Conditioning::measure(int runs, Direction direction, const std::string& path) {
  if (runs == 1 && done_ == 0 && is_derived(direction, path)) return;
  const Wanted wanted = one_leaf_ ? Wanted({direction, path}) : std::nullopt;
  done_ = std::max(done_, runs);
  for (int& done = done_for_[wanted]; done < done_; ++done) {
    if (!run_once(done, false, wanted)) run_once(done, true, wanted);
  }
}

at::Tensor Conditioning::spread(Direction direction, const std::string& path) const {
  const auto found = spreads_.find({direction, path});
  return found == spreads_.end() ? at::Tensor() : found->second;
}

const at::Tensor* Conditioning::native(Direction direction, const std::string& path) {
  if (!native_) {
    execute::Variation as_device = how_;
    as_device.raise = false;
    const auto leaves = rerun_.run(as_device);
    native_ = leaves ? tensors_of(*leaves) : Tensors{};
  }
  const auto found = native_->find({direction, path});
  return found == native_->end() ? nullptr : &found->second;
}

}  // namespace msprobe::strict
