// SPDX-License-Identifier: Apache-2.0
// How far a rounding of its inputs moves each element of a call's results, measured: the benchmark
// runs again with every input moved at random within half a unit of its recorded dtype.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "execute/rerun.h"

namespace msprobe::strict {

enum class Direction : std::uint8_t { kForward, kBackward };

using LeafTensors = std::map<std::pair<Direction, std::string>, at::Tensor>;
LeafTensors tensors_of(const execute::Leaves& leaves);

class Conditioning {
 public:
  using Tensors = LeafTensors;

  // `base`: what the benchmark gives when it runs as `how` says. REQUIRES: `rerun` and `full_name`
  // outlive this. `argument`: by how much more every argument is moved, regardless of its size.
  // `one_leaf`: a run computes only the leaf that is asked for; for calls whose gradients cost as
  // much as products do, of which few need a run.
  Conditioning(execute::Rerun& rerun, const std::string& full_name, Tensors base,
               execute::Variation how, double argument = 0, bool one_leaf = false)
      : rerun_(rerun),
        full_name_(full_name),
        how_(std::move(how)),
        argument_(argument),
        one_leaf_(one_leaf),
        base_(std::move(base)) {}

  // What one run would show of a leaf, where that is known without it; undefined elsewhere.
  using Derived = std::function<at::Tensor(Direction direction, const std::string& path)>;
  void set_derived(Derived derived) { derived_ = std::move(derived); }

  // Runs until `runs` have worked or failed, and as many as any leaf had. A single run is left out
  // if what it would show is known. Deterministic: seeds come from the call's name.
  void measure(int runs, Direction direction, const std::string& path);
  int runs() const { return done_; }

  // The largest move of every element so far, in float64 (complex: of both parts); undefined where
  // no run gave this leaf.
  at::Tensor spread(Direction direction, const std::string& path) const;
  bool random() const { return random_; }  // the operator draws random numbers

  // The same call in the recorded precision, on the CPU.
  const at::Tensor* native(Direction direction, const std::string& path);
  // What that gives, where it is known.
  void set_native(Tensors native) { native_ = std::move(native); }

 private:
  // What one run computes.
  using Wanted = std::optional<LeafTensors::key_type>;

  bool run_once(int number, bool inward, const Wanted& wanted);
  bool is_derived(Direction direction, const std::string& path);
  double amplitude();

  execute::Rerun& rerun_;
  const std::string& full_name_;
  execute::Variation how_;
  double argument_;
  bool one_leaf_;
  int done_ = 0;
  std::map<Wanted, int> done_for_;
  std::optional<double> amplitude_;
  bool random_ = false;
  Tensors base_;
  Tensors spreads_;
  Derived derived_;
  std::optional<Tensors> native_;
};

}  // namespace msprobe::strict
