// SPDX-License-Identifier: Apache-2.0
// Predicts a device's results of a recorded call from its card, and counts those that match.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>

#include "card/card.h"
#include "core/operation.h"
#include "core/result.h"
#include "engines/engine_options.h"

namespace msprobe::predict {

struct PredictRequest {
  card::Card card;
  std::string dump;  // dump.json
  std::string call;  // "Torch.matmul.0"
  std::filesystem::path out;
  std::string device;             // that runs the call too; empty: none
  engines::EngineOptions engine;  // its program is known
  double timeout_seconds = 60;
};

struct EqualElements {
  std::size_t equal = 0;
  std::size_t elements = 0;
};

struct PredictedCall {
  std::filesystem::path file;              // the predicted output, an npy file
  std::optional<EqualElements> agreement;  // with the device, if one ran the call
};

// Writes the prediction, and beside it what the engine saved: the inputs that it made for the call,
// and the outputs.
Result<PredictedCall> predict_call(const PredictRequest& request);

// Elements that are equal bit for bit; every NaN is the same. An error: another shape or dtype.
Result<EqualElements> agreement(const Numbers& predicted, const Numbers& device);

}  // namespace msprobe::predict
