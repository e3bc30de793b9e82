// SPDX-License-Identifier: Apache-2.0
#include "execute/other_side.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "arguments/packed_sequence.h"
#include "execute/caught.h"
#include "execute/foreign_device.h"
#include "execute/mutated.h"
#include "execute/replay_dialect.h"
#include "execute/value_tree.h"
#include "libtorch/autograd.h"
#include "libtorch/left_to_cpu.h"

namespace msprobe::execute {
namespace {

// A call that raised, or that a recomputed checkpoint broke off; or data_mode left them out.
constexpr std::string_view kNoOutput = "the dump has no outputs of this call";

// A device that computed from float8 returns float32 where it means float16, as was recorded.
PyValue narrowed(const dump::CallRecord& record, const PyValue& output) {
  const auto* tensor = output.as<at::Tensor>();
  if (tensor == nullptr || tensor->scalar_type() != at::kFloat) return output;
  const auto& recorded = record.forward.output;
  const auto* first = recorded.empty() ? nullptr : recorded.front().as<dump::TensorRecord>();
  if (first == nullptr || first->dtype != DType::kFloat16) return output;
  return {tensor->to(at::kHalf)};
}

// A product with scales that PyTorch's CPU has no kernel for.
bool lacks_recipe(const Skip& failed) {
  constexpr std::string_view kTexts[] = {"Invalid scaling configuration",
                                         "CPU does not support swizzle",
                                         "Could not run 'aten::_scaled_grouped_mm"};
  return std::ranges::any_of(
      kTexts, [&](std::string_view text) { return failed.text.find(text) != std::string::npos; });
}

// What the device's library makes of what the device gave.
PyValue seen_by_library(const libtorch::DeviceCalls& calls, const PyValue& output) {
  std::vector<at::Tensor> leaves;
  for_each_leaf(output, [&](const PyValue& leaf) {
    const auto* tensor = leaf.as<at::Tensor>();
    leaves.push_back(tensor == nullptr ? at::Tensor() : *tensor);
  });
  calls.end(&leaves, /*backward=*/false);
  std::size_t next = 0;
  return map_leaves(output, [&](const PyValue& leaf) -> PyValue {
    const at::Tensor& seen = leaves[next++];
    if (leaf.as<at::Tensor>() == nullptr) return leaf;
    return seen.defined() ? PyValue{seen} : PyValue{dump::None{}};
  });
}

// A copy may be the first to see what went wrong on the device: that is no fault of the benchmark.
at::Tensor on_host(const at::Tensor& tensor) {
  if (!tensor.defined() || tensor.is_cpu()) return tensor;
  const libtorch::BelowAutograd below;
  return tensor.detach().to(at::kCPU);
}

PyValue on_host(const PyValue& output) {
  return map_leaves(output, [](const PyValue& leaf) -> PyValue {
    const auto* tensor = leaf.as<at::Tensor>();
    return tensor == nullptr ? leaf : PyValue{on_host(*tensor)};
  });
}

// The device of a call, and what its back end leaves to the CPU while `run` lasts.
class LibtorchDevice : public OtherSide {
 public:
  explicit LibtorchDevice(const PreparedCall& call) : call_(call) {}

  OrSkip<DeviceResult> forward(const PyValue&) override {
    if (const auto failed = begin(/*backward=*/false)) return std::unexpected(*failed);
    const auto moved = caught(SkipReason::kDeviceFailed, [&] {
      side_ = device_side(call_.arguments.call, call_.options.device, call_.with_grad);
      if (arguments::second_stays_on_cpu(call_.name.bare_name, call_.arguments.call)) {
        side_.call.args[1] = call_.arguments.call.args[1];
      }
      return true;
    });
    if (!moved) return std::unexpected(moved.error());
    DeviceResult result;
    OrSkip<PyValue> output = watched(result.left_to_cpu, [&] { return run(); });
    if (!output) return std::unexpected(output.error());
    OrSkip<PyValue> seen = caught(SkipReason::kDeviceFailed, [&] {
      output_ = call_.arguments.float8_input ? narrowed(call_.record, *output) : *std::move(output);
      const PyList mutated = mutated_arguments(side_.call, call_.record.forward.mutated);
      const PyValue all = with_mutated(output_, mutated);
      return on_host(library().wanted() ? seen_by_library(library(), all) : all);
    });
    if (!seen) return std::unexpected(seen.error());
    result.output = *std::move(seen);
    return result;
  }

