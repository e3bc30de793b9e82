// SPDX-License-Identifier: Apache-2.0
#include "execute/execute_call.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/call_name.h"
#include "execute/api.h"
#include "execute/caught.h"
#include "execute/foreign_device.h"
#include "execute/mutated.h"
#include "execute/npu/npu_operators.h"
#include "execute/precision.h"
#include "execute/recorded_gradients.h"
#include "execute/replay_dialect.h"
#include "execute/side.h"
#include "execute/value_tree.h"
#include "ops/op.h"

namespace msprobe::execute {
namespace {

using arguments::Arguments;

constexpr std::string_view kOutText =
    "function with out=... arguments don't support automatic differentiation, skip backward.";

constexpr std::string_view kRecordedDropout =
    "keep_prob is below 1: the recorded outputs hold a dropout that cannot be drawn again";

// A call that raised, or that a recomputed checkpoint broke off; or data_mode left them out.
constexpr std::string_view kNoOutput = "the dump holds no outputs of this call";

constexpr std::string_view kPartOnly =
    "a DTensor spans several devices: the recorded result depends on what the others hold";

bool is_part(const dump::Value& value) {
  if (const auto* tensor = value.as<dump::TensorRecord>()) return !tensor->is_whole;
  const auto* list = value.as<dump::List>();
  return list != nullptr && std::ranges::any_of(*list, &is_part);
}

bool has_parts(const dump::ForwardRecord& call) {
  return std::ranges::any_of(call.input_args, &is_part) ||
         std::ranges::any_of(call.output, &is_part) ||
         std::ranges::any_of(call.input_kwargs,
                             [](const dump::DictItem& item) { return is_part(item.second); });
}

bool has_out(const dump::CallRecord& record) {
  return std::ranges::any_of(record.forward.input_kwargs,
                             [](const auto& item) { return item.first == "out"; });
}

std::unexpected<Skip> unknown(std::string_view full_name, const CallName& name) {
  if (name.type == "NPU") {
    return skip(SkipReason::kNoBench,
                fmt::format("There is not bench function {}", name.bare_name));
  }
  if (name.type == "Custom") {
    return skip(
        SkipReason::kNoBench,
        fmt::format("{} is a custom operator: there is no benchmark for it", name.bare_name));
  }
  return skip(SkipReason::kUnknownApi,
              fmt::format("the linked PyTorch has no API {}", api_of(full_name)));
}

// A device that computed from float8 hands out float32 where it means float16.
PyValue narrowed(const PyValue& output) {
  const auto* tensor = output.as<at::Tensor>();
  if (tensor == nullptr || tensor->scalar_type() != at::kFloat) return output;
  return {tensor->to(at::kHalf)};
}

PyValue first_of(const PyValue& output) {
  const auto* list = output.as<PyList>();
  return list == nullptr || list->empty() ? output : list->front();
}

// The gradients of one side as values: None where an input has none.
std::vector<PyValue> as_values(const std::vector<at::Tensor>& gradients) {
  std::vector<PyValue> values;
  values.reserve(gradients.size());
  for (const at::Tensor& gradient : gradients) {
    values.push_back(gradient.defined() ? PyValue{gradient} : PyValue{dump::None{}});
  }
  return values;
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

// One call on its way. Members are filled step by step; the first that fails ends it.
class Execution {
 public:
  Execution(const dump::CallRecord& record, const CallName& name, const Api& api,
            const ExecuteOptions& options)
      : record_(record), name_(name), api_(api), options_(options) {}

  OrSkip<CallOutcome> run() {
    if (options_.recorded && has_parts(record_.forward)) {
      return skip(SkipReason::kNothingRecorded, std::string(kPartOnly));
    }
    OrSkip<Arguments> arguments =
        arguments::build_arguments(record_, name_.bare_name, options_.arguments);
    if (!arguments) return std::unexpected(arguments.error());
    outcome_.arguments = *std::move(arguments);
    outcome_.note = npu::without_dropout(api_of(record_.full_name), outcome_.arguments.call);
    if (!outcome_.note.empty() && options_.recorded) {
      return skip(SkipReason::kNothingRecorded, std::string(kRecordedDropout));
    }
    precision_ = precision_of(outcome_.arguments.call, record_, name_, options_.arguments.hf32);
    precision_.raise = precision_.raise && options_.raise && !options_.bench_as_device;
    with_grad_ = wants_backward();
    if (const auto failed = forward()) return std::unexpected(*failed);
    if (with_grad_) {
      const auto failed = caught(SkipReason::kBenchFailed, [&] { return backward(); });
      drop_unwanted(outcome_.backward, /*backward=*/true);
      outcome_.backward_skip = failed ? *failed : std::optional(failed.error());
    }
    return std::move(outcome_);
  }

 private:
  bool wants_backward() {
    if (!record_.backward) return false;
    if (!has_out(record_)) return true;
    outcome_.backward_skip = Skip{SkipReason::kOutArgument, std::string(kOutText)};
    return false;
  }

  SideOptions run_options(bool on_device) const {
    SideOptions run{options_.arguments.seed, {}, at::kCPU};
    const bool as_device = options_.bench_as_device && !precision_.raise;
    if (on_device || as_device) run.autocast = precision_.autocast;
    if (on_device) run.device = options_.device;
    return run;
  }

  OrSkip<PyValue> bench_output() {
    const auto run = [&] {
      bench_ = bench_side(outcome_.arguments.call, precision_, with_grad_);
      return run_forward(api_, bench_, run_options(false), SkipReason::kBenchFailed);
    };
    OrSkip<PyValue> output = run();
    return !output && raised_instead(output.error()) ? run() : output;
  }

  // True: the benchmark is to run once more, in float32 now.
  bool raised_instead(const Skip& failed) {
    if (!options_.bench_as_device || precision_.raise || !lacks_half_kernel(failed)) return false;
    precision_.raise = true;
    precision_.target = at::kFloat;
    rounds_ = true;
    return true;
  }

  // What the CPU would have given in the half type.
  PyValue rounded(const PyValue& output) const {
    if (!rounds_ || !precision_.half) return output;
    return map_leaves(output,
                      [&](const PyValue& leaf) { return rounded_to(*precision_.half, leaf); });
  }

  // Each gradient has the dtype of its input.
  std::vector<PyValue> rounded_gradients(std::vector<PyValue> gradients) const {
    if (!rounds_) return gradients;
    std::size_t next = 0;
    const auto round = [&](const at::Tensor& input) {
      if (next >= gradients.size()) return;
      gradients[next] = rounded_to(input.scalar_type(), gradients[next]);
      ++next;
    };
    for (const PyValue& value : outcome_.arguments.call.args) for_each_tensor(value, round);
    for (const auto& [name, value] : outcome_.arguments.call.kwargs) for_each_tensor(value, round);
    return gradients;
  }

  std::optional<Skip> forward() {
    // The benchmark first: it works on copies, the device may work on the arguments themselves.
    OrSkip<PyValue> bench = bench_output();
    if (!bench) return bench.error();
    bench_output_ = *std::move(bench);
    const bool sees_mutations = options_.foreign == nullptr;
    const PyList mutated =
        sees_mutations ? mutated_arguments(bench_.call, record_.forward.mutated) : PyList();
    if (options_.bench_alone) {
      const PyValue shown = rounded(with_mutated(bench_output_, mutated));
      outcome_.forward = pair_leaves(shown, shown);
      return std::nullopt;
    }
    OrSkip<PyValue> device = options_.recorded             ? recorded_output()
                             : options_.foreign != nullptr ? foreign_output()
                                                           : device_output();
    if (!device) return device.error();
    device_output_ = *std::move(device);
    OrSkip<PyValue> seen = sees_mutations ? with_device_mutations() : device_output_;
    if (seen && calls_wanted()) {
      seen = caught(SkipReason::kDeviceFailed,
                    [&] { return seen_by_library(options_.device_calls, *seen); });
    }
    if (!seen) return seen.error();
    npu::drop_missing_gradients(api_of(record_.full_name), bench_output_, *seen);
    const bool first_only = ops::traits_of(name_.bare_name).first_output_only;
    const PyValue shown = rounded(with_mutated(bench_output_, mutated));
    outcome_.forward =
        first_only ? pair_leaves(first_of(shown), first_of(*seen)) : pair_leaves(shown, *seen);
    drop_unwanted(outcome_.forward, /*backward=*/false);
    return std::nullopt;
  }

  void drop_unwanted(std::vector<LeafPair>& pairs, bool backward) const {
    if (options_.dialect->keeps == nullptr) return;
    std::erase_if(pairs,
                  [&](const LeafPair& pair) { return !options_.dialect->keeps(pair, backward); });
  }

  bool calls_wanted() const {
    return !options_.recorded && options_.foreign == nullptr && options_.device_calls.wanted();
  }

  OrSkip<PyValue> foreign_output() {
    return options_.foreign->forward(record_, outcome_.arguments.call);
  }

  // Says to the device's library that one direction of this call begins.
  std::optional<Skip> begin_on_device(bool backward) {
    if (!calls_wanted()) return std::nullopt;
    const auto begun = caught(SkipReason::kDeviceFailed, [&] {
      options_.device_calls.begin(record_.full_name.c_str(), backward);
      return true;
    });
    return begun ? std::nullopt : std::optional(begun.error());
  }

  OrSkip<PyValue> device_output() {
    if (const auto failed = begin_on_device(/*backward=*/false)) return std::unexpected(*failed);
    device_ = device_side(outcome_.arguments.call, options_.device, with_grad_);
    const bool own_names = !options_.dialect->like_mindspore;
    const Api* own =
        own_names ? find_device_api(name_.type, name_.bare_name, options_.device) : nullptr;
    OrSkip<PyValue> output = run_forward(own == nullptr ? api_ : *own, device_, run_options(true),
                                         SkipReason::kDeviceFailed);
    if (output && outcome_.arguments.float8_input) return narrowed(*output);
    return output;
  }

  // Python's None, a value, or a tensor alone is recorded as a list of one.
  OrSkip<PyValue> recorded_output() {
    OrSkip<PyList> values = arguments::stored_values(record_.forward.output, options_.arguments);
    if (!values) return std::unexpected(values.error());
    const auto* several = bench_output_.as<PyList>();
    if (values->empty() && (several == nullptr || !several->empty())) {
      return skip(SkipReason::kNothingRecorded, std::string(kNoOutput));
    }
    if (several == nullptr && values->size() == 1) return values->front();
    return PyValue{*std::move(values)};
  }

  OrSkip<PyValue> with_device_mutations() {
    const dump::Dict& mutated = record_.forward.mutated;
    if (mutated.empty()) return device_output_;
    if (!options_.recorded) {
      return with_mutated(device_output_, mutated_arguments(device_.call, mutated));
    }
    const OrSkip<PyList> stored =
        arguments::stored_values(recorded_mutations(mutated), options_.arguments);
    if (!stored) return std::unexpected(stored.error());
    return with_mutated(device_output_, *stored);
  }

  std::optional<Skip> backward() {
    OrSkip<PyList> arriving = arguments::build_gradients(record_, options_.arguments);
    if (!arriving) return arriving.error();
    outcome_.arriving = *std::move(arriving);
    libtorch::LastNode last;
    auto bench = run_backward(bench_, bench_output_, outcome_.arriving, SkipReason::kBenchFailed,
                              options_.recorded ? &last : nullptr);
    if (!bench && raised_instead(bench.error())) {
      OrSkip<PyValue> again = bench_output();
      if (!again) return again.error();
      bench_output_ = *std::move(again);
      bench = run_backward(bench_, bench_output_, outcome_.arriving, SkipReason::kBenchFailed);
    }
    if (!bench) return bench.error();
    if (options_.bench_alone) {
      const std::vector<PyValue> gradients = rounded_gradients(as_values(*bench));
      outcome_.backward = pair_gradients(bench_.inputs, gradients, gradients);
      return std::nullopt;
    }
    if (options_.foreign != nullptr) return pair_with_foreign(*bench);
    return options_.recorded ? pair_with_recorded({*std::move(bench), std::move(last)})
                             : pair_with_device(*bench);
  }

  std::optional<Skip> pair_with_device(const std::vector<at::Tensor>& bench) {
    if (const auto failed = begin_on_device(/*backward=*/true)) return failed;
    auto device =
        run_backward(device_, device_output_, outcome_.arriving, SkipReason::kDeviceFailed);
    if (!device) return device.error();
    if (calls_wanted()) options_.device_calls.end(&*device, /*backward=*/true);
    outcome_.backward =
        pair_gradients(bench_.inputs, rounded_gradients(as_values(bench)), as_values(*device));
    return std::nullopt;
  }

  std::optional<Skip> pair_with_foreign(const std::vector<at::Tensor>& bench) {
    const OrSkip<PyList> device =
        options_.foreign->backward(record_, outcome_.arguments.call, outcome_.arriving);
    if (!device) return device.error();
    if (device->size() != bench.size()) {
      return Skip{SkipReason::kDeviceFailed, fmt::format("the device gave {} gradients, not {}",
                                                         device->size(), bench.size())};
    }
    outcome_.backward = pair_gradients(bench_.inputs, as_values(bench), *device);
    return std::nullopt;
  }

  // The gradients of the benchmark once more, from arguments that lie otherwise in memory.
  OrSkip<BenchGradients> in_layout(Layout layout) {
    const CallSide side = bench_side(
        outcome_.arguments.call, precision_, /*with_grad=*/true,
        [&](const at::Tensor& tensor, at::ScalarType) { return laid_out(tensor, layout); });
    const OrSkip<PyValue> output =
        run_forward(api_, side, run_options(false), SkipReason::kBenchFailed);
    if (!output) return std::unexpected(output.error());
    BenchGradients found;
    auto gradients =
        run_backward(side, *output, outcome_.arriving, SkipReason::kBenchFailed, &found.last);
    if (!gradients) return std::unexpected(gradients.error());
    found.of_inputs = *std::move(gradients);
    return found;
  }

  std::optional<Skip> pair_with_recorded(const BenchGradients& bench) {
    OrSkip<PyList> stored = arguments::stored_values(record_.backward->output, options_.arguments);
    if (!stored) return stored.error();
    OrSkip<RecordedGradients> device = options_.dialect->match_gradients(
        bench_.inputs, bench, *stored, [&](Layout layout) { return in_layout(layout); });
    if (!device) return device.error();
    outcome_.backward_note = device->note;
    if (device->node.empty()) {
      outcome_.backward = pair_gradients(bench_.inputs, as_values(bench.of_inputs), device->values);
    } else {
      outcome_.backward_node = device->place;
      outcome_.backward = pair_leaves({as_values(device->node)}, {device->values});
    }
    return std::nullopt;
  }

  const dump::CallRecord& record_;
  const CallName& name_;
  const Api& api_;
  const ExecuteOptions& options_;
  Precision precision_;
  bool with_grad_ = false;
  bool rounds_ = false;  // the benchmark computes in float32 for lack of a half kernel
  CallSide bench_, device_;
  PyValue bench_output_, device_output_;
  CallOutcome outcome_;
};

}  // namespace

OrSkip<CallOutcome> execute_call(const dump::CallRecord& record, const ExecuteOptions& options) {
  const auto recorded = parse_call_name(record.full_name);
  if (!recorded || recorded->type == "Distributed" || recorded->type == "MindSpeed") {
    return skip(SkipReason::kNotSupported,
                fmt::format("API {} not support for acc_check. SKIP.", record.full_name));
  }
  const Api* api = options.dialect->find(recorded->type, recorded->bare_name);
  if (api == nullptr) return unknown(record.full_name, *recorded);
  const CallName name = options.dialect->torch_name(*recorded);
  // Operators are watched one by one; this is for what lies between, such as copies that ask for
  // more memory than there is.
  OrSkip<OrSkip<CallOutcome>> outcome = caught(
      SkipReason::kBenchFailed, [&] { return Execution(record, name, *api, options).run(); });
  return outcome ? *std::move(outcome) : std::unexpected(outcome.error());
}

}  // namespace msprobe::execute
