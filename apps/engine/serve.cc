// SPDX-License-Identifier: Apache-2.0
#include "serve.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "arguments/memory_need.h"
#include "cause/cause.h"
#include "codes/judge_codes.h"
#include "core/call_name.h"
#include "dump/dump_json.h"
#include "execute/caught.h"
#include "execute/replay_dialect.h"
#include "freed_memory.h"
#include "libtorch/device.h"
#include "libtorch/device_health.h"
#include "libtorch/version.h"
#include "memory_limit.h"
#include "probe/run_operation.h"
#include "protocol/frames.h"
#include "sim_device.h"
#include "strict/finding.h"
#include "worker/measure_outcome.h"
#include "worker/save_data.h"

namespace msprobe::engine {
namespace {

using protocol::CallRequest;
using protocol::CallResponse;
using protocol::Frame;
using protocol::FrameKind;
using protocol::MeasuredCall;
using protocol::RunOptions;

// Looking for free memory takes some microseconds.
constexpr std::uint64_t kAnswersBetween = 16;

// What is the same for every call of a run.
struct Run {
  measure::Arithmetic arithmetic = measure::Arithmetic::kDocumented;
  std::optional<Directory> data;
  execute::ExecuteOptions execute;
  probe::AskSums device_sums;   // empty: no device to ask
  strict::CardArithmetic card;  // empty: there is no card
  std::uint64_t memory = 0;     // that a call may take
  bool on_cpu = false;          // the device side is the CPU, and no library changes what it gives

