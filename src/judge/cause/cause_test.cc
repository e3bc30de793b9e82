// SPDX-License-Identifier: Apache-2.0
// Errors made by each hypothesis are named by it; correct results are not accused.
#include "cause/cause.h"

#include <functional>
#include <iostream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "libtorch/cpu_types_for_test.h"
#include "strict/calls_for_test.h"

namespace msprobe::cause {

using strict::call;
using strict::RunCall;
using strict::tensor;
using strict::with_backward;

namespace {

// Calls with at least 256 elements in their output, by a product where `products` asks for it.
std::vector<dump::CallRecord> calls(DType dtype, bool products) {
  std::vector<dump::CallRecord> records;
  for (int i = 0; i < 4; ++i) {
    const std::int64_t rows = 16 + 8 * i;
    const std::string index = std::to_string(i);
    records.push_back(
        call("Torch.matmul." + index, {{tensor({rows, 96}, dtype)}, {tensor({96, 40}, dtype)}}));
    records.push_back(call("Functional.linear." + index,
                           {{tensor({rows, 64}, dtype)}, {tensor({24, 64}, dtype)}}));
    if (products) continue;
    records.push_back(call("Torch.tanh." + index, {{tensor({rows, 33}, dtype, false, -2, 2)}}));
    records.push_back(call("Functional.softmax." + index,
                           {{tensor({rows, 20}, dtype, false, -3, 3)}},
                           {{"dim", {std::int64_t{1}}}}));
    records.push_back(call("Functional.conv2d." + index,
                           {{tensor({2, 3, 8 + i, 9}, dtype)}, {tensor({5, 3, 3, 3}, dtype)}}));
  }
  return records;
}

at::Tensor kept_to(const at::Tensor& tensor, int bits) {
  auto [mantissa, exponent] = at::frexp(tensor.to(at::kDouble));
  const double unit = static_cast<double>(1 << (bits + 1));
  return at::ldexp((mantissa * unit).round() / unit, exponent).to(tensor.scalar_type());
}

bool is_linear(const dump::CallRecord& record) {
  return record.full_name.starts_with("Functional.linear");
}

at::Tensor product(const dump::CallRecord& record, const at::Tensor& left,
                   const at::Tensor& right) {
  return at::matmul(left, is_linear(record) ? right.t() : right);
}

// The share of `records` whose spoiled output is blamed on what `wanted` begins with.
double right_share(
    const std::vector<dump::CallRecord>& records, const std::string& wanted,
    const std::function<at::Tensor(const RunCall&, const std::vector<at::Tensor>&)>& spoil) {
  double right = 0;
  for (const dump::CallRecord& record : records) {
    RunCall run(record);
    std::vector<at::Tensor> inputs;
    for (const auto& value : run.outcome.arguments.call.args) {
      if (const auto* tensor = value.as<at::Tensor>()) inputs.push_back(tensor->detach());
    }
    run.set_device(spoil(run, inputs));
    const StrictFinding finding = run.forward();
    if (finding.cause.starts_with(wanted)) {
      ++right;
    } else {
      std::cout << record.full_name << ": " << wanted << ", got '" << finding.cause << "' "
                << finding.reason << "\n";
    }
  }
  return right / static_cast<double>(records.size());
}

using Change = at::Tensor (*)(at::Tensor);

struct Pattern {
  std::string cause;
  Change change;
};

const Pattern kPatterns[] = {
    {"wrong scale", [](at::Tensor t) { return t * 2; }},
    {"wrong scale", [](at::Tensor t) { return t * -1; }},
    {"shifted", [](at::Tensor t) { return t.roll(1, 0); }},
    {"shifted", [](at::Tensor t) { return t.roll(-2, -1); }},
    {"lost tail",
     [](at::Tensor t) {
       t.flatten().slice(0, t.numel() - t.numel() / 8).zero_();
       return t;
     }},
    {"lost tail",
     [](at::Tensor t) {
       t.slice(-1, t.size(-1) - 3).zero_();
       return t;
     }},
    {"bad tile",
     [](at::Tensor t) {
       t.slice(-2, 2, 6).slice(-1, 3, 7).mul_(1.5);
       return t;
     }},
    {"bad ",
     [](at::Tensor t) {
       t.select(0, 1).add_(0.5);
       return t;
     }},
    {"bad ",
     [](at::Tensor t) {
       t.select(1, 2).mul_(3);
       return t;
     }},
    {"bad stride",
     [](at::Tensor t) {
       t.flatten().slice(0, 7, {}, 50).add_(1);
       return t;
     }},
    {"wrong offset", [](at::Tensor t) { return t + 1; }},
    {"unrelated data",
     [](at::Tensor t) { return t.flatten().flip(0).roll(101).view(t.sizes()).contiguous(); }},
    {"NaN or Inf",
     [](at::Tensor t) {
       t.select(0, 1).fill_(NAN);
       return t;
     }},
    {"one bad element",
     [](at::Tensor t) {
       t.flatten()[77].add_(0.75);
       return t;
     }},
    {"saturation",
     [](at::Tensor t) {
       const double top = 0.6 * t.abs().max().item<double>();
       return t.clamp(-top, top);
     }},
};

TEST(Cause, PatternsAreNamed) {
  for (const DType dtype : libtorch::cpu_floats_with_wide_sums()) {
    for (const Pattern& pattern : kPatterns) {
      const double share = right_share(
          calls(dtype, false), pattern.cause,
          [&](const RunCall& run, const auto&) { return pattern.change(run.device().clone()); });
      EXPECT_GE(share, 0.9) << pattern.cause << " " << name(dtype);
    }
  }
}

TEST(Cause, TransposedDataIsNamed) {
  std::vector<dump::CallRecord> records;
  for (int i = 0; i < 8; ++i) {
    records.push_back(call("Torch.exp." + std::to_string(i), {{tensor({20, 20 + i})}}));
  }
  EXPECT_GE(right_share(records, "transposed",
                        [](const RunCall& run, const auto&) {
                          const at::Tensor t = run.device();
                          return t.t().contiguous().view(t.sizes());
                        }),
            0.9);
}

TEST(Cause, RoundedInputsAreNamedByWhatTheBenchmarkThenGives) {
  const std::pair<std::string, int> kinds[] = {
      {"TF32 inputs", 10}, {"HF32 inputs", 11}, {"bfloat16 inputs", 7}};
  for (const auto& [wanted, bits] : kinds) {
    const auto spoil = [bits = bits](const RunCall& run, const std::vector<at::Tensor>& in) {
      return product(run.record, kept_to(in[0], bits), kept_to(in[1], bits));
    };
    EXPECT_GE(right_share(calls(DType::kFloat32, true), wanted, spoil), 0.9) << wanted;
  }
}

// The product with its sum rounded to `type` after every `block` terms.
at::Tensor summed_in(at::ScalarType type, std::int64_t block, const RunCall& run,
                     const std::vector<at::Tensor>& in) {
  const at::Tensor right = is_linear(run.record) ? in[1].t() : in[1];
  at::Tensor sum;
  for (std::int64_t k = 0; k < right.size(0); k += block) {
    const std::int64_t length = std::min(block, right.size(0) - k);
    const at::Tensor term = at::matmul(in[0].narrow(1, k, length).to(at::kFloat),
                                       right.narrow(0, k, length).to(at::kFloat));
    sum = (sum.defined() ? sum + term : term).to(type).to(at::kFloat);
  }
  return sum.to(in[0].scalar_type());
}

TEST(Cause, LowPrecisionSumsAreNamedWithTheirType) {
  const std::pair<at::ScalarType, std::string> kTypes[] = {{at::kBFloat16, "torch.bfloat16"},
                                                           {at::kHalf, "torch.float16"}};
  for (const auto& [type, name] : kTypes) {
    for (const std::int64_t block : {1, 8, 16, 24}) {
      const auto spoil = [&, kept = type](const RunCall& run, const std::vector<at::Tensor>& in) {
        return summed_in(kept, block, run, in);
      };
      EXPECT_GE(right_share(calls(DType::kFloat32, true),
                            "low-precision accumulation: sums kept in " + name, spoil),
                0.9)
          << block;
    }
  }
}

TEST(Cause, CoarseSumsOfFloat16AreThoseOfBFloat16) {
  const auto spoil = [](const RunCall& run, const std::vector<at::Tensor>& in) {
    return summed_in(at::kBFloat16, 16, run, in);
  };
  EXPECT_GE(right_share(calls(DType::kFloat16, true),
                        "low-precision accumulation: sums kept in torch.bfloat16", spoil),
            0.9);
}

TEST(Cause, AFactorOfOneNumberEverywhereIsNoSaturation) {
  RunCall run(call("Torch.ones_like.0", {{tensor({20, 30})}}));
  run.set_device(run.device() * 0.75);
  EXPECT_EQ(run.forward().cause, "wrong scale: 0.75 times the benchmark");
}

TEST(Cause, ASimpleFactorIsWrittenSimply) {
  for (const DType dtype : libtorch::cpu_floats_with_wide_sums()) {
    RunCall run(call("Torch.tanh.0", {{tensor({16, 33}, dtype, false, -2, 2)}}));
    run.set_device((run.device().to(at::kDouble) * 0.75).to(run.device().scalar_type()));
    EXPECT_EQ(run.forward().cause, "wrong scale: 0.75 times the benchmark") << name(dtype);
  }
}

TEST(Cause, AFactorIsNoMoreExactThanTheOtherErrorsLetItBe) {
  const DType half = DType::kBFloat16;
  RunCall run(with_backward(
      call("Functional.layer_norm.0", {{tensor({8, 48}, half, true)},
                                       {dump::List{{std::int64_t{48}}}},
                                       {tensor({48}, DType::kFloat32, true, 0.9, 1.1)},
                                       {tensor({48}, DType::kFloat32, true, -0.1, 0.1)}}),
      {{tensor({8, 48}, half)}}));
  const at::Tensor right = *run.outcome.backward[2].bench.as<at::Tensor>();
  const at::Tensor noise = at::linspace(0, 60, 48, at::kDouble).sin() * 0.003;
  run.outcome.backward[2].device = {(right * 0.75 * (1 + noise)).to(at::kFloat)};
  EXPECT_EQ(run.judge().backward[2].cause, "wrong scale: 0.75 times the benchmark; gradient only");
}

TEST(Cause, OneHugeElementHidesNoFactor) {
  RunCall run(
      call("Torch.pow.0", {{tensor({4, 10}, DType::kFloat32, false, 0.96, 1.04)}, {2000.0}}));
  run.set_device(run.device() * 2);
  EXPECT_EQ(run.forward().cause, "wrong scale: 2 times the benchmark");
}

TEST(Cause, OneNanHasNotSpread) {
  RunCall run(call("Torch.tanh.0", {{tensor({4, 8})}}));
  const at::Tensor spoiled = run.device().clone();
  spoiled[1][3] = NAN;
  run.set_device(spoiled);
  EXPECT_EQ(run.forward().cause, "NaN or Inf: one element, (1, 3), is NaN");
  spoiled[2][3] = NAN;
  run.set_device(spoiled);
  EXPECT_THAT(run.forward().cause, testing::StartsWith("NaN or Inf spread: 2 NaN, 0 Inf"));
}

TEST(Cause, FlushedSubnormalsAreNamed) {
  std::vector<dump::CallRecord> records;
  for (int i = 0; i < 6; ++i) {
    records.push_back(call("Torch.mul." + std::to_string(i),
                           {{tensor({300 + i}, DType::kFloat32, false, -1e-37, 1e-37)}, {0.25}}));
  }
  EXPECT_GE(right_share(records, "flushed subnormals",
                        [](const RunCall& run, const auto&) {
                          const at::Tensor t = run.device();
                          return at::where(t.abs() < 1.1754943508222875e-38, at::zeros_like(t), t);
                        }),
            0.9);
}

TEST(Cause, AnOffsetOfSubnormalResultsIsNotFlushing) {
  RunCall run(call("Torch.tanh.0", {{tensor({30, 33}, DType::kFloat32, false, -1e-38, 1e-38)}}));
  run.set_device(run.device() + 1);
  EXPECT_EQ(run.forward().status, Verdict::kError);
  EXPECT_FALSE(run.forward().cause.starts_with("flushed")) << run.forward().cause;
}

TEST(Cause, LostTermsAreNamed) {
  const auto spoil = [](const RunCall& run, const std::vector<at::Tensor>& in) {
    const std::int64_t kept = in[0].size(1) - 16;
    const at::Tensor right = is_linear(run.record) ? in[1].t() : in[1];
    return at::matmul(in[0].narrow(1, 0, kept), right.narrow(0, 0, kept));
  };
  EXPECT_GE(right_share(calls(DType::kFloat32, true), "lost terms", spoil), 0.9);
}

TEST(Cause, ScatteredLostTermsAreNamed) {
  const auto spoil = [](const RunCall& run, const std::vector<at::Tensor>& in) {
    const at::Tensor right = is_linear(run.record) ? in[1].t() : in[1];
    at::Tensor left = in[0].clone();
    left.slice(1, 5, left.size(1), 16).zero_();
    return at::matmul(left, right);
  };
  EXPECT_GE(right_share(calls(DType::kFloat32, true), "lost terms", spoil), 0.9);
}

TEST(Cause, WrongMasksAreNamed) {
  std::vector<dump::CallRecord> records;
  for (int i = 0; i < 6; ++i) {
    records.push_back(call("Functional.relu." + std::to_string(i), {{tensor({20, 20 + i})}}));
  }
  EXPECT_GE(right_share(records, "wrong mask",
                        [](const RunCall& run, const auto&) {
                          const at::Tensor t = run.device();
                          const at::Tensor beside = t.flatten().roll(1, 0).view(t.sizes());
                          return at::where(beside.eq(0), at::zeros_like(t),
                                           at::where(t.eq(0), beside, t));
                        }),
            0.9);
}

TEST(Cause, WholeNumbersHaveCausesToo) {
  RunCall run(
      call("Torch.add.0", {{tensor({20, 30}, DType::kInt32, false, 1, 1000)}, {std::int64_t{7}}}));
  const at::Tensor right = run.device();
  run.set_device(right * 2);
  EXPECT_EQ(run.forward().cause, "wrong scale: 2 times the benchmark");
  run.set_device(right.roll(1, 0));
  EXPECT_THAT(run.forward().cause, testing::StartsWith("shifted: by 1 along dimension 0"));
}

TEST(Cause, AnotherKindOfResultIsNamed) {
  dump::CallRecord record = call("Torch.exp.0", {{tensor({20, 30})}});
  record.forward.output = {{tensor({20, 30})}};
  RunCall run(record);
  const at::Tensor right = run.device();
  run.set_device(right.to(at::kHalf));
  EXPECT_EQ(run.forward().status, Verdict::kError);
  EXPECT_EQ(run.forward().cause, "wrong dtype");
  run.set_device(right.narrow(0, 0, 19));
  EXPECT_THAT(run.forward().cause, testing::StartsWith("wrong shape"));
  run.outcome.forward[0].device = {dump::None{}};
  EXPECT_EQ(run.forward().cause, "missing output");
}

TEST(Cause, SwappedOutputsAreNamed) {
  RunCall run(call("Torch.aminmax.0", {{tensor({20, 300})}}, {{"dim", {std::int64_t{0}}}}));
  const at::Tensor first = run.device(0);
  run.set_device(run.device(1), 0);
  run.set_device(first, 1);
  EXPECT_THAT(run.forward(0).cause, testing::StartsWith("swapped outputs"));
  EXPECT_THAT(run.forward(1).cause, testing::StartsWith("swapped outputs"));
}

TEST(Cause, NoneIsNamedOnCorrectResults) {
  for (const DType dtype : libtorch::cpu_floats()) {
    for (const dump::CallRecord& record : calls(dtype, false)) {
      const StrictFinding finding = RunCall(record).forward();
      EXPECT_EQ(finding.status, Verdict::kPass) << record.full_name << finding.reason;
      EXPECT_EQ(finding.cause, "") << record.full_name;
    }
  }
}

}  // namespace
}  // namespace msprobe::cause
