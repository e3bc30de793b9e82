// SPDX-License-Identifier: Apache-2.0
// msprobe predict: what the device of a card will give for a recorded matrix product.
#include <bit>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "card/card_json.h"
#include "cli/parser.h"
#include "command.h"
#include "common_options.h"
#include "core/call_name.h"
#include "core/npy_header.h"
#include "core/path_check.h"
#include "dump/tensor_file.h"
#include "dump_input.h"
#include "identify/numbers.h"
#include "identify/predict.h"
#include "own_files.h"
#include "shrink/probe.h"
#include "shrink/recorded_call.h"

namespace msprobe::app {
namespace {

namespace fs = std::filesystem;

struct PredictArguments {
  std::string card;
  std::string api_info;
  std::string call;
  std::string out = "predicted";
  std::string device;  // empty: no device runs it
  engines::EngineOptions engine;
  double timeout_seconds = 60;
};

// The engine makes the inputs of the call, and saves them with what it computed.
Result<void> run_call(const PredictArguments& arguments, const std::string& dump,
                      const fs::path& directory) {
  const std::string device = arguments.device.empty() ? "cpu" : arguments.device;
  const Result<shrink::RecordedCall> recorded = shrink::read_call(dump, arguments.call, device);
  if (!recorded) return propagate(recorded);
  engines::EngineOptions options = arguments.engine;
  const Result<fs::path> engine = find_own_engine(options.program);
  if (!engine) return propagate(engine);
  options.program = engine->string();
  protocol::RunOptions run = shrink::run_options(*recorded, dump, options.seed);
  run.strict = false;
  shrink::Probe probe(engines::command_of(options, recorded->device), run,
                      arguments.timeout_seconds);
  const Result<shrink::ProbeAnswer> answer = probe.ask(recorded->call, directory.string());
  if (!answer) return propagate(answer);
  if (answer->kind == shrink::ProbeAnswer::Kind::kPass) return {};
  return fail(ErrorKind::kExecution, fmt::format("{}: {}", arguments.call, answer->text));
}

Numbers numbers_of(const Tensor& tensor) {
  return {tensor.dtype, tensor.shape,
          std::string(reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size())};
}

// Tensors that the engine saved under numbered names; a number that is left out ends them.
Result<std::vector<Numbers>> saved_tensors(const fs::path& prefix) {
  std::vector<Numbers> tensors;
  std::error_code error;
  while (true) {
    const fs::path path = fmt::format("{}.{}.pt", prefix.string(), tensors.size());
    if (!fs::exists(path, error)) return tensors;
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
  std::ofstream file(path, std::ios::binary);
  file << npy_header(held, written.shape) << written.bytes;
  if (file.flush()) return {};
  return fail(ErrorKind::kIo, fmt::format("{}: cannot be written", path.string()));
}

// Bit for bit, except that every NaN is one.
std::string agreement(const Numbers& predicted, const Numbers& device) {
  const std::vector<double> one = identify::values_of(predicted);
  const std::vector<double> other = identify::values_of(device);
  if (predicted.shape != device.shape || predicted.dtype != device.dtype) {
    return "the device gives another shape or dtype";
  }
  std::size_t equal = 0;
  for (std::size_t at = 0; at < one.size(); ++at) {
    const bool both_nan = one[at] != one[at] && other[at] != other[at];
    equal += both_nan || one[at] == other[at] ? 1 : 0;
  }
  return fmt::format("{} of {} elements are as the device computes them", equal, one.size());
}

Result<std::string> predict_call(const PredictArguments& arguments) {
  const Result<fs::path> path = check_input_file(arguments.card, {.suffix = ".json"});
  if (!path) return propagate(path);
  const Result<card::Card> card = card::load_card(*path);
  if (!card) return propagate(card);
  const Result<std::string> dump = one_dump(arguments.api_info);
  if (!dump) return propagate(dump);
  const Result<fs::path> out = prepare_output_directory(arguments.out);
  if (!out) return propagate(out);
  const fs::path saved = *out / "tensors";
  if (Result<void> ran = run_call(arguments, *dump, saved); !ran) return propagate(ran);
  const auto inputs = saved_tensors(saved / (arguments.call + ".forward.input"));
  if (!inputs) return propagate(inputs);
  const auto call = parse_call_name(arguments.call);
  const Result<Numbers> predicted =
      identify::predict(*card, call ? call->bare_name : arguments.call, *inputs);
  if (!predicted) return propagate(predicted, arguments.call);
  const fs::path file = *out / (arguments.call + ".forward.output.predicted.0.npy");
  if (Result<void> written = write_npy(file, *predicted); !written) return propagate(written);
  std::string text = fmt::format("{}\n", file.string());
  if (arguments.device.empty()) return text;
  const auto device = saved_tensors(saved / (arguments.call + ".forward.output.device"));
  if (!device) return propagate(device);
  return text +
         (device->empty() ? "the device gave no tensor" : agreement(*predicted, device->front())) +
         "\n";
}

}  // namespace

Run declare_predict(cli::Parser& command) {
  auto arguments = std::make_shared<PredictArguments>();
  command.group("Input");
  command
      .value("DUMP,-api_info,--api_info_file", arguments->api_info, "dump.json that has the call")
      .required();
  command.value("--card", arguments->card, "the card of the device (probe_device -o)")
      .named("FILE")
      .required();
  command.value("--only", arguments->call, "the call, such as Torch.matmul.0")
      .named("CALL")
      .required();
  command.group("Device");
  command
      .value("-d,--device", arguments->device,
             "run the call on this device too, and say how many elements are as predicted")
      .named("DEVICE");
  declare_engine_options(command, arguments->engine);
  declare_timeout(command, arguments->timeout_seconds);
  command.group("Output");
  command.value("-o,--out_path", arguments->out, "directory for the predicted output")
      .named("DIR")
      .shows_default();
  return [arguments] {
    const Result<std::string> text = predict_call(*arguments);
    if (!text) return refuse(text.error());
    fmt::print("{}", *text);
    return kPassed;
  };
}

}  // namespace msprobe::app
