// SPDX-License-Identifier: Apache-2.0
#include "execute/execute_call.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/call_name.h"
#include "execute/api.h"
#include "execute/caught.h"
#include "execute/local_parts.h"
#include "execute/mutated.h"
#include "execute/npu/npu_operators.h"
#include "execute/other_side.h"
#include "execute/precision.h"
#include "execute/replay_dialect.h"
#include "execute/scaled_operators.h"
#include "execute/user_functions.h"
#include "ops/op.h"

namespace msprobe::execute {
namespace {

constexpr std::string_view kOutText =
    "function with out=... arguments don't support automatic differentiation, skip backward.";

constexpr std::string_view kRecordedDropout =
    "keep_prob is below 1: the recorded outputs hold a dropout that cannot be drawn again";

constexpr std::string_view kPartOnly =
    "a DTensor spans several devices: the recorded result depends on what the others hold";

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

PyValue first_of(const PyValue& output) {
  const auto* list = output.as<PyList>();
  return list == nullptr || list->empty() ? output : list->front();
}

// `call` with its arguments built and its precision chosen.
OrSkip<PreparedCall> prepared(PreparedCall call) {
  const ExecuteOptions& options = call.options;
  if (options.recorded && needs_other_parts(call.record, call.name)) {
    return skip(SkipReason::kNothingRecorded, std::string(kPartOnly));
  }
  OrSkip<arguments::Arguments> arguments =
      arguments::build_arguments(call.record, call.name.bare_name, options.arguments);
  if (!arguments) return std::unexpected(arguments.error());
  call.arguments = *std::move(arguments);
  call.note = npu::without_dropout(api_of(call.record.full_name), call.arguments.call);
  if (!call.note.empty() && options.recorded) {
    return skip(SkipReason::kNothingRecorded, std::string(kRecordedDropout));
  }
  call.precision = precision_of(call.arguments.call, call.record, call.name, options.replay().hf32);
  if (call.reference != nullptr) call.precision.target = at::kDouble;
  call.with_grad = call.record.backward && !has_out(call.record);
  return call;
}

// The functions of the user that stand for a side of this call.
struct Own {
  const Api* reference = nullptr;
  const Api* kernel = nullptr;
  const Api* device = nullptr;  // the kernel, or what a library registered
};

Own own_functions(const dump::CallRecord& record, const CallName& name,
                  const ExecuteOptions& options) {
  Own own;
  if (options.user == nullptr) return own;
  own.reference = options.user->reference(api_of(record.full_name));
  own.kernel = options.recorded ? nullptr : options.user->kernel(api_of(record.full_name));
  own.device = own.kernel;
  if (own.kernel == nullptr && own.reference != nullptr) {
    own.device = find_registered_api(name.type, name.bare_name);
  }
  return own;
}

// One call on its way: the benchmark first, since it works on copies, while the device may work on
// the arguments themselves.
class Execution {
 public:
  explicit Execution(PreparedCall call)
      : call_(std::move(call)), bench_(call_), other_(make_other_side(call_)) {}

  OrSkip<CallOutcome> run() {
    if (const auto failed = forward()) return std::unexpected(*failed);
    if (call_.record.backward && !call_.with_grad) {
      outcome_.backward_skip = Skip{SkipReason::kOutArgument, std::string(kOutText)};
    }
    if (call_.with_grad) {
      const auto failed = caught(SkipReason::kBenchFailed, [&] { return backward(); });
      drop_unwanted(outcome_.backward, /*backward=*/true);
      outcome_.backward_skip = failed ? *failed : std::optional(failed.error());
    }
    outcome_.arguments = std::move(call_.arguments);
    outcome_.note = std::move(call_.note);
    return std::move(outcome_);
  }

 private:
  std::optional<Skip> forward() {
    if (const auto failed = bench_.forward()) return failed;
    const PyList mutated = other_->sees_mutations()
                               ? mutated_arguments(bench_.side().call, call_.record.forward.mutated)
                               : PyList();
    if (call_.options.replay().bench_alone) {
      const PyValue shown = bench_.rounded(with_mutated(bench_.output(), mutated));
      outcome_.forward = pair_leaves(shown, shown);
      return std::nullopt;
    }
    OrSkip<DeviceResult> result = other_->forward(bench_.output());
    if (!result) return result.error();
    outcome_.forward_left_to_cpu = std::move(result->left_to_cpu);
    PyValue& other = result->output;
    npu::clear_undefined(api_of(call_.record.full_name), bench_.side().call, bench_.output(),
                         other);
    npu::drop_missing_gradients(api_of(call_.record.full_name), bench_.output(), other);
    PyValue shown = bench_.rounded(with_mutated(bench_.output(), mutated));
    clear_undefined_groups(call_.name.bare_name, call_.arguments.call, shown, other);
    if (const auto failed = compare_as_asked(shown, other)) return failed;
    const bool first_only = ops::traits_of(call_.name.bare_name).first_output_only;
    outcome_.forward =
        first_only ? pair_leaves(first_of(shown), first_of(other)) : pair_leaves(shown, other);
    drop_unwanted(outcome_.forward, /*backward=*/false);
    return std::nullopt;
  }

