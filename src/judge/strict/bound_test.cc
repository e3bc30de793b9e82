// SPDX-License-Identifier: Apache-2.0
// The bound against truth: correct kernels, in several orders of summation, stay below it, and it
// is not empty: in the median it is within some times what they really err.
#include "strict/bound.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include <gtest/gtest.h>

#include "libtorch/cpu_types_for_test.h"
#include "libtorch/dtypes.h"
#include "strict/calls_for_test.h"
#include "strict/finding.h"

namespace msprobe::strict {
namespace {

using Kernel = std::function<at::Tensor(const std::vector<at::Tensor>& inputs)>;
// The gradients of all inputs, in their order.
using GradientKernel = std::function<std::vector<at::Tensor>(const std::vector<at::Tensor>& inputs,
                                                             const at::Tensor& arriving)>;

// How many times larger than the largest error the bound may be in the median.
constexpr double kFloatRoom = 20;
constexpr double kHalfRoom = 48;

std::vector<at::Tensor> inputs_of(const RunCall& run) {
  std::vector<at::Tensor> inputs;
  for (const auto& value : run.outcome.arguments.call.args) {
    if (const auto* tensor = value.as<at::Tensor>()) inputs.push_back(tensor->detach());
  }
  return inputs;
}

// Judges results of correct kernels as users have them judged, and keeps how much of their bounds
// these use.
class Truth {
 public:
  void check(const RunCall& run, const std::vector<Kernel>& others,
             const GradientKernel& other_gradients = {}) {
    compare(run);
    RunCall changed = run;
    changed.outcome.backward.clear();
    for (const Kernel& kernel : others) {
      changed.set_device(kernel(inputs_of(run)));
      compare(changed);
    }
    if (!other_gradients) return;
    changed = run;
    const at::Tensor arriving =
        run.outcome.arriving.front().as<at::Tensor>()->to(run.device().scalar_type());
    const std::vector<at::Tensor> gradients = other_gradients(inputs_of(run), arriving);
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      changed.outcome.backward[i].device = {gradients[i]};
    }
    compare(changed);
  }

  // The bound is not much larger than the largest error of a kernel, in the median.
  void expect_tight() {
    EXPECT_LE(median_of(float_rooms_), kFloatRoom);
    EXPECT_LE(median_of(half_rooms_), kHalfRoom);
    testing::Test::RecordProperty("float_median", std::to_string(median_of(float_rooms_)));
    testing::Test::RecordProperty("half_median", std::to_string(median_of(half_rooms_)));
    testing::Test::RecordProperty("compared", compared_);
    testing::Test::RecordProperty("results", std::to_string(results_));
    testing::Test::RecordProperty("by_native", by_native_);
  }

  std::int64_t results() const { return results_; }

 private:
  void compare(const RunCall& run) {
    const Findings findings = run.judge();
    for (std::size_t i = 0; i < run.outcome.forward.size(); ++i) {
      take(run, run.outcome.forward[i], findings.forward[i]);
    }
    for (std::size_t i = 0; i < run.outcome.backward.size(); ++i) {
      take(run, run.outcome.backward[i], findings.backward[i]);
    }
  }

  void take(const RunCall& run, const execute::LeafPair& leaf, const StrictFinding& finding) {
    const auto* device = leaf.device.as<at::Tensor>();
    if (device == nullptr) return;
    ++compared_;
    results_ += device->numel();
    if (finding.reason.find("as the CPU computes") != std::string::npos) ++by_native_;
    EXPECT_TRUE(is_right(finding)) << run.record.full_name << " " << device->scalar_type() << " "
                                   << device->sizes() << ": " << finding.reason;
    if (finding.error_over_bound.value_or(0) == 0) return;
    const bool half = is_half(*float_type(device->scalar_type()));
    (half ? half_rooms_ : float_rooms_).push_back(1 / *finding.error_over_bound);
  }

  static double median_of(std::vector<double>& rooms) {
    std::ranges::sort(rooms);
    return rooms.empty() ? 1 : rooms[rooms.size() / 2];
  }

