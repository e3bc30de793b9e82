// SPDX-License-Identifier: Apache-2.0
// msprobe predict: what the device of a card will give for a recorded matrix product.
#include <memory>
#include <string>

#include <fmt/format.h>

#include "card/card_json.h"
#include "cli/parser.h"
#include "command.h"
#include "common_options.h"
#include "core/path_check.h"
#include "core/visible_text.h"
#include "dump_input.h"
#include "own_files.h"
#include "predict/predict_call.h"

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

Result<predict::PredictRequest> make_request(const PredictArguments& arguments) {
  predict::PredictRequest request;
  const Result<fs::path> path = check_input_file(arguments.card, {.suffix = ".json"});
  if (!path) return propagate(path);
  Result<card::Card> card = card::load_card(*path);
  if (!card) return propagate(card);
  request.card = *std::move(card);
  const Result<std::string> dump = one_dump(arguments.api_info);
  if (!dump) return propagate(dump);
  request.dump = *dump;
  const Result<fs::path> out = prepare_output_directory(arguments.out);
  if (!out) return propagate(out);
  request.out = *out;
  request.engine = arguments.engine;
  const Result<fs::path> engine = find_own_engine(arguments.engine.program);
  if (!engine) return propagate(engine);
  request.engine.program = engine->string();
  request.call = arguments.call;
  request.device = arguments.device;
  request.timeout_seconds = arguments.timeout_seconds;
  return request;
}

ExitStatus run(const PredictArguments& arguments) {
  const Result<predict::PredictRequest> request = make_request(arguments);
  if (!request) return refuse(request.error());
  const Result<predict::PredictedCall> prediction = predict::predict_call(*request);
  if (!prediction) return refuse(prediction.error());
  if (prediction->agreement) {
    fmt::print("{}: {} of {} elements equal the result of the device {}\n", arguments.call,
               prediction->agreement->equal, prediction->agreement->elements, arguments.device);
  } else {
    fmt::print("{}: the result is predicted from the card; -d DEVICE compares it with a device\n",
               arguments.call);
  }
  fmt::print("{}\n", visible_line(prediction->file.native()));
  return kPassed;
}

}  // namespace

Run declare_predict(cli::Parser& command) {
  auto arguments = std::make_shared<PredictArguments>();
  command.group("Input");
  command
      .value("DUMP,-api_info,--api_info_file", arguments->api_info,
             "dump.json that contains the call")
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
             "also run the call on this device, and count the elements that are as predicted")
      .named("DEVICE");
  declare_engine_options(command, arguments->engine);
  declare_timeout(command, arguments->timeout_seconds);
  command.group("Output");
  command.value("-o,--out_path", arguments->out, "directory for the predicted output")
      .named("DIR")
      .shows_default();
  return [arguments] { return run(*arguments); };
}

}  // namespace msprobe::app