  // What the user says of the outputs of this API holds for both sides.
  std::optional<Skip> compare_as_asked(PyValue& bench, PyValue& other) const {
    const UserFunctions* const user = call_.options.user;
    if (user == nullptr) return std::nullopt;
    const auto done = caught(SkipReason::kReferenceFailed, [&] {
      const std::string_view api = api_of(call_.record.full_name);
      bench = user->compared(api, bench, call_.arguments.call);
      other = user->compared(api, other, call_.arguments.call);
      return true;
    });
    return done ? std::nullopt : std::optional(done.error());
  }

  std::optional<Skip> backward() {
    OrSkip<PyList> arriving = arguments::build_gradients(call_.record, call_.options.arguments);
    if (!arriving) return arriving.error();
    outcome_.arriving = *std::move(arriving);
    const OrSkip<BenchGradients> bench = bench_.backward(outcome_.arriving);
    if (!bench) return bench.error();
    if (call_.options.replay().bench_alone) {
      const std::vector<PyValue> gradients = bench_.rounded_gradients(*bench);
      outcome_.backward = pair_gradients(bench_.side().inputs, gradients, gradients);
      return std::nullopt;
    }
    OrSkip<GradientPairs> found = other_->backward(bench_, *bench, outcome_.arriving);
    if (!found) return found.error();
    outcome_.backward = std::move(found->pairs);
    clear_undefined_gradients(call_.name.bare_name, call_.arguments.call, outcome_.backward);
    outcome_.backward_note = std::move(found->note);
    outcome_.backward_node = std::move(found->node);
    outcome_.backward_left_to_cpu = std::move(found->left_to_cpu);
    return std::nullopt;
  }

  void drop_unwanted(std::vector<LeafPair>& pairs, bool backward) const {
    const auto keeps = call_.options.dialect->keeps;
    if (keeps == nullptr) return;
    std::erase_if(pairs, [&](const LeafPair& pair) { return !keeps(pair, backward); });
  }

  PreparedCall call_;
  Benchmark bench_;
  std::unique_ptr<OtherSide> other_;
  CallOutcome outcome_;
};

}  // namespace

OrSkip<CallOutcome> execute_call(const dump::CallRecord& record, const ExecuteOptions& options) {
  const auto recorded = parse_call_name(record.full_name);
  if (!recorded || recorded->type == "Distributed" || recorded->type == "MindSpeed") {
    return skip(SkipReason::kNotSupported,
                fmt::format("API {} not support for acc_check. SKIP.", record.full_name));
  }
  const Own own = own_functions(record, *recorded, options);
  const Api* api = options.dialect->find(recorded->type, recorded->bare_name);
  if (api == nullptr && own.reference != nullptr && own.device == nullptr && !options.recorded &&
      !options.replay().bench_alone) {
    return skip(
        SkipReason::kNotOnDevice,
        fmt::format("nothing computes {} on {}: name a kernel (--kernel), import its library "
                    "in the file of the reference, or compare what was recorded (-d recorded)",
                    api_of(record.full_name), options.device.str()));
  }
  if (api == nullptr) api = own.reference;
  if (api == nullptr) return unknown(record.full_name, *recorded);
  const CallName name = options.dialect->torch_name(*recorded);
  // Operators are watched one by one; this is for what lies between, such as copies that ask for
  // more memory than there is.
  OrSkip<OrSkip<CallOutcome>> outcome =
      caught(SkipReason::kBenchFailed, [&]() -> OrSkip<CallOutcome> {
        PreparedCall begun{record, name, *api, options};
        begun.reference = own.reference;
        begun.own_device = own.device;
        begun.has_kernel = own.kernel != nullptr;
        OrSkip<PreparedCall> call = prepared(std::move(begun));
        if (!call) return std::unexpected(call.error());
        return Execution(*std::move(call)).run();
      });
  return outcome ? *std::move(outcome) : std::unexpected(outcome.error());
}

}  // namespace msprobe::execute