  std::int64_t results_ = 0;
  std::vector<double> float_rooms_;
  std::vector<double> half_rooms_;
  int compared_ = 0;
  int by_native_ = 0;  // that the CPU's own error had to explain
};

// Sums kept in float32, one term after another.
at::Tensor sequential_matmul(const at::Tensor& left, const at::Tensor& right) {
  at::Tensor sum = at::zeros({left.size(0), right.size(1)}, at::kFloat);
  const at::Tensor l = left.to(at::kFloat);
  const at::Tensor r = right.to(at::kFloat);
  for (std::int64_t k = 0; k < l.size(1); ++k) sum.add_(l.narrow(1, k, 1) * r.narrow(0, k, 1));
  return sum.to(left.scalar_type());
}

at::Tensor order(std::int64_t length) { return at::randperm(length, at::kLong); }

TEST(Bound, HoldsForMatmul) {
  Truth truth;
  for (const DType dtype : libtorch::cpu_floats_with_wide_sums()) {
    for (const std::int64_t inner : {1, 7, 64, 300, 1024}) {
      for (const std::int64_t rows : {1, 16, 40}) {
        for (const double least : {-1.0, 0.0}) {  // with cancellation and without
          const RunCall run(
              with_backward(call("Torch.matmul.0", {{tensor({rows, inner}, dtype, true, least)},
                                                    {tensor({inner, 24}, dtype, true, least)}}),
                            {{tensor({rows, 24}, dtype)}}));
          truth.check(run, {[](const auto& in) { return sequential_matmul(in[0], in[1]); },
                            [&](const auto& in) {
                              const at::Tensor p = order(inner);
                              return at::matmul(in[0].index_select(1, p), in[1].index_select(0, p));
                            }});
        }
      }
    }
  }
  truth.expect_tight();
}

TEST(Bound, HoldsForSums) {
  Truth truth;
  for (const DType dtype : libtorch::cpu_floats()) {
    for (const std::int64_t length : {2, 33, 500, 4096, 20000}) {
      for (const double least : {-1.0, 0.0}) {
        const RunCall run(
            call("Torch.sum.0", {{tensor({12, length}, dtype, false, least)}, {std::int64_t{1}}}));
        truth.check(
            run, {[](const auto& in) {
                    return sequential_matmul(in[0], at::ones({in[0].size(1), 1}, in[0].options()))
                        .flatten();
                  },
                  [&](const auto& in) { return in[0].index_select(1, order(length)).sum(1); },
                  [](const auto& in) { return std::get<0>(in[0].sort(1)).sum(1); }});
      }
    }
  }
  truth.expect_tight();
}

TEST(Bound, HoldsForAMillionSums) {
  Truth truth;
  struct Shape {
    std::int64_t rows, length;
  };
  for (const auto& [rows, length] : {Shape{60000, 5}, {50000, 12}, {12000, 60}, {4000, 300}}) {
    for (const double least : {-1.0, 0.0}) {
      const RunCall run(
          call("Torch.sum.0",
               {{tensor({rows, length}, DType::kFloat32, false, least)}, {std::int64_t{1}}}));
      truth.check(run, {[](const auto& in) {
                          return sequential_matmul(in[0],
                                                   at::ones({in[0].size(1), 1}, in[0].options()))
                              .flatten();
                        },
                        [&](const auto& in) { return in[0].index_select(1, order(length)).sum(1); },
                        [](const auto& in) { return std::get<0>(in[0].sort(1)).sum(1); }});
    }
  }
  EXPECT_GT(truth.results(), 1'000'000);
  truth.expect_tight();
}

TEST(Bound, OfSumsDoesNotCoverAnOutlier) {
  const RunCall run(
      call("Torch.sum.0", {{tensor({200, 4096}, DType::kFloat32, false, 0.0)}, {std::int64_t{1}}}));
  const FloatType type = *float_type(at::kFloat);
  const Limits limits = spread_limits(type, 4096, at::zeros({200}, at::kDouble));
  at::Tensor device = run.device().clone();
  const auto judged = [&] {
    const LoweredLimits lower = as_others_need(limits, first_limits(type), device, run.bench());
    const Scan found = scan(device, run.bench(), lower.limits);
    // Two quotients of the same numbers, which may differ in the last digit.
    EXPECT_GE(lower.used * (1 + 1e-12), found.good() ? found.worst_inside : 1);
    return found;
  };
  EXPECT_TRUE(judged().good());
  device[7] *= 1 + 0x1p-18;  // half of what a running sum may err
  EXPECT_TRUE(scan(device, run.bench(), limits).good());
  EXPECT_EQ(judged().beyond, 1);
}

// A running sum of many terms beside sums of few is not an outlier.
TEST(Bound, OneLongSumBesideShortOnesIsNoOutlier) {
  const FloatType type = *float_type(at::kFloat);
  at::manual_seed(24);
  at::Tensor rows = at::rand({40, 20000});
  rows.slice(0, 1).slice(1, 12).zero_();
  at::Tensor device = rows.slice(1, 0, 12).sum(1);
  float sum = 0;
  for (std::int64_t i = 0; i < rows.size(1); ++i) sum += rows[0].data_ptr<float>()[i];
  device[0] = sum;
  const at::Tensor bench = rows.to(at::kDouble).sum(1);
  const Limits limits = spread_limits(type, 20000, at::zeros_like(bench));
  const Limits least = first_limits(type);
  EXPECT_FALSE(scan(device, bench, as_others_need(limits, least, device, bench).limits).good());
  const at::Tensor terms = rows.ne(0).sum(1).to(at::kDouble);
  EXPECT_TRUE(
      scan(device, bench, as_others_need(limits, least, device, bench, terms).limits).good());
}

// Kernels that work in two blocks. Their sums are float32, as those of a sound kernel are.
at::Tensor conv2d_in_two_parts(const at::Tensor& image, const at::Tensor& weight) {
  const std::int64_t height = image.size(2) - weight.size(2) + 1;
  const std::int64_t width = image.size(3) - weight.size(3) + 1;
  const at::Tensor columns =
      at::im2col(image.to(at::kFloat), weight.sizes().slice(2), {1, 1}, {0, 0}, {1, 1});
  const at::Tensor rows = weight.to(at::kFloat).flatten(1);
  const std::int64_t terms = rows.size(1);
  const auto part = [&](std::int64_t from, std::int64_t to) {
    return at::matmul(rows.slice(1, from, to), columns.slice(1, from, to));
  };
  const at::Tensor sum = terms == 1 ? part(0, 1) : part(0, terms / 2) + part(terms / 2, terms);
  return sum.to(image.scalar_type()).view({image.size(0), weight.size(0), height, width});
}

std::vector<at::Tensor> conv2d_gradients_in_two_parts(const at::Tensor& image,
                                                      const at::Tensor& weight,
                                                      const at::Tensor& arriving) {
  const auto part = [&](const at::Tensor& some_image, const at::Tensor& some_weight,
                        const at::Tensor& some_arriving, std::size_t which) {
    const auto both = at::convolution_backward(
        some_arriving.to(at::kFloat), some_image.to(at::kFloat), some_weight.to(at::kFloat),
        c10::nullopt, {1, 1}, {0, 0}, {1, 1}, false, {0, 0}, 1, {which == 0, which == 1, false});
    return which == 0 ? std::get<0>(both) : std::get<1>(both);
  };
  const auto channels = [&](std::int64_t from, std::int64_t to) {
    return part(image, weight.slice(0, from, to), arriving.slice(1, from, to), 0);
  };
  const auto images = [&](std::int64_t from, std::int64_t to) {
    return part(image.slice(0, from, to), weight, arriving.slice(0, from, to), 1);
  };
  return {(channels(0, weight.size(0) / 2) + channels(weight.size(0) / 2, weight.size(0)))
              .to(image.scalar_type()),
          (images(0, 1) + images(1, 2)).to(image.scalar_type())};
}

TEST(Bound, HoldsForConvolutions) {
  const std::vector<DType> types = libtorch::cpu_floats_with_wide_sums();
  if (types.size() == 1) GTEST_SKIP() << "float32 alone on this PyTorch's CPU";
  Truth truth;
  for (const DType dtype : types) {
    if (dtype == DType::kFloat32) continue;
    for (const std::int64_t channels : {1, 4, 32}) {
      for (const std::int64_t kernel : {1, 3, 5}) {
        const RunCall run(with_backward(
            call("Functional.conv2d.0", {{tensor({2, channels, 10, 10}, dtype, true)},
                                         {tensor({6, channels, kernel, kernel}, dtype, true)}}),
            {{tensor({2, 6, 11 - kernel, 11 - kernel}, dtype)}}));
        truth.check(run,
                    {[&](const auto& in) {
                       const at::Tensor p = order(channels);
                       return at::conv2d(in[0].index_select(1, p), in[1].index_select(1, p));
                     },
                     [](const auto& in) { return conv2d_in_two_parts(in[0], in[1]); }},
                    [](const auto& in, const at::Tensor& arriving) {
                      return conv2d_gradients_in_two_parts(in[0], in[1], arriving);
                    });
      }
    }
  }
  for (const std::int64_t channels : {2, 16}) {
    const RunCall run(with_backward(
        call("Functional.conv3d.0", {{tensor({2, channels, 6, 6, 6}, DType::kFloat32, true)},
                                     {tensor({4, channels, 3, 3, 3}, DType::kFloat32, true)}}),
        {{tensor({2, 4, 4, 4, 4})}}));
    truth.check(run, {[&](const auto& in) {
                  const at::Tensor p = order(channels);
                  return at::conv3d(in[0].index_select(1, p), in[1].index_select(1, p));
                }});
  }
  truth.expect_tight();
}

TEST(Bound, HoldsForSoftmax) {
  Truth truth;
  for (const DType dtype : libtorch::cpu_floats()) {
    for (const std::int64_t length : {2, 31, 256, 3000}) {
      for (const double size : {1.0, 20.0}) {
        const RunCall run(with_backward(
            call("Functional.softmax.0", {{tensor({9, length}, dtype, true, -size, size)}},
                 {{"dim", {std::int64_t{1}}}}),
            {{tensor({9, length}, dtype)}}));
        truth.check(run,
                    {[&](const auto& in) {
                       const at::Tensor p = order(length);
                       return at::softmax(in[0].index_select(1, p), 1).index_select(1, p.argsort());
                     },
                     [](const auto& in) {
                       const at::Tensor x = in[0].to(at::kFloat);
                       const at::Tensor e = (x - x.amax(1, true)).exp();
                       return (e / e.sum(1, true)).to(in[0].scalar_type());
                     }});
      }
    }
  }
  truth.expect_tight();
}

TEST(Bound, HoldsForNorms) {
  Truth truth;
  for (const DType dtype : libtorch::cpu_floats()) {
    for (const std::int64_t length : {4, 64, 1000}) {
      for (const double center : {0.0, 10.0}) {
        const RunCall run(
            with_backward(call("Functional.layer_norm.0",
                               {{tensor({14, length}, dtype, true, center - 1, center + 1)},
                                {dump::List{{length}}},
                                {tensor({length}, dtype, true)},
                                {tensor({length}, dtype, true)}}),
                          {{tensor({14, length}, dtype)}}));
        truth.check(
            run, {[](const auto& in) {
              const at::Tensor x = in[0].to(at::kFloat);
              const at::Tensor d = x - x.mean(1, true);
              const at::Tensor y = d / (d.square().mean(1, true) + 1e-5).sqrt();
              return (y * in[1].to(at::kFloat) + in[2].to(at::kFloat)).to(in[0].scalar_type());
            }});
        const RunCall batch(
            with_backward(call("Functional.batch_norm.0",
                               {{tensor({8, 3, length}, dtype, true, center - 1, center + 1)},
                                {dump::None{}},
                                {dump::None{}},
                                {tensor({3}, dtype, true)},
                                {tensor({3}, dtype, true)},
                                {true}}),
                          {{tensor({8, 3, length}, dtype)}}));
        truth.check(batch, {});
      }
    }
  }
  truth.expect_tight();
}

}  // namespace
}  // namespace msprobe::strict
