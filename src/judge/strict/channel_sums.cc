// SPDX-License-Identifier: Apache-2.0
#include "strict/channel_sums.h"

#include "core/vector_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "strict/channel_sums.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace msprobe::strict::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Doubles = hn::ScalableTag<double>;
using OneDouble = hn::CappedTag<double, 1>;
template <class D>
using FloatsOf = hn::Rebind<float, D>;

template <class D>
HWY_INLINE hn::Vec<D> widened(D d, const float* from) {
  return from == nullptr ? hn::Zero(d) : hn::PromoteTo(d, hn::LoadU(FloatsOf<D>(), from));
}

// The first elements of a vector.
struct First {
  const float* inputs;
  const float* gradients;  // null: 0
  std::size_t place;
};

// Calls take(tag, first) for every vector of elements, and for each of the last ones of a run.
template <class Take>
HWY_INLINE void for_elements(const Channel& channel, const Take& take) {
  const Doubles d;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t part = 0; part < channel.parts; ++part) {
    const std::size_t first = part * channel.step;
    const std::size_t end = first + channel.length;
    const auto at = [&](std::size_t i) {
      return First{channel.inputs + i,
                   channel.gradients == nullptr ? nullptr : channel.gradients + i, i};
    };
    std::size_t i = first;
    for (; i + lanes <= end; i += lanes) take(d, at(i));
    for (; i < end; ++i) take(OneDouble(), at(i));
  }
}

// A sum over all lanes and over the elements that fill no vector.
class Sum {
 public:
  Sum() : lanes_(hn::Zero(Doubles())) {}  // written out: the compiler's is for another target

  template <class D>
  HWY_INLINE void add(D /*d*/, hn::Vec<D> values) {
    if constexpr (hn::MaxLanes(D()) == 1) {
      rest_ += hn::GetLane(values);
    } else {
      lanes_ = hn::Add(lanes_, values);
    }
  }
  double total() const { return hn::GetLane(hn::SumOfLanes(Doubles(), lanes_)) + rest_; }

 private:
  hn::Vec<Doubles> lanes_;
  double rest_ = 0;
};

ChannelSums sums_with_target(const Channel& channel) {
  ChannelSums found;
  Sum x_sum, g_sum;
  const auto add_to_means = [&](auto tag, const First& first) HWY_ATTR {
    x_sum.add(tag, widened(tag, first.inputs));
    g_sum.add(tag, widened(tag, first.gradients));
  };
  for_elements(channel, add_to_means);
  found.mean = x_sum.total() / channel.count();
  found.mean_gradient = g_sum.total() / channel.count();

  Sum dd, xx, xxd, xxdd;
  Sum gd, gg, ggd, ggdd, xxg, xxgd, xxgg;
  const auto add = [&](auto tag, const First& first) HWY_ATTR {
    const auto x = widened(tag, first.inputs);
    const auto d = hn::Sub(x, hn::Set(tag, found.mean));
    const auto x2 = hn::Mul(x, x);
    const auto x2_d = hn::Mul(x2, d);
    dd.add(tag, hn::Mul(d, d));
    xx.add(tag, x2);
    xxd.add(tag, x2_d);
    xxdd.add(tag, hn::Mul(x2_d, d));
    if (first.gradients == nullptr) return;
    const auto g = widened(tag, first.gradients);
    const auto g_d = hn::Mul(g, d);
    const auto x2_g = hn::Mul(x2, g);
    gd.add(tag, g_d);
    gg.add(tag, hn::Mul(g, g));
    ggd.add(tag, hn::Mul(g, g_d));
    ggdd.add(tag, hn::Mul(g_d, g_d));
    xxg.add(tag, x2_g);
    xxgd.add(tag, hn::Mul(x2_g, d));
    xxgg.add(tag, hn::Mul(x2_g, g));
  };
  for_elements(channel, add);
  found.dd = dd.total();
  found.xx = xx.total();
  found.xxd = xxd.total();
  found.xxdd = xxdd.total();
  found.gd = gd.total();
  found.gg = gg.total();
  found.ggd = ggd.total();
  found.ggdd = ggdd.total();
  found.xxg = xxg.total();
  found.xxgd = xxgd.total();
  found.xxgg = xxgg.total();
  return found;
}

void roots_with_target(const Channel& channel, double mean, const Quadratic& squares,
                       double* roots) {
  const auto write = [&](auto tag, const First& first) HWY_ATTR {
    const auto all = [&](double value) HWY_ATTR { return hn::Set(tag, value); };
    const auto d = hn::Sub(widened(tag, first.inputs), all(mean));
    const auto of_d = hn::MulAdd(all(squares.dd), d, all(squares.d));
    auto sum = hn::MulAdd(of_d, d, all(squares.one));
    if (first.gradients != nullptr) {
      const auto g = widened(tag, first.gradients);
      const auto of_both = hn::MulAdd(all(squares.dg), d, all(squares.g));
      sum = hn::MulAdd(hn::MulAdd(all(squares.gg), g, of_both), g, sum);
    }
    const auto positive = hn::Gt(sum, hn::Zero(tag));
    hn::StoreU(hn::Sqrt(hn::IfThenElseZero(positive, sum)), tag, roots + first.place);
  };
  for_elements(channel, write);
}

}  // namespace
}  // namespace msprobe::strict::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace msprobe::strict {

HWY_EXPORT(sums_with_target);
HWY_EXPORT(roots_with_target);

ChannelSums channel_sums(const Channel& channel) {
  return HWY_DYNAMIC_DISPATCH(sums_with_target)(channel);
}

void Quadratic::add(double factor, const Linear& left, const Linear& right) {
  one += factor * left.one * right.one;
  d += factor * (left.one * right.d + left.d * right.one);
  g += factor * (left.one * right.g + left.g * right.one);
  dd += factor * left.d * right.d;
  dg += factor * (left.d * right.g + left.g * right.d);
  gg += factor * left.g * right.g;
}

void write_roots(const Channel& channel, double mean, const Quadratic& squares, double* roots) {
  HWY_DYNAMIC_DISPATCH(roots_with_target)(channel, mean, squares, roots);
}

}  // namespace msprobe::strict

#endif  // HWY_ONCE
