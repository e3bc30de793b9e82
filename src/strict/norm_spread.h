// SPDX-License-Identifier: Apache-2.0
// How far roundings of its inputs move the results of a batch normalisation, from its derivatives:
// what Conditioning measures by runs, computed.
#pragma once

#include <optional>
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
  at::Tensor of_elements(Quadratic (NormSpread::*squares)(const Known&) const) const;
  // The sum of (x times the gradient without what the mean and the variance take of it), squared.
  double left_squares(const Known& known) const;

  at::Tensor given_, given_weight_, given_bias_;  // as they are in the call
  at::Tensor input_, arriving_;                   // contiguous
  std::vector<Known> channels_;
};

}  // namespace msprobe::strict
