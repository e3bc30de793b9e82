// SPDX-License-Identifier: Apache-2.0
// Recorded calls with generated inputs, and outcomes whose device side a test can spoil.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

#include "cause/cause.h"
#include "execute/execute_call.h"
#include "execute/replay_dialect.h"
#include "libtorch/cpu_types_for_test.h"
#include "strict/judge_call.h"

namespace msprobe::strict {

// What PyTorch 1.13 does not have.
inline bool has_attention() {
  return execute::pytorch_dialect().find("Functional", "scaled_dot_product_attention") != nullptr;
}
inline bool has_half_kernels() { return libtorch::cpu_floats_with_wide_sums().size() == 3; }

inline dump::TensorRecord tensor(Shape shape, DType dtype = DType::kFloat32, bool grad = false,
                                 double least = -1, double greatest = 1) {
  dump::TensorRecord record;
  record.dtype = dtype;
  record.dtype_text = text(dtype);
  record.shape = std::move(shape);
  record.min = {dump::Statistic::Kind::kReal, 0, least};
  record.max = {dump::Statistic::Kind::kReal, 0, greatest};
  record.requires_grad = grad;
  return record;
}

inline dump::CallRecord call(std::string name, dump::List args, dump::Dict kwargs = {}) {
  dump::CallRecord record;
  record.full_name = std::move(name);
  record.forward.input_args = std::move(args);
  record.forward.input_kwargs = std::move(kwargs);
  return record;
}

inline dump::CallRecord with_backward(dump::CallRecord record, dump::List arriving) {
  record.backward = dump::BackwardRecord{std::move(arriving), {}};
  return record;
}

inline dump::CallRecord matmul(DType dtype, std::int64_t rows = 24, std::int64_t inner = 64,
                               std::int64_t columns = 32) {
  return with_backward(call("Torch.matmul.0", {{tensor({rows, inner}, dtype, true)},
                                               {tensor({inner, columns}, dtype, true)}}),
                       {{tensor({rows, columns}, dtype)}});
}

// A call that was run; forward[i].device and backward[i].device may be replaced.
struct RunCall {
  dump::CallRecord record;
  execute::ExecuteOptions options;
  execute::CallOutcome outcome;

  explicit RunCall(dump::CallRecord recorded) : record(std::move(recorded)) {
    OrSkip<execute::CallOutcome> run = execute::execute_call(record, options);
    if (!run) throw std::runtime_error(run.error().text);
    outcome = *std::move(run);
  }
  RunCall(dump::CallRecord recorded, execute::ExecuteOptions how, execute::CallOutcome ran)
      : record(std::move(recorded)), options(how), outcome(std::move(ran)) {}
  const at::Tensor& bench(std::size_t i = 0) const {
    return *outcome.forward[i].bench.as<at::Tensor>();
  }
  const at::Tensor& device(std::size_t i = 0) const {
    return *outcome.forward[i].device.as<at::Tensor>();
  }
  void set_device(const at::Tensor& tensor, std::size_t i = 0) {
    outcome.forward[i].device = {tensor};
  }
  Findings judge(StrictOptions allowed = {}) const {
    allowed.name_cause = &cause::name_cause;
    return judge_call(record, options, outcome, allowed);
  }
  StrictFinding forward(std::size_t i = 0) const { return judge().forward[i]; }
};

}  // namespace msprobe::strict
