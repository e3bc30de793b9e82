// SPDX-License-Identifier: Apache-2.0
// Stands in for msprobe-engine in tests: speaks its protocol, computes nothing, and misbehaves on
// demand. What it does with a call is in the call's bare name:
//   crash     dies of SIGSEGV            crash_once  the same, the first time only
//   hang      never answers              slow        answers after 20 ms
//   exit      ends with status 3         nonsense    writes bytes outside any frame
//   kill      dies of SIGKILL            swell       grows by 200 MB before it answers
//   error     measures something wrong   lost        says that a tensor file is missing
//   mapped    the same, with error maps
//   gone      answers that its device failed, and ends because of that
// An operation does what its name says too, and gives back its first input, if it has one.
// MSPROBE_FAKE_DIRECTORY holds what must outlive an engine; of the arguments only --device counts.
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "core/call_name.h"
#include "protocol/frames.h"

namespace msprobe::engines {
namespace {

namespace fs = std::filesystem;

protocol::MeasuredLeaf value_leaf(std::int64_t bench, std::int64_t device) {
  protocol::MeasuredLeaf leaf;
  leaf.path = "0";
  leaf.kind = protocol::LeafKind::kValue;
  leaf.bench.value = bench;
  leaf.device.value = device;
  return leaf;
}

// As a kernel does it, not as a sanitizer reports it.
void crash() {
  ::signal(SIGSEGV, SIG_DFL);
  ::raise(SIGSEGV);
}

void misbehave(const std::string& what, const fs::path& mark) {
  if (what == "crash_once" && !fs::exists(mark)) {
    std::ofstream(mark) << "crashed";
    crash();
  }
  if (what == "crash") crash();
  if (what == "kill") ::raise(SIGKILL);
  if (what == "exit") std::_Exit(3);
  if (what == "hang") std::this_thread::sleep_for(std::chrono::hours(1));
  if (what == "slow") std::this_thread::sleep_for(std::chrono::milliseconds(20));
  if (what == "nonsense") (void)protocol::write_all(STDOUT_FILENO, std::string(100, '\xff'));
  static std::vector<std::string> kept;
  if (what == "swell") kept.emplace_back(std::size_t{200} << 20, 'x');
}

// "sleep" takes a nanosecond for each element of its first shape.
void sleep_for_shape(std::string_view json) {
  const std::size_t shape = json.find("\"shape\": [");
  if (shape == std::string_view::npos) return;
  const long long nanoseconds = std::atoll(json.data() + json.find('[', shape) + 1);
  std::this_thread::sleep_for(std::chrono::nanoseconds(nanoseconds));
}

protocol::CallResponse answer(const protocol::CallRequest& request, const fs::path& directory) {
  const auto name = parse_call_name(request.full_name);
  const std::string what(name ? name->bare_name : "");
  misbehave(what, directory / request.full_name);
  if (what == "sleep") sleep_for_shape(request.forward_json);
  std::ofstream(directory / "calls.log", std::ios::app)
      << fmt::format("{} {} {}\n", request.full_name, ::getpid(), request.save_directory);
  protocol::CallResponse response;
  response.id = request.id;
  response.call.full_name = request.full_name;
  if (what == "lost") {
    response.call.skip = {SkipReason::kMissingData, "x.pt is not there"};
  } else {
    const bool wrong = what == "error" || what == "mapped";
    response.call.forward.push_back(value_leaf(1, wrong ? 2 : 1));
  }
  if (what == "mapped") {
    response.call.forward.front().strict =
        StrictFinding{Verdict::kError, "wrong", "", R"({"shape":[],"cells":"y"})"};
    response.call.forward.push_back(response.call.forward.front());
  }
  return response;
}

protocol::OperationResponse answer(const protocol::OperationRequest& request,
                                   const fs::path& directory) {
  misbehave(request.operation.name, directory / request.operation.name);
  if (request.operation.inputs.empty()) return {request.id, "no inputs", {}};
  return {request.id, "", request.operation.inputs.front()};
}

int serve(const fs::path& directory, const std::string& device) {
  if (device == "none:0") {
    (void)protocol::write_all(STDOUT_FILENO,
                              encode(protocol::Fatal{"no device none:0; there are: cpu"}));
    return 1;
  }
  std::ofstream(directory / "pid") << ::getpid();
  (void)protocol::write_all(
      STDOUT_FILENO,
      encode(protocol::Hello{.torch_version = "fake", .device = device, .devices = {device}}));
  protocol::FrameReader reader(protocol::Sender::kMsprobe);
  while (true) {
    const auto frame = reader.next();
    if (!frame) return 2;
    if (!*frame) {
      const auto more = reader.fill(STDIN_FILENO);
      if (!more || !*more) return 0;
      continue;
    }
    if (const auto run = protocol::decode_run_options(**frame)) {
      if (run->replay.data_directory.empty() || fs::exists(run->replay.data_directory)) continue;
      (void)protocol::write_all(
          STDOUT_FILENO, encode(protocol::Fatal{run->replay.data_directory + " is not there"}));
      return 2;
    }
    if (const auto operation = protocol::decode_operation_request(**frame)) {
      if (!protocol::write_all(STDOUT_FILENO, encode(answer(*operation, directory)))) return 2;
      if (operation->operation.name == "gone") return protocol::kDeviceGone;
      continue;
    }
    const auto request = protocol::decode_call_request(**frame);
    if (!request || !protocol::write_all(STDOUT_FILENO, encode(answer(*request, directory))))
      return 2;
    if (request->full_name.find(".gone.") != std::string::npos) return protocol::kDeviceGone;
  }
}

}  // namespace
}  // namespace msprobe::engines

int main(int argc, char** argv) {
  const char* directory = std::getenv("MSPROBE_FAKE_DIRECTORY");
  std::string device = "cpu";
  for (int i = 1; i + 1 < argc; ++i) {
    if (std::string_view(argv[i]) == "--device") device = argv[i + 1];
  }
  return directory == nullptr ? 2 : msprobe::engines::serve(directory, device);
}
