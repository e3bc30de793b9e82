// SPDX-License-Identifier: Apache-2.0
// Results of fused NPU operators that have a formula of their own (execute/npu/formula.h): each
// element must lie where a right device may be. Codes differ at ties only, scales within their
// bound.
#pragma once

#include <optional>

#include "execute/npu/formula.h"
#include "strict/call_context.h"

namespace msprobe::strict {

class FormulaJudge {
 public:
  // REQUIRES: `context` outlives this.
  explicit FormulaJudge(CallContext& context);

  // Nothing for gradients and for calls without a formula.
  std::optional<StrictFinding> judge(const Pair& pair);

 private:
  using Results = std::optional<execute::npu::FormulaResults>;

  bool applies();
  // What a function of the row says about this call.
  bool says(bool (*about)(const execute::Bound&)) const;
  // How many readings the documents leave for this call.
  std::size_t readings();
  const Results& results(std::size_t reading);
  // Which of them the leaf is; null for none.
  const execute::npu::FormulaResult* result_of(std::size_t reading, const execute::LeafPair& leaf);
  bool fits(std::size_t reading);
  // The first reading of the documents that all results fit, else the first.
  std::size_t reading();
  // Whether the results say which reading it is: no other one fits them.
  bool is_only(std::size_t reading);
  // " (the device divides by the scale)", where that is known.
  std::string how(std::size_t reading);

  CallContext& context_;
  const execute::npu::FormulaRow* row_;
  std::optional<bool> applies_;
  std::optional<std::size_t> count_;
  std::vector<std::optional<Results>> results_;  // by reading
  std::vector<at::Tensor> device_;               // by output, undefined if not a tensor
  std::optional<std::size_t> reading_;
  std::optional<bool> only_;
};

}  // namespace msprobe::strict
