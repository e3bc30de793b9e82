// SPDX-License-Identifier: Apache-2.0
#include "serve.h"

#include <optional>

#include <fmt/format.h>

#include "dump/dump_json.h"
#include "execute/caught.h"
#include "execute/replay_dialect.h"
#include "freed_memory.h"
#include "libtorch/device.h"
#include "libtorch/version.h"
#include "probe/run_operation.h"
#include "protocol/frames.h"
#include "replay/measure_outcome.h"
#include "replay/save_data.h"

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
  RunOptions options;
  std::optional<Directory> data;
  execute::ExecuteOptions execute;
  probe::AskSums device_sums;   // empty: no device to ask
  strict::CardArithmetic card;  // empty: there is no card
  bool on_cpu = false;          // the device side is the CPU, and no library changes what it gives
};

Result<void> start(const RunOptions& options, const ServeOptions& serve, Run& run) {
  run.options = options;
  if (!options.data_directory.empty()) {
    Result<Directory> data = Directory::open(options.data_directory);
    if (!data) return propagate(data);
    run.data = *std::move(data);
  }
  const execute::ReplayDialect* dialect = execute::find_dialect(options.dialect);
  if (dialect == nullptr) {
    return fail(ErrorKind::kUnsupported, fmt::format("unknown dialect {}", options.dialect));
  }
  if (serve.foreign != nullptr && dialect == &execute::pytorch_dialect()) {
    return fail(ErrorKind::kUsage, fmt::format("device {} is for MindSpore dumps, but this "
                                               "is a PyTorch dump; name another device with -d",
                                               serve.device_name));
  }
  Result<strict::CardArithmetic> card = strict::card_arithmetic(options.products);
  if (!card) return propagate(card);
  run.card = *std::move(card);
  execute::set_dialect(*dialect, run.execute);
  run.execute.arguments.seed = options.seed;
  run.execute.arguments.hf32 = options.hf32 && dialect->adjusts;
  run.execute.arguments.data = run.data ? &*run.data : nullptr;
  run.execute.arguments.moved = options.find_moved_files;
  run.execute.bench_as_device = options.bench_as_device;
  run.execute.bench_alone = options.bench_alone;
  run.execute.device = serve.device;
  run.execute.recorded = serve.recorded;
  run.execute.foreign = serve.foreign.get();
  run.execute.device_calls = libtorch::device_calls();
  if (!serve.recorded && serve.foreign == nullptr) {
    run.device_sums = probe::lazy_sums(serve.device);
    run.on_cpu =
        serve.device.is_cpu() && !options.bench_alone && !run.execute.device_calls.wanted();
  }
  return {};
}

// Outputs of a layout or type that cannot be read are as good as none.
MeasuredCall measured(const CallRequest& request, const dump::CallRecord& record, const Run& run,
                      execute::CallOutcome& outcome) {
  const OrSkip<MeasuredCall> call = execute::caught(SkipReason::kDeviceFailed, [&] {
    MeasuredCall found = replay::measure_outcome(request, outcome, run.options.arithmetic,
                                                 run.execute.dialect->like_mindspore);
    if (run.options.strict) {
      replay::mark_identical(found, outcome);
      const strict::StrictOptions allowed{run.options.allow_tf32, run.device_sums, run.on_cpu,
                                          run.card};
      replay::add_findings(strict::judge_call(record, run.execute, outcome, allowed), found);
    }
    return found;
  });
  return call ? *call : replay::skipped_call(request.full_name, call.error());
}

MeasuredCall check_call(const CallRequest& request, const Run& run) {
  const dump::CallSlice slice{request.full_name, request.forward_json, request.backward_json};
  const Result<dump::CallRecord> record = run.execute.dialect->parse(slice, run.options.dump_name);
  if (!record) {
    return replay::skipped_call(request.full_name,
                                {SkipReason::kBrokenRecord, record.error().message});
  }
  OrSkip<execute::CallOutcome> outcome = execute::execute_call(*record, run.execute);
  if (!outcome) return replay::skipped_call(request.full_name, outcome.error());
  if (!request.save_directory.empty()) {
    const Result<void> saved =
        run.options.save_npy
            ? replay::save_npy_data(request.save_directory, request.full_name, *outcome)
            : replay::save_data(request.save_directory, request.full_name, *outcome,
                                run.options.saved_device);
    if (!saved) outcome->note += saved.error().message;
  }
  return measured(request, *record, run, *outcome);
}

Result<void> operate(const Frame& frame, const ServeOptions& serve, int output) {
  const Result<protocol::OperationRequest> request = protocol::decode_operation_request(frame);
  if (!request) return propagate(request);
  const Result<Numbers> result =
      serve.recorded || serve.foreign != nullptr
          ? fail(ErrorKind::kUsage, fmt::format("device {} cannot be probed", serve.device_name))
          : probe::run_operation(serve.device, request->operation);
  const protocol::OperationResponse response{request->id, result ? "" : result.error().message,
                                             result ? *result : Numbers{}};
  return protocol::write_all(output, protocol::encode(response));
}

Result<void> answer(const Frame& frame, const ServeOptions& serve, Run& run, int output) {
  if (frame.kind == FrameKind::kRunOptions) {
    const Result<RunOptions> options = protocol::decode_run_options(frame);
    if (!options) return propagate(options);
    return start(*options, serve, run);
  }
  if (frame.kind == FrameKind::kOperationRequest) return operate(frame, serve, output);
  const Result<CallRequest> request = protocol::decode_call_request(frame);
  if (!request) return propagate(request);
  return protocol::write_all(
      output, protocol::encode(CallResponse{request->id, check_call(*request, run)}));
}

}  // namespace

Result<void> serve(int input, int output, const ServeOptions& options) {
  protocol::Hello hello;
  hello.torch_version = libtorch::version();
  hello.device = options.device_name;
  hello.devices = libtorch::available_devices();
  hello.devices.emplace_back("recorded");
  hello.jit_compile_has_effect = options.jit_compile_has_effect;
  if (Result<void> sent = protocol::write_all(output, protocol::encode(hello)); !sent) return sent;
  Run run;
  protocol::FrameReader reader;
  for (std::uint64_t answered = 0;;) {
    const Result<bool> more = reader.fill(input);
    if (!more) return propagate(more);
    if (!*more) return {};
    while (true) {
      const Result<std::optional<Frame>> frame = reader.next();
      if (!frame) return propagate(frame);
      if (!*frame) break;
      if (Result<void> done = answer(**frame, options, run, output); !done) return done;
      if (++answered % kAnswersBetween == 0) release_excess_memory();
    }
  }
}

}  // namespace msprobe::engine