  OrSkip<GradientPairs> backward(const Benchmark& bench, const BenchGradients& gradients,
                                 const PyList& arriving) override {
    if (const auto failed = begin(/*backward=*/true)) return std::unexpected(*failed);
    std::vector<std::string> left;
    auto device = watched(
        left, [&] { return run_backward(side_, output_, arriving, SkipReason::kDeviceFailed); });
    if (!device && call_.has_kernel && device.error().reason == SkipReason::kBind) {
      return skip(SkipReason::kNotSupported,
                  "the kernel has no backward pass: give it one (backward=, or "
                  "torch.autograd.Function), or check the forward pass alone");
    }
    if (!device) return std::unexpected(device.error());
    const auto seen = caught(SkipReason::kDeviceFailed, [&] {
      if (library().wanted()) library().end(&*device, /*backward=*/true);
      for (at::Tensor& gradient : *device) gradient = on_host(gradient);
      return true;
    });
    if (!seen) return std::unexpected(seen.error());
    GradientPairs found{pair_gradients(bench.side().inputs, bench.rounded_gradients(gradients),
                                       as_values(*device))};
    found.left_to_cpu = std::move(left);
    return found;
  }

 private:
  const libtorch::DeviceCalls& library() const { return call_.options.device_calls; }

  // Says to the device's library that one direction of this call begins.
  std::optional<Skip> begin(bool backward) {
    if (!library().wanted()) return std::nullopt;
    const auto begun = caught(SkipReason::kDeviceFailed, [&] {
      library().begin(call_.record.full_name.c_str(), backward);
      return true;
    });
    return begun ? std::nullopt : std::optional(begun.error());
  }

  // What `run` gives, and what was left to the CPU meanwhile; an error says so too.
  template <class Run>
  auto watched(std::vector<std::string>& left, const Run& run) -> decltype(run()) {
    if (call_.options.device.is_cpu()) {
      auto result = run();
      if (result || !lacks_recipe(result.error())) return result;
      return skip(SkipReason::kNotOnDevice,
                  "not on the device: PyTorch's CPU multiplies codes with scales of tensors and "
                  "rows only");
    }
    if (library().own_fallback) return run();
    const libtorch::LeftToCpu watch(call_.options.device);
    auto result = run();
    left = watch.operators();
    if (!result && result.error().reason == SkipReason::kDeviceFailed) {
      if (!left.empty()) return skip(SkipReason::kNotOnDevice, not_on_device_text(left));
      if (libtorch::refused_the_cpu(result.error().text)) {
        return skip(SkipReason::kNotOnDevice, "not on the device: " + result.error().text);
      }
    }
    return result;
  }

  OrSkip<PyValue> run() {
    const at::Device device = call_.options.device;
    if (call_.own_device != nullptr) return run_own(device);
    const bool own_names = !call_.options.dialect->like_mindspore;
    const Api* own =
        own_names ? find_device_api(call_.name.type, call_.name.bare_name, device) : nullptr;
    const SideOptions options{call_.options.replay().seed, call_.precision.autocast, device};
    return run_forward(own == nullptr ? call_.api : *own, side_, options,
                       SkipReason::kDeviceFailed);
  }

  // A kernel sees what autocast would have made of its arguments.
  OrSkip<PyValue> run_own(at::Device device) {
    if (call_.precision.round_inputs) side_.call.autocast = call_.precision.autocast;
    const SideOptions options{call_.options.replay().seed, {}, device};
    return run_forward(*call_.own_device, side_, options, SkipReason::kDeviceFailed);
  }

  const PreparedCall& call_;
  CallSide side_;
  PyValue output_;
};

class OtherFramework : public OtherSide {
 public:
  explicit OtherFramework(const PreparedCall& call) : call_(call) {}

  bool sees_mutations() const override { return false; }

  OrSkip<DeviceResult> forward(const PyValue&) override {
    OrSkip<PyValue> output = call_.options.foreign->forward(call_.record, call_.arguments.call);
    if (!output) return std::unexpected(output.error());
    return DeviceResult{*std::move(output)};
  }

  OrSkip<GradientPairs> backward(const Benchmark& bench, const BenchGradients& gradients,
                                 const PyList& arriving) override {
    const std::size_t wanted = gradients.of_inputs.size();
    const OrSkip<PyList> device =
        call_.options.foreign->backward(call_.record, call_.arguments.call, arriving);
    if (!device) return std::unexpected(device.error());
    if (device->size() != wanted) {
      return skip(SkipReason::kDeviceFailed,
                  fmt::format("the device returned {} gradients, not {}", device->size(), wanted));
    }
    return GradientPairs{
        pair_gradients(bench.side().inputs, as_values(gradients.of_inputs), *device)};
  }

