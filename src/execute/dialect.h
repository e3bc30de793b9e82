// Dialect: how the recorded calls of one framework are read and become calls of LibTorch. The
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

struct Dialect {
  std::string_view name;  // as check::Dialect: "pytorch"

  // The entries of one call; `place` opens messages.
  Result<dump::CallRecord> (*parse)(const dump::CallSlice& slice, std::string_view place);
  // What a recorded name stands for; null: nothing that can be run. The API takes its arguments as
  // they were recorded.
  const Api* (*find)(std::string_view type, std::string_view bare_name);
  // PyTorch's name for the same operation: what is known of operations is known by it.
  CallName (*torch_name)(const CallName& recorded);
  bool adjusts = true;  // see arguments::Options
  // Lays recorded gradients beside those of the benchmark.
  OrSkip<RecordedGradients> (*match_gradients)(const std::vector<Input>& inputs,
                                               const std::vector<at::Tensor>& bench,
                                               const PyList& recorded, const NodeGradients& node);
  // The benchmark's results are rounded to the device's dtype before they are measured.
  bool rounds_bench = false;
};

const Dialect& pytorch_dialect();

// By name; null: none is called so.
const Dialect* find_dialect(std::string_view name);

// Takes up what the dialect says of arguments.
void set_dialect(const Dialect& dialect, ExecuteOptions& options);

}  // namespace msprobe::execute
