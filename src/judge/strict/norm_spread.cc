// SPDX-License-Identifier: Apache-2.0
#include "strict/norm_spread.h"

#include <algorithm>
#include <cmath>

#include "libtorch/dtypes.h"
#include "strict/bound.h"

namespace msprobe::strict {
namespace {

using arguments::PyCall;
using arguments::PyValue;

// A move is uniform within half a unit of float32: a third of its square is the mean.
constexpr double kMeanSquare = kFloatEps / 2 * kFloatEps / 2 / 3;
// Least number of elements for which the effect of one on its own mean and variance is negligible.
constexpr std::int64_t kManyElements = 64;
// Number of spreads that are written at once, unless a run is longer.
constexpr std::int64_t kSpreadsAtOnce = 1 << 14;
// Shorter runs of one channel are not worth vectors.
constexpr std::int64_t kLongRun = 16;

at::Tensor tensor_of(const PyValue* value) {
  const auto* tensor = value == nullptr ? nullptr : value->as<at::Tensor>();
  return tensor == nullptr ? at::Tensor() : *tensor;
}

bool fits(const at::Tensor& parameter, std::int64_t channels) {
  return !parameter.defined() || (parameter.scalar_type() == at::kFloat && parameter.dim() == 1 &&
                                  parameter.size(0) == channels);
}

double number_at(const at::Tensor& parameter, std::int64_t place, double otherwise) {
  return parameter.defined() ? static_cast<double>(parameter.data_ptr<float>()[place]) : otherwise;
}

// (x - mean) / deviation.
Linear normalised(double scale) { return {0, scale, 0}; }

}  // namespace

std::optional<NormSpread> NormSpread::of(const PyCall& call, const at::Tensor& arriving) {
  const PyValue* training = call.find(5, "training");
  const PyValue* added = call.find(7, "eps");
  const bool* trains = training == nullptr ? nullptr : training->as<bool>();
  const double* eps = added == nullptr ? nullptr : added->as<double>();
  if (trains == nullptr || !*trains || (added != nullptr && eps == nullptr)) return std::nullopt;
  NormSpread found;
  found.given_ = tensor_of(call.find(0, "input"));
  found.given_weight_ = tensor_of(call.find(3, "weight"));
  found.given_bias_ = tensor_of(call.find(4, "bias"));
  const at::Tensor& input = found.given_;
  if (!input.defined() || input.scalar_type() != at::kFloat || input.dim() < 3) return std::nullopt;
  const std::int64_t channels = input.size(1);
  const std::int64_t run = input.stride(1) == 0 ? 0 : input.numel() / input.size(0) / channels;
  if (channels == 0 || run < kLongRun || run * input.size(0) < kManyElements ||
      !fits(found.given_weight_, channels) || !fits(found.given_bias_, channels)) {
    return std::nullopt;
  }
  if (arriving.defined()) {
    if (arriving.scalar_type() != at::kFloat || arriving.sizes() != input.sizes()) {
      return std::nullopt;
    }
    found.arriving_ = libtorch::plain(arriving);
  }
  found.input_ = libtorch::plain(input);
  const at::Tensor weight =
      found.given_weight_.defined() ? libtorch::plain(found.given_weight_) : at::Tensor();
  const at::Tensor bias =
      found.given_bias_.defined() ? libtorch::plain(found.given_bias_) : at::Tensor();
  found.channels_.reserve(static_cast<std::size_t>(channels));
  for (std::int64_t i = 0; i < channels; ++i) {
    const Channel elements = found.channel(i);
    const ChannelSums sums = channel_sums(elements);
    const double variance = sums.dd / elements.count() + (eps == nullptr ? 1e-5 : *eps);
    found.channels_.push_back(
        {sums, 1 / std::sqrt(variance), number_at(weight, i, 1), number_at(bias, i, 0)});
  }
  return found;
}

Channel NormSpread::channel(std::int64_t number) const {
  const std::int64_t length = input_.numel() / input_.size(0) / input_.size(1);
  return {input_.data_ptr<float>() + number * length,
          arriving_.defined() ? arriving_.data_ptr<float>() + number * length : nullptr,
          static_cast<std::size_t>(input_.size(0)), static_cast<std::size_t>(length),
          static_cast<std::size_t>(length * input_.size(1))};
}

// With z_i = (x_i - mean) / deviation, y_i = weight z_i + bias, and n elements:
// dy_i / dx_j = weight / deviation * ([i = j] - (1 + z_i z_j) / n).
Quadratic NormSpread::result_squares(const Known& known) const {
  const auto& [sums, scale, weight, bias] = known;
  const double n = channel(0).count();
  const double moved = weight * weight * scale * scale;
  const Linear one{1, 0, 0};
  const Linear z = normalised(scale);
  Quadratic squares;
  squares.add_square(moved, {sums.mean, 1, 0});
  squares.add_square(moved * sums.xx / (n * n), one);
  squares.add(2 * moved * scale * sums.xxd / (n * n), one, z);
  squares.add_square(moved * scale * scale * sums.xxdd / (n * n), z);
  if (given_weight_.defined()) squares.add_square(weight * weight, z);
  squares.add_square(bias * bias, one);
  return squares;
}

// With the mean G of the gradients and C of g_i z_i, the gradient is weight / deviation * h_i,
// h_i = g_i - G - C z_i. It depends on g_j as the result does on x_j, and
// d / dx_j = -weight / deviation^2 * (C [i = j] + (z_j (h_i - C z_i) - C + z_i h_j) / n).
Quadratic NormSpread::gradient_squares(const Known& known) const {
  const auto& [sums, scale, weight, bias] = known;
  const double n = channel(0).count();
  const double moved = weight * weight * scale * scale;
  const double mean = sums.mean_gradient;
  const double slope = scale * sums.gd / n;  // C
  const Linear one{1, 0, 0};
  const Linear z = normalised(scale);
  const Linear left{-mean, -slope * scale, 1};            // h_i
  const Linear twice_left{-mean, -2 * slope * scale, 1};  // h_i - C z_i
  Quadratic squares;
  squares.add_square(moved, {0, 0, 1});
  squares.add_square(moved * sums.gg / (n * n), one);
  squares.add(2 * moved * scale * sums.ggd / (n * n), one, z);
  squares.add_square(moved * scale * scale * sums.ggdd / (n * n), z);
  if (given_weight_.defined()) squares.add_square(moved, left);
  // Sums of x_j^2 times powers of z_j and h_j.
  const double of_z = scale * sums.xxd;
  const double of_z_z = scale * scale * sums.xxdd;
  const double of_h = sums.xxg - mean * sums.xx - slope * of_z;
  const double of_z_h = scale * sums.xxgd - mean * of_z - slope * of_z_z;
  const double by_input = moved * scale * scale;
  const double by_others = by_input / (n * n);
  squares.add_square(by_input * slope * slope, {sums.mean, 1, 0});
  squares.add_square(by_others * of_z_z, twice_left);
  squares.add_square(by_others * slope * slope * sums.xx, one);
  squares.add_square(by_others * left_squares(known), z);
  squares.add(-2 * by_others * slope * of_z, twice_left, one);
  squares.add(2 * by_others * of_z_h, twice_left, z);
  squares.add(-2 * by_others * slope * of_h, z, one);
  return squares;
}

double NormSpread::left_squares(const Known& known) const {
  const auto& [sums, scale, weight, bias] = known;
  const double mean = sums.mean_gradient;
  const double slope = scale * scale * sums.gd / channel(0).count();  // of h along d
  return sums.xxgg - 2 * mean * sums.xxg - 2 * slope * sums.xxgd + mean * mean * sums.xx +
         2 * mean * slope * sums.xxd + slope * slope * sums.xxdd;
}

void NormSpread::for_elements(Squares squares, const TakeSpreads& take) const {
  std::vector<Quadratic> of_channels;
  of_channels.reserve(channels_.size());
  for (const Known& known : channels_) {
    of_channels.push_back((this->*squares)(known).times(kMeanSquare));
  }
  const std::size_t length = channel(0).length;
  const std::size_t at_once = std::max<std::size_t>(1, kSpreadsAtOnce / length);
  std::vector<double> spreads(at_once * length);
  for (std::size_t start = 0; start < channels_.size() * channel(0).parts; start += at_once) {
    const std::size_t runs = std::min(at_once, channels_.size() * channel(0).parts - start);
    for (std::size_t i = 0; i < runs; ++i) {
      const std::size_t number = (start + i) % channels_.size();
      const std::size_t first = (start + i) * length;
      const Channel one_run{input_.data_ptr<float>() + first,
                            arriving_.defined() ? arriving_.data_ptr<float>() + first : nullptr, 1,
                            length, 0};
      write_roots(one_run, channels_[number].sums.mean, of_channels[number],
                  spreads.data() + i * length);
    }
    if (!take(static_cast<std::int64_t>(start * length), std::span(spreads).first(runs * length)))
      return;
  }
}

void NormSpread::for_result(const TakeSpreads& take) const {
  for_elements(&NormSpread::result_squares, take);
}

void NormSpread::for_gradient_of_input(const TakeSpreads& take) const {
  for_elements(&NormSpread::gradient_squares, take);
}

at::Tensor NormSpread::of_elements(Squares squares) const {
  at::Tensor all = at::empty(input_.sizes(), at::kDouble);
  for_elements(squares, [&](std::int64_t start, std::span<const double> spreads) {
    std::ranges::copy(spreads, all.data_ptr<double>() + start);
    return true;
  });
  return all;
}

at::Tensor NormSpread::of_result() const { return of_elements(&NormSpread::result_squares); }

at::Tensor NormSpread::of_gradient(const at::Tensor& argument) const {
  if (is_input(argument)) return of_elements(&NormSpread::gradient_squares);
  const bool of_weight = argument.is_same(given_weight_);
  if (!of_weight && !argument.is_same(given_bias_)) return {};
  at::Tensor spreads = at::empty({input_.size(1)}, at::kDouble);
  for (std::int64_t i = 0; i < input_.size(1); ++i) {
    const Known& known = channels_[static_cast<std::size_t>(i)];
    // The sum of g_j z_j, and of g_j.
    const double square = of_weight ? known.scale * known.scale *
                                          (known.sums.ggdd + std::max(left_squares(known), 0.0))
                                    : known.sums.gg;
    spreads.data_ptr<double>()[i] = std::sqrt(kMeanSquare * square);
  }
  return spreads;
}

}  // namespace msprobe::strict