 private:
  const PreparedCall& call_;
};

// torch._foreach_add_(tensors, 1) returns `tensors`. Where that was a list it is recorded as one
// result, as the benchmark returns it; where it was a tuple, as several.
bool is_changed_tuple(const PyValue& bench, const PyList& recorded) {
  const auto* results = bench.as<PyList>();
  if (results == nullptr || results->size() != 1 || recorded.empty()) return false;
  const auto* changed = results->front().as<PyList>();
  return changed != nullptr && changed->size() == recorded.size() &&
         recorded.front().as<PyList>() == nullptr;
}

// A list that an operator returns (npu_grouped_matmul) is recorded as one result.
bool is_list_as_one(const PyValue& bench, const PyList& recorded) {
  const auto* results = bench.as<PyList>();
  const bool nested =
      results != nullptr && !results->empty() && results->front().as<PyList>() != nullptr;
  return results != nullptr && !nested && recorded.size() == 1 &&
         recorded.front().as<PyList>() != nullptr;
}

class Recording : public OtherSide {
 public:
  explicit Recording(const PreparedCall& call) : call_(call) {}

  OrSkip<DeviceResult> forward(const PyValue& bench) override {
    OrSkip<PyValue> output = stored_output(bench);
    const dump::Dict& mutated = call_.record.forward.mutated;
    if (!output) return std::unexpected(output.error());
    if (mutated.empty()) return DeviceResult{*std::move(output)};
    const OrSkip<PyList> changed = stored(recorded_mutations(mutated));
    if (!changed) return std::unexpected(changed.error());
    return DeviceResult{with_mutated(*output, *changed)};
  }

  OrSkip<GradientPairs> backward(const Benchmark& bench, const BenchGradients& gradients,
                                 const PyList& arriving) override {
    const OrSkip<PyList> recorded = stored(call_.record.backward->output);
    if (!recorded) return std::unexpected(recorded.error());
    OrSkip<RecordedGradients> device = call_.options.dialect->match_gradients(
        bench.side().inputs, gradients, *recorded,
        [&](Layout layout) { return bench.in_layout(layout, arriving); });
    if (!device) return std::unexpected(device.error());
    if (device->node.empty()) {
      return GradientPairs{
          pair_gradients(bench.side().inputs, as_values(gradients.of_inputs), device->values),
          device->note};
    }
    return GradientPairs{pair_leaves({as_values(device->node)}, {device->values}), device->note,
                         device->place};
  }

 private:
  OrSkip<PyList> stored(const dump::List& values) const {
    return arguments::stored_values(values, call_.options.arguments);
  }

  // Python's None, a value, or a tensor alone is recorded as a list of one.
  OrSkip<PyValue> stored_output(const PyValue& bench) const {
    OrSkip<PyList> values = stored(call_.record.forward.output);
    if (!values) return std::unexpected(values.error());
    const auto* several = bench.as<PyList>();
    if (values->empty() && (several == nullptr || !several->empty())) {
      return skip(SkipReason::kNothingRecorded, std::string(kNoOutput));
    }
    if (several == nullptr && values->size() == 1) return values->front();
    if (is_list_as_one(bench, *values)) return values->front();
    if (is_changed_tuple(bench, *values)) return PyValue{PyList{{*std::move(values)}}};
    return PyValue{*std::move(values)};
  }

  const PreparedCall& call_;
};

}  // namespace

std::unique_ptr<OtherSide> make_other_side(const PreparedCall& call) {
  if (call.options.recorded) return std::make_unique<Recording>(call);
  if (call.options.foreign != nullptr) return std::make_unique<OtherFramework>(call);
  return std::make_unique<LibtorchDevice>(call);
}

std::string not_on_device_text(const std::vector<std::string>& operators) {
  return fmt::format("not on the device: its back end leaves {} to the CPU",
                     fmt::join(operators, ", "));
}

std::vector<LeafPair> pair_gradients(const std::vector<Input>& inputs,
                                     const std::vector<PyValue>& bench,
                                     const std::vector<PyValue>& device) {
  std::vector<LeafPair> pairs;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    pairs.push_back(
        {fmt::format("{}", i), LeafPair::State::kBoth, bench[i], device[i], inputs[i].of_keyword});
  }
  // A keyword tensor that is not differentiated for says nothing.
  std::erase_if(pairs,
                [](const LeafPair& pair) { return pair.of_keyword && pair.bench.is_none(); });
  return pairs;
}

}  // namespace msprobe::execute
