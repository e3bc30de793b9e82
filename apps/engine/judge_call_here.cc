// SPDX-License-Identifier: Apache-2.0
// One call, judged in the process that holds both functions: what msprobe.verify() asks for.
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <simdjson.h>

#include "cause/cause.h"
#include "codes/judge_codes.h"
#include "engine.h"
#include "execute/caught.h"
#include "execute/execute_call.h"
#include "libtorch/broken_kernels.h"
#include "libtorch/dtypes.h"
#include "libtorch/errors.h"
#include "libtorch/matrix_tiles.h"
#include "python_functions.h"
#include "strict/judge_call.h"

namespace {

using namespace msprobe;

namespace dom = simdjson::dom;

std::string quoted_text(const std::string& text) {
  std::vector<at::Tensor> none;
  return engine::json_of(execute::PyValue{text}, none);
}

// {"dtype": "torch.float16", "shape": [2, 3]} for each tensor; other results are not listed.
dump::List recorded_outputs(const dom::element& request) {
  dump::List outputs;
  dom::array items;
  if (request["outputs"].get(items)) return outputs;
  for (const dom::element item : items) {
    dump::TensorRecord record;
    std::string_view dtype;
    dom::array shape;
    if (item["dtype"].get(dtype) || item["shape"].get(shape)) return {};
    record.dtype_text = std::string(dtype);
    record.dtype = parse_dtype(dtype);
    for (const dom::element extent : shape) record.shape.push_back(std::int64_t(extent));
    outputs.push_back({std::move(record)});
  }
  return outputs;
}

std::string leaf_json(const execute::LeafPair& leaf, const StrictFinding& finding) {
  std::vector<at::Tensor> none;
  const execute::PyValue over = finding.error_over_bound
                                    ? execute::PyValue{*finding.error_over_bound}
                                    : execute::PyValue{dump::None{}};
  return fmt::format(R"({{"path":{},"status":{},"reason":{},"cause":{},"over":{}}})",
                     quoted_text(leaf.path), quoted_text(std::string(name(finding.status))),
                     quoted_text(finding.reason), quoted_text(finding.cause),
                     engine::json_of(over, none));
}

std::string skip_json(const Skip& skip) {
  return fmt::format(R"({{"skip":{},"text":{}}})", quoted_text(std::string(name(skip.reason))),
                     quoted_text(skip.text));
}

std::string judged(std::string_view text, const std::vector<at::Tensor>& tensors) {
  dom::parser parser;
  dom::element request;
  std::string_view call_name;
  std::int64_t runs = 0;
  std::uint64_t seed = kDefaultSeed;
  if (parser.parse(simdjson::padded_string(text)).get(request) || request["name"].get(call_name) ||
      request["runs"].get(runs) || request["seed"].get(seed)) {
    return skip_json({SkipReason::kBrokenRecord, "the request cannot be read"});
  }
  dump::CallRecord record;
  record.full_name = std::string(call_name);
  record.forward.output = recorded_outputs(request);
  const execute::PyCall call = engine::call_of_json(text, tensors);
  execute::ExecuteOptions options;
  options.arguments.given = &call;
  options.arguments.replay.strict = true;
  options.arguments.replay.seed = seed;
  options.arguments.replay.reference_runs = static_cast<std::int32_t>(runs);
  options.user = engine::user_functions();
  const OrSkip<execute::CallOutcome> outcome = execute::execute_call(record, options);
  if (!outcome) return skip_json(outcome.error());
  const strict::StrictOptions allowed{.name_cause = &cause::name_cause,
                                      .judge_codes = &codes::judge_low_precision};
  const strict::Findings findings = strict::judge_call(record, options, *outcome, allowed);
  std::vector<std::string> leaves;
  for (std::size_t i = 0; i < findings.forward.size(); ++i) {
    leaves.push_back(leaf_json(outcome->forward[i], findings.forward[i]));
  }
  return fmt::format(R"({{"leaves":[{}],"runs":{}}})", fmt::join(leaves, ","), findings.runs);
}

}  // namespace

const char* msprobe_engine_judge(const char* request, const void* const* tensors, int count) {
  static std::string answer;
  static const bool prepared = [] {
    libtorch::avoid_unusable_tiles();
    libtorch::make_errors_short();
    libtorch::patch_broken_kernels();
    return true;
  }();
  (void)prepared;
  const OrSkip<std::string> found = execute::caught(SkipReason::kReferenceFailed, [&] {
    return judged(request, engine::shared_tensors(tensors, count));
  });
  answer = found ? *found : skip_json(found.error());
  return answer.c_str();
}
