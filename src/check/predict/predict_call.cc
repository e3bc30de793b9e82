// SPDX-License-Identifier: Apache-2.0
#include "predict/predict_call.h"

#include <cmath>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "core/call_name.h"
#include "core/look_up.h"
#include "core/new_file.h"
#include "core/npy_header.h"
#include "dump/tensor_file.h"
#include "identify/numbers.h"
#include "identify/predict.h"
#include "shrink/probe.h"
#include "shrink/recorded_call.h"

namespace msprobe::predict {
namespace {

namespace fs = std::filesystem;

// The engine makes the inputs of the call, and saves them with what it computed.
Result<void> run_call(const PredictRequest& request, const fs::path& directory) {
  const std::string device = request.device.empty() ? "cpu" : request.device;
  const Result<shrink::RecordedCall> recorded =
      shrink::read_call(request.dump, request.call, device);
  if (!recorded) return propagate(recorded);
  ReplaySettings replay = shrink::replay_settings(*recorded, request.dump, request.engine.replay);
  replay.strict = false;
  shrink::Probe probe(engines::command_of(request.engine, recorded->device), replay,
                      request.timeout_seconds);
  const Result<shrink::ProbeAnswer> answer = probe.ask(recorded->call, directory.string());
  if (!answer) return propagate(answer);
  if (answer->kind == shrink::ProbeAnswer::Kind::kPass) return {};
  return fail(ErrorKind::kExecution, fmt::format("{}: {}", request.call, answer->text));
}

Numbers numbers_of(const Tensor& tensor) {
  return {tensor.dtype, tensor.shape,
          std::string(reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size())};
}

// Tensors that the engine saved under numbered names; a number that is left out ends them.
Result<std::vector<Numbers>> saved_tensors(const fs::path& prefix) {
  std::vector<Numbers> tensors;
  while (true) {
    const fs::path path = fmt::format("{}.{}.pt", prefix.string(), tensors.size());
    const Result<bool> there = is_there(path);
    if (!there) return propagate(there);
    if (!*there) return tensors;
    const Result<Tensor> tensor = dump::load_tensor_file(path);
    if (!tensor) return propagate(tensor);
    tensors.push_back(numbers_of(*tensor));
  }
}

Result<void> write_npy(const fs::path& path, const Numbers& numbers) {
  const DType held = numpy_dtype(numbers.dtype);
  const Numbers written =
      held == numbers.dtype
          ? numbers
          : identify::make_numbers(held, numbers.shape, identify::values_of(numbers));
  return write_new_file(path, npy_header(held, written.shape) + written.bytes);
}

}  // namespace

Result<EqualElements> agreement(const Numbers& predicted, const Numbers& device) {
  if (predicted.shape != device.shape || predicted.dtype != device.dtype) {
    return fail(ErrorKind::kExecution,
                "the shape or dtype of the device differs from the predicted one");
  }
  const std::vector<double> one = identify::values_of(predicted);
  const std::vector<double> other = identify::values_of(device);
  const std::size_t bytes = size_bytes(predicted.dtype);
  const auto bits = [bytes](const Numbers& numbers, std::size_t at) {
    return std::string_view(numbers.bytes).substr(at * bytes, bytes);
  };
  EqualElements found{.elements = one.size()};
  for (std::size_t at = 0; at < one.size(); ++at) {
    const bool both_nan = std::isnan(one[at]) && std::isnan(other[at]);
    found.equal += both_nan || bits(predicted, at) == bits(device, at) ? 1 : 0;
  }
  return found;
}

Result<PredictedCall> predict_call(const PredictRequest& request) {
  const fs::path saved = request.out / "tensors";
  if (const Result<void> ran = run_call(request, saved); !ran) return propagate(ran);
  const auto inputs = saved_tensors(saved / (request.call + ".forward.input"));
  if (!inputs) return propagate(inputs);
  const auto call = parse_call_name(request.call);
  const Result<Numbers> predicted =
      identify::predict(request.card, call ? call->bare_name : request.call, *inputs);
  if (!predicted) return propagate(predicted, request.call);
  PredictedCall prediction;
  prediction.file = request.out / (request.call + ".forward.output.predicted.0.npy");
  const Result<void> written = write_npy(prediction.file, *predicted);
  if (!written) return propagate(written);
  if (request.device.empty()) return prediction;
  const auto device = saved_tensors(saved / (request.call + ".forward.output.device"));
  if (!device) return propagate(device);
  if (device->empty()) {
    return fail(ErrorKind::kExecution, request.call + ": the device returned no tensor");
  }
  const Result<EqualElements> found = agreement(*predicted, device->front());
  if (!found) return propagate(found, request.call);
  prediction.agreement = *found;
  return prediction;
}

}  // namespace msprobe::predict
