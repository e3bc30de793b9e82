// SPDX-License-Identifier: Apache-2.0
// What msprobe and msprobe-engine say to each other: frames of a length, a kind and a payload, on
// the engine's standard input and output. Both run on one machine, so numbers keep their bytes.
//
//   engine                         msprobe
//   Hello | Fatal   ->
//                   <-             RunOptions, once
//                   <-             CallRequest, any number in flight
//                   <-             OperationRequest, the same
//   CallResponse, OperationResponse ->  in the order of the requests
//                   <-             end of file: the engine ends
//
// An engine may end by itself, with kDeviceGone.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/operation.h"
#include "core/replay_settings.h"
#include "core/result.h"
#include "measure/metrics.h"
#include "protocol/measured_call.h"
#include "units/known_products.h"

namespace msprobe::protocol {

inline constexpr std::uint32_t kWireVersion = 12;

// The exit status of an engine whose device no longer computes. It has answered the call that did
// that; calls behind it are for another engine.
inline constexpr int kDeviceGone = 75;

struct Hello {
  std::uint32_t wire_version = kWireVersion;
  std::uint32_t metrics_bytes =
      sizeof(measure::Metrics);  // both sides were built from one metrics.h
  std::string torch_version;
  std::string device;                     // as opened: "cpu", "npu:0", "recorded"
  std::vector<std::string> devices;       // what this engine could open
  bool jit_compile_has_effect = false;    // a loaded back end took the setting
  std::vector<std::string> kernels = {};  // of the user's: the APIs they are for; "*": every one
};

// The engine cannot work at all (no such device, no such library); it ends after this.
struct Fatal {
  std::string message;
};

struct RunOptions {
  ReplaySettings replay = {};
  measure::Arithmetic arithmetic = measure::Arithmetic::kDocumented;
  std::vector<units::KnownProducts> products =
      {};  // how the device multiplies, of its card; empty: no card
};

struct CallRequest {
  std::uint64_t id = 0;
  std::string full_name;
  std::string forward_json;
  std::string backward_json;   // empty: none recorded
  std::string save_directory;  // not empty: inputs, outputs and gradients are saved there
  std::array<measure::Thresholds, kDTypeCount> thresholds = {};  // by the device's dtype
};

struct CallResponse {
  std::uint64_t id = 0;
  MeasuredCall call;
};

// One operator on the device alone (probe_device).
struct OperationRequest {
  std::uint64_t id = 0;
  Operation operation;
};

struct OperationResponse {
  std::uint64_t id = 0;
  std::string error;  // empty: there is a result
  Numbers result;
};

enum class FrameKind : std::uint8_t {
  kHello,
  kFatal,
  kRunOptions,
  kCallRequest,
  kCallResponse,
  kOperationRequest,
  kOperationResponse,
};

struct Frame {
  FrameKind kind = FrameKind::kHello;
  std::string_view payload;
};

// A whole frame, ready to be written.
std::string encode(const Hello& hello);
std::string encode(const Fatal& fatal);
std::string encode(const RunOptions& options);
std::string encode(const CallRequest& request);
std::string encode(const CallResponse& response);
std::string encode(const OperationRequest& request);
std::string encode(const OperationResponse& response);

// An error if the payload is of another kind or does not hold together.
Result<Hello> decode_hello(const Frame& frame);
Result<Fatal> decode_fatal(const Frame& frame);
Result<RunOptions> decode_run_options(const Frame& frame);
Result<CallRequest> decode_call_request(const Frame& frame);
Result<CallResponse> decode_call_response(const Frame& frame);
Result<OperationRequest> decode_operation_request(const Frame& frame);
Result<OperationResponse> decode_operation_response(const Frame& frame);

// Who writes what a reader reads: each side takes only what the other may send.
enum class Sender : std::uint8_t { kEngine, kMsprobe };

// The largest payload that is taken, before memory for it is: what an honest one never needs.
std::uint64_t most_bytes(FrameKind kind);

// Bytes as they arrive, cut into frames.
class FrameReader {
 public:
  explicit FrameReader(Sender sender) : sender_(sender) {}

  // Reads once from `descriptor` (blocking where it blocks). False: end of file.
  Result<bool> fill(int descriptor);
  // The next whole frame, valid until the next fill(); nothing where more bytes are needed.
  Result<std::optional<Frame>> next();

 private:
  Sender sender_;
  std::string bytes_;
  std::size_t taken_ = 0;
};

// Writes all of it, whatever the pipe takes at once.
Result<void> write_all(int descriptor, std::string_view bytes);

}  // namespace msprobe::protocol
