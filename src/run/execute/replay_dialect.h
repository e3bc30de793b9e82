// SPDX-License-Identifier: Apache-2.0
// ReplayDialect: how the recorded calls of one framework are read and become calls of LibTorch. The
// engine's half of check::Dialect; everything else in `execute` is the same for all of them.
#pragma once

#include <string_view>
#include <vector>

#include "core/call_name.h"
#include "core/result.h"
#include "dump/dump_json.h"
#include "execute/api.h"
#include "execute/execute_call.h"
#include "execute/recorded_gradients.h"

namespace msprobe::execute {

struct ReplayDialect {
  std::string_view name = {};  // as check::Dialect: "pytorch"

  // The entries of one call; `place` opens messages.
  Result<dump::CallRecord> (*parse)(const dump::CallSlice& slice,
                                    std::string_view place) = &dump::parse_call;
  // What a recorded name stands for; null: nothing that can be run. The API takes its arguments as
  // they were recorded.
  const Api* (*find)(std::string_view type, std::string_view bare_name) = &find_api;
  // PyTorch's name for the same operation: what is known of operations is known by it.
  CallName (*torch_name)(const CallName& recorded) = [](const CallName& recorded) {
    return recorded;
  };
  bool adjusts = true;  // see arguments::Options
  // Lays recorded gradients beside those of the benchmark.
  OrSkip<RecordedGradients> (*match_gradients)(
      const std::vector<Input>& inputs, const BenchGradients& bench, const PyList& recorded,
      const InLayout& in_layout) = &execute::match_gradients;
  // Whether a pair of leaves is compared at all; null: every one is.
  bool (*keeps)(const LeafPair& pair, bool backward) = nullptr;
  // As MindSpore's check does: the benchmark computes float32 in float64 whatever the API, its
  // results are rounded to the device's dtype and measured by measure/mindspore_metrics.h, and
  // gradients may be wider than their inputs.
  bool like_mindspore = false;
};

const ReplayDialect& pytorch_dialect();
const ReplayDialect& mindspore_dialect();
const ReplayDialect& mindtorch_dialect();  // MSAdapter

// By name; null: none is called so.
const ReplayDialect* find_dialect(std::string_view name);

// Takes up what the dialect says of arguments.
void set_dialect(const ReplayDialect& dialect, ExecuteOptions& options);

}  // namespace msprobe::execute
