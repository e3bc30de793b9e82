// SPDX-License-Identifier: Apache-2.0
#include "execute/benchmark.h"

#include <algorithm>

#include "execute/look_at_reference.h"
#include "execute/scaled_operators.h"
#include "execute/value_tree.h"

namespace msprobe::execute {
namespace {

// A half type that an operator of the CPU does not know.
bool lacks_half_kernel(const Skip& failed) {
  constexpr std::string_view kTexts[] = {"not implemented for 'Half'",
                                         "not implemented for 'BFloat16'",
                                         "Low precision dtypes not supported"};
  return failed.reason == SkipReason::kBenchFailed &&
         std::ranges::any_of(kTexts, [&](std::string_view text) {
           return failed.text.find(text) != std::string::npos;
         });
}

PyValue rounded_to(at::ScalarType type, const PyValue& leaf) {
  const auto* tensor = leaf.as<at::Tensor>();
  if (tensor == nullptr || tensor->scalar_type() != at::kFloat) return leaf;
  return {tensor->detach().to(type)};
}

}  // namespace

std::vector<PyValue> as_values(const std::vector<at::Tensor>& gradients) {
  std::vector<PyValue> values;
  values.reserve(gradients.size());
  for (const at::Tensor& gradient : gradients) {
    values.push_back(gradient.defined() ? PyValue{gradient} : PyValue{dump::None{}});
  }
  return values;
}

Benchmark::Benchmark(const PreparedCall& call) : call_(call), precision_(call.precision) {
  precision_.raise =
      precision_.raise && call.options.raise && !call.options.replay().bench_as_device;
}

std::optional<Skip> Benchmark::forward() {
  OrSkip<PyValue> output = run();
  if (!output && raised_instead(output.error())) output = run();
  if (!output) return output.error();
  output_ = *std::move(output);
  // Recorded below Python, an operator that changes a list returns nothing.
  if (call_.options.recorded && !call_.record.forward.mutated.empty() &&
      call_.name.bare_name.starts_with("_foreach_")) {
    output_ = PyValue{dump::None{}};
  }
  return std::nullopt;
}

OrSkip<BenchGradients> Benchmark::backward(const PyList& arriving) {
  BenchGradients found;
  const auto run_back = [&] {
    return run_backward(side_, output_, arriving, SkipReason::kBenchFailed,
                        call_.options.recorded ? &found.last : nullptr);
  };
  auto gradients = run_back();
  if (!gradients && raised_instead(gradients.error())) {
    if (const auto failed = forward()) return std::unexpected(*failed);
    gradients = run_back();
  }
  if (!gradients && call_.reference != nullptr) {
    return skip(SkipReason::kReferenceFailed,
                "the backward pass of the reference: " + gradients.error().text);
  }
  if (!gradients) return std::unexpected(gradients.error());
  found.of_inputs = *std::move(gradients);
  if (call_.options.recorded && call_.name.type == "NPU")
    found.whole_operator = in_signature_order();
  return found;
}

OrSkip<BenchGradients> Benchmark::in_layout(Layout layout, const PyList& arriving) const {
  const CallSide side = bench_side(
      call_.arguments.call, precision_, /*with_grad=*/true,
      [&](const at::Tensor& tensor, at::ScalarType) { return laid_out(tensor, layout); });
  const OrSkip<PyValue> output = run_forward(api(), side, run_options(), SkipReason::kBenchFailed);
  if (!output) return std::unexpected(output.error());
  BenchGradients found;
  auto gradients = run_backward(side, *output, arriving, SkipReason::kBenchFailed, &found.last);
  if (!gradients) return std::unexpected(gradients.error());
  found.of_inputs = *std::move(gradients);
  return found;
}

// Keywords may be written in any order.
std::vector<std::size_t> Benchmark::in_signature_order() const {
  std::vector<std::pair<std::size_t, std::size_t>> places;  // of the parameter, of the input
  const auto add = [&](const PyValue& value, std::size_t parameter) {
    for_each_tensor(value,
                    [&](const at::Tensor&) { places.emplace_back(parameter, places.size()); });
  };
  const PyCall& call = side_.call;
  for (std::size_t i = 0; i < call.args.size(); ++i) add(call.args[i], i);
  for (const auto& [keyword, value] : call.kwargs) add(value, call_.api.place_of(keyword));
  std::ranges::sort(places);
  std::vector<std::size_t> inputs;
  for (const auto& [parameter, input] : places) inputs.push_back(input);
  return inputs;
}

PyValue Benchmark::rounded(const PyValue& output) const {
  if (!rounds_ || !precision_.half) return output;
  return map_leaves(output,
                    [&](const PyValue& leaf) { return rounded_to(*precision_.half, leaf); });
}

// Each gradient has the dtype of its input.
std::vector<PyValue> Benchmark::rounded_gradients(const BenchGradients& gradients) const {
  std::vector<PyValue> values = as_values(gradients.of_inputs);
  if (!rounds_) return values;
  std::size_t next = 0;
  const auto round = [&](const at::Tensor& input) {
    if (next >= values.size()) return;
    values[next] = rounded_to(input.scalar_type(), values[next]);
    ++next;
  };
  for (const PyValue& value : call_.arguments.call.args) for_each_tensor(value, round);
  for (const auto& [name, value] : call_.arguments.call.kwargs) for_each_tensor(value, round);
  return values;
}

SideOptions Benchmark::run_options() const {
  SideOptions options{call_.options.replay().seed, {}, at::kCPU};
  if (call_.options.replay().bench_as_device && !precision_.raise)
    options.autocast = precision_.autocast;
  return options;
}

const Api& Benchmark::api() const {
  return call_.reference == nullptr ? call_.api : *call_.reference;
}

// Twice: one that gives something else the second time is no benchmark.
OrSkip<PyValue> Benchmark::run_reference() {
  OrSkip<PyValue> output = run_forward(api(), side_, run_options(), SkipReason::kReferenceFailed);
  if (!output) return output;
  if (auto bad = look_at_reference(call_.record, *output)) return std::unexpected(*bad);
  const CallSide other = bench_side(call_.arguments.call, precision_, /*with_grad=*/false);
  const OrSkip<PyValue> again =
      run_forward(api(), other, run_options(), SkipReason::kReferenceFailed);
  if (!again) return again;
  if (auto bad = look_at_repetition(*output, *again)) return std::unexpected(*bad);
  return output;
}

OrSkip<PyValue> Benchmark::run() {
  side_ = bench_side(call_.arguments.call, precision_, call_.with_grad);
  if (call_.reference != nullptr) return run_reference();
  const Api* own =
      call_.options.replay().bench_as_device ? nullptr : find_benchmark(call_.name.bare_name);
  return run_forward(own == nullptr ? call_.api : *own, side_, run_options(),
                     SkipReason::kBenchFailed);
}

// True: the benchmark is to run once more, in float32 now.
bool Benchmark::raised_instead(const Skip& failed) {
  const bool may_raise = call_.options.replay().bench_as_device && !precision_.raise;
  if (!may_raise || !lacks_half_kernel(failed)) return false;
  precision_.raise = true;
  precision_.target = at::kFloat;
  rounds_ = true;
  return true;
}

}  // namespace msprobe::execute
