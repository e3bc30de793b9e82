// SPDX-License-Identifier: Apache-2.0
// How far roundings of its inputs move the results of a batch normalisation, from its derivatives:
// what Conditioning measures by runs, computed.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "arguments/py_value.h"
#include "libtorch/aten.h"
#include "strict/channel_sums.h"

namespace msprobe::strict {

// Each spread is the root of the mean square of the moves, of first order, when every float32
// number that goes in moves by up to half a unit, independently of the others.
class NormSpread {
 public:
  // Of F.batch_norm in training. Nothing if a channel has few elements, or if a tensor that matters
  // is not of float32. `arriving`: undefined if no gradient is wanted.
  static std::optional<NormSpread> of(const arguments::PyCall& call, const at::Tensor& arriving);

  // Takes the spreads of elements one after another, and the place of the first of them.
  using TakeSpreads = std::function<bool(std::int64_t start, std::span<const double> spreads)>;
  // Those of the result, or of the gradient of the input: some at a time, so that they stay in the
  // cache, until `take` gives false.
  void for_result(const TakeSpreads& take) const;
  void for_gradient_of_input(const TakeSpreads& take) const;
  bool is_input(const at::Tensor& argument) const { return argument.is_same(given_); }

  at::Tensor of_result() const;
  // Of the gradient of `argument`, a tensor among the arguments; undefined for another one.
  // REQUIRES: there are arriving gradients.
  at::Tensor of_gradient(const at::Tensor& argument) const;

 private:
  NormSpread() = default;

  struct Known {
    ChannelSums sums;
    double scale;  // one over the root of the variance
    double weight;
    double bias;
  };

  Channel channel(std::int64_t number) const;
  Quadratic result_squares(const Known& known) const;
  Quadratic gradient_squares(const Known& known) const;
  using Squares = Quadratic (NormSpread::*)(const Known&) const;
  void for_elements(Squares squares, const TakeSpreads& take) const;
  at::Tensor of_elements(Squares squares) const;
  // The sum of (x times the gradient without what the mean and the variance take of it), squared.
  double left_squares(const Known& known) const;

  at::Tensor given_, given_weight_, given_bias_;  // as they are in the call
  at::Tensor input_, arriving_;                   // contiguous
  std::vector<Known> channels_;
};

}  // namespace msprobe::strict