  const ReplaySettings& replay() const { return execute.replay(); }
};

Result<void> start(const RunOptions& options, const ServeOptions& serve, Run& run) {
  const ReplaySettings& replay = options.replay;
  run.arithmetic = options.arithmetic;
  if (!replay.data_directory.empty()) {
    Result<Directory> data = Directory::open(replay.data_directory);
    if (!data) return propagate(data);
    run.data = *std::move(data);
  }
  const execute::ReplayDialect* dialect = execute::find_dialect(replay.dialect);
  if (dialect == nullptr) {
    return fail(ErrorKind::kUnsupported, fmt::format("unknown dialect {}", replay.dialect));
  }
  if (serve.foreign != nullptr && dialect == &execute::pytorch_dialect()) {
    return fail(ErrorKind::kUsage, fmt::format("device {} is for MindSpore dumps, but this "
                                               "is a PyTorch dump; name another device with -d",
                                               serve.device_name));
  }
  run.card = strict::card_arithmetic(options.products);
  run.memory = memory_of_a_call(replay.memory_bytes);
  limit_memory(run.memory);
  run.execute.arguments.replay = replay;
  run.execute.arguments.data = run.data ? &*run.data : nullptr;
  execute::set_dialect(*dialect, run.execute);
  run.execute.device = serve.device;
  run.execute.recorded = serve.recorded;
  run.execute.foreign = serve.foreign.get();
  run.execute.user = serve.user;
  run.execute.device_calls = libtorch::device_calls();
  if (!serve.recorded && serve.foreign == nullptr) {
    run.device_sums = probe::lazy_sums(serve.device);
    run.on_cpu = serve.device.is_cpu() && !replay.bench_alone && !run.execute.device_calls.wanted();
  }
  return {};
}

// Whether a function of the user's stands for a side of this call.
bool is_users(std::string_view full_name, const Run& run) {
  const execute::UserFunctions* const user = run.execute.user;
  return user != nullptr && (user->reference(api_of(full_name)) != nullptr ||
                             user->kernel(api_of(full_name)) != nullptr);
}

// Outputs of a layout or type that cannot be read are as good as none.
MeasuredCall measured(const CallRequest& request, const dump::CallRecord& record, const Run& run,
                      execute::CallOutcome& outcome) {
  const OrSkip<MeasuredCall> call = execute::caught(SkipReason::kDeviceFailed, [&] {
    MeasuredCall found = worker::measure_outcome(request, outcome, run.arithmetic,
                                                 run.execute.dialect->like_mindspore);
    if (run.replay().strict) {
      worker::mark_identical(found, outcome);
      // What a function of the user's gives is not the device's own.
      const bool own = is_users(record.full_name, run);
      const strict::StrictOptions allowed{.device_sums = own ? probe::AskSums() : run.device_sums,
                                          .device_is_cpu = run.on_cpu && !own,
                                          .card = run.card,
                                          .name_cause = &cause::name_cause,
                                          .judge_codes = &codes::judge_low_precision};
      worker::add_findings(strict::judge_call(record, run.execute, outcome, allowed), found);
    }
    return found;
  });
  return call ? *call : worker::skipped_call(request.full_name, call.error());
}

bool has_alarm(const std::vector<protocol::MeasuredLeaf>& leaves) {
  return std::ranges::any_of(leaves, [](const protocol::MeasuredLeaf& leaf) {
    return leaf.strict && strict::is_alarm(*leaf.strict);
  });
}

// Whether the operator that the call is named for is among those that the CPU ran, rather than one
// of several inside it: "aten::_linalg_eigh.eigenvalues" of Torch.linalg.eigh.
bool is_the_operator(const std::string& full_name, const std::vector<std::string>& operators) {
  const auto name = parse_call_name(full_name);
  std::string wanted(name ? name->bare_name : "");
  std::ranges::replace(wanted, '.', '_');
  const auto stem = [](std::string_view text) {
    text = text.substr(0, text.find('.'));
    if (const std::size_t colons = text.rfind(':'); colons != std::string_view::npos) {
      text.remove_prefix(colons + 1);
    }
    while (text.starts_with('_')) text.remove_prefix(1);
    while (text.ends_with('_')) text.remove_suffix(1);
    return text;
  };
  return std::ranges::any_of(operators,
                             [&](const std::string& each) { return stem(each) == stem(wanted); });
}

// Results that the CPU computed are not the device's. What is wrong all the same is reported: the
// device had a part in it.
void leave_out_the_cpus(MeasuredCall& call, const execute::CallOutcome& outcome) {
  const bool wrong = has_alarm(call.forward) || has_alarm(call.backward);
  if (!outcome.forward_left_to_cpu.empty() &&
      (!wrong || is_the_operator(call.full_name, outcome.forward_left_to_cpu))) {
    call = worker::skipped_call(
        call.full_name,
        {SkipReason::kNotOnDevice, execute::not_on_device_text(outcome.forward_left_to_cpu)});
  } else if (!outcome.backward_left_to_cpu.empty() && !has_alarm(call.backward)) {
    call.backward.clear();
    call.backward_skip =
        Skip{SkipReason::kNotOnDevice, execute::not_on_device_text(outcome.backward_left_to_cpu)};
  }
}

// Before anything is taken: the system would give it, and then stop whatever it likes.
std::optional<Skip> check_memory(const dump::CallRecord& record, const Run& run) {
  const double needed = arguments::least_bytes(record, !run.replay().bench_as_device);
  if (needed <= static_cast<double>(run.memory)) return std::nullopt;
  constexpr double kGigabyte = 1 << 30;
  return Skip{
      SkipReason::kOutOfMemory,
      fmt::format("its inputs and results take {:.3g} GB or more, {} {:.3g} GB", needed / kGigabyte,
                  run.replay().memory_bytes > 0 ? "--worker-memory allows" : "this machine has",
                  static_cast<double>(run.memory) / kGigabyte)};
}

MeasuredCall check_call(const CallRequest& request, const Run& run) {
  const dump::CallSlice slice{request.full_name, request.forward_json, request.backward_json};
  const Result<dump::CallRecord> record = run.execute.dialect->parse(slice, run.replay().dump_name);
  if (!record) {
    return worker::skipped_call(request.full_name,
                                {SkipReason::kBrokenRecord, record.error().message});
  }
  if (const auto too_large = check_memory(*record, run)) {
    return worker::skipped_call(request.full_name, *too_large);
  }
  OrSkip<execute::CallOutcome> outcome = execute::execute_call(*record, run.execute);
  if (!outcome) return worker::skipped_call(request.full_name, outcome.error());
  if (!request.save_directory.empty()) {
    const Result<void> saved =
        run.replay().save_npy
            ? worker::save_npy_data(request.save_directory, request.full_name, *outcome)
            : worker::save_data(request.save_directory, request.full_name, *outcome,
                                run.replay().saved_device);
    // Of a call that is run again for its data, nothing else counts.
    if (!saved) {
      return worker::skipped_call(request.full_name,
                                  {SkipReason::kBrokenData, saved.error().message});
    }
  }
  MeasuredCall call = measured(request, *record, run, *outcome);
  leave_out_the_cpus(call, *outcome);
  return call;
}

// Whether the device can be trusted with further calls. After some errors it fails everything, or
// does nothing and says nothing; and an error of the device itself may leave more behind than can
// be seen.
bool is_device_good(const MeasuredCall& call, at::Device device) {
  bool failed = false;
  for (const std::optional<Skip>& skip : {call.skip, call.backward_skip}) {
    if (!skip) continue;
    if (libtorch::is_device_error(skip->text)) return false;
    failed = failed || skip->reason == SkipReason::kDeviceFailed ||
             skip->reason == SkipReason::kOutOfMemory;
  }
  for (const auto* leaves : {&call.forward, &call.backward}) {
    for (const protocol::MeasuredLeaf& leaf : *leaves) {
      failed = failed || (leaf.strict && leaf.strict->status == Verdict::kSkip);
    }
  }
  return !failed || libtorch::still_computes(device);
}

// Whether an error may have cost the engine its device. The simulated one keeps a log of all that
// it is asked, and does not fail so.
bool may_be_gone(const ServeOptions& serve) {
  return !serve.recorded && serve.foreign == nullptr && !serve.device.is_cpu() &&
         !is_sim(serve.device_name);
}

// Whether the engine goes on.
Result<bool> operate(const Frame& frame, const ServeOptions& serve, int output) {
  const Result<protocol::OperationRequest> request = protocol::decode_operation_request(frame);
  if (!request) return propagate(request);
  const Result<Numbers> result =
      serve.recorded || serve.foreign != nullptr
          ? fail(ErrorKind::kUsage, fmt::format("device {} cannot be probed", serve.device_name))
          : probe::run_operation(serve.device, request->operation);
  const protocol::OperationResponse response{request->id, result ? "" : result.error().message,
                                             result ? *result : Numbers{}};
  const Result<void> sent = protocol::write_all(output, protocol::encode(response));
  if (!sent) return propagate(sent);
  return result || !may_be_gone(serve) || libtorch::still_computes(serve.device);
}

// A call with so many outputs that no answer has room for them.
Result<void> send(int output, const CallResponse& response) {
  std::string frame = protocol::encode(response);
  if (frame.size() > protocol::most_bytes(FrameKind::kCallResponse)) {
    const Skip too_many{SkipReason::kOutOfMemory,
                        fmt::format("{} outputs and gradients are more than an engine's answer "
                                    "holds",
                                    response.call.forward.size() + response.call.backward.size())};
    frame = protocol::encode(
        CallResponse{response.id, worker::skipped_call(response.call.full_name, too_many)});
  }
  return protocol::write_all(output, frame);
}

// Whether the engine goes on.
Result<bool> answer(const Frame& frame, const ServeOptions& serve, Run& run, int output) {
  if (frame.kind == FrameKind::kRunOptions) {
    const Result<RunOptions> options = protocol::decode_run_options(frame);
    if (!options) return propagate(options);
    if (const Result<void> started = start(*options, serve, run); !started)
      return propagate(started);
    return true;
  }
  if (frame.kind == FrameKind::kOperationRequest) return operate(frame, serve, output);
  const Result<CallRequest> request = protocol::decode_call_request(frame);
  if (!request) return propagate(request);
  const CallResponse response{request->id, check_call(*request, run)};
  const Result<void> sent = send(output, response);
  if (!sent) return propagate(sent);
  return !may_be_gone(serve) || is_device_good(response.call, serve.device);
}

}  // namespace

Result<Served> serve(int input, int output, const ServeOptions& options) {
  protocol::Hello hello;
  hello.torch_version = libtorch::version();
  hello.device = options.device_name;
  hello.devices = libtorch::available_devices();
  hello.devices.emplace_back("recorded");
  hello.jit_compile_has_effect = options.jit_compile_has_effect;
  hello.kernels = options.kernels;
  if (Result<void> sent = protocol::write_all(output, protocol::encode(hello)); !sent) {
    return propagate(sent);
  }
  Run run;
  protocol::FrameReader reader(protocol::Sender::kMsprobe);
  for (std::uint64_t answered = 0;;) {
    const Result<bool> more = reader.fill(input);
    if (!more) return propagate(more);
    if (!*more) return Served::kAll;
    while (true) {
      const Result<std::optional<Frame>> frame = reader.next();
      if (!frame) return propagate(frame);
      if (!*frame) break;
      const Result<bool> goes_on = answer(**frame, options, run, output);
      if (!goes_on) return propagate(goes_on);
      if (!*goes_on) return Served::kDeviceGone;
      if (++answered % kAnswersBetween == 0) release_excess_memory();
    }
  }
}

}  // namespace msprobe::engine
