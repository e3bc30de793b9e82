// SPDX-License-Identifier: Apache-2.0
// Whole results of a call, both sides, paired, measured and judged as a check does it, against what
// the public tool said of them.
#include <gtest/gtest.h>
#include <simdjson.h>

#include "check/judged_call.h"
#include "core/verdict.h"
#include "documented/profile.h"
#include "libtorch/aten.h"
#include "worker/measure_outcome.h"

namespace msprobe::worker {
namespace {

using arguments::PyDict;
using arguments::PyList;
using arguments::PyValue;
using Json = simdjson::dom::element;

at::Tensor tensor_of(Json json) {
  std::vector<double> values;
  for (const double value : json["v"].get_array()) values.push_back(value);
  const bool wide = std::string_view(json["t"]) == "f64";
  return at::tensor(values, at::kDouble).to(wide ? at::kDouble : at::kFloat);
}

PyValue python_value(Json json) {
  const Json value = json["py"];
  if (json["float"].error() == simdjson::SUCCESS) {
    return {value.is_string() ? std::nan("") : double(value)};
  }
  if (value.is_string()) return {std::string(std::string_view(value))};
  return {std::int64_t(value)};
}

PyValue output_of(Json json) {
  if (json.is_null()) return {dump::None{}};
  if (json["t"].error() == simdjson::SUCCESS) return {tensor_of(json)};
  if (json["py"].error() == simdjson::SUCCESS) return python_value(json);
  Json inner;
  if (json["tuple"].get(inner) == simdjson::SUCCESS) {
    PyList list;
    for (const Json item : inner.get_array()) list.push_back(output_of(item));
    return {std::move(list)};
  }
  PyDict dict;
  for (const auto item : json["dict"].get_object()) {
    dict.emplace_back(std::string(item.key), output_of(item.value));
  }
  return {std::move(dict)};
}

check::JudgedCall judged(Json json, documented::Profile profile) {
  const bool dropout = std::string_view(json["kind"]) == "dropout";
  const std::string name = dropout ? "Functional.dropout.0" : "Torch.f.0";
  execute::CallOutcome outcome;
  outcome.forward = execute::pair_leaves(output_of(json["bench"]), output_of(json["device"]));
  check::JudgeRules rules;
  rules.profile = profile;
  protocol::CallRequest request;
  request.full_name = name;
  return check::judge_call(measure_outcome(request, outcome, {}), ops::NamedCall(name), rules);
}

void expect_rows(const check::JudgedCall& found, Json expected) {
  simdjson::dom::array rows;
  if (expected["rows"].get(rows) == simdjson::SUCCESS) {
    ASSERT_EQ(found.details.size(), rows.size());
    std::size_t i = 0;
    for (const Json wanted : rows) {
      EXPECT_EQ(name(found.details[i].status), std::string_view(wanted["status"]));
      EXPECT_EQ(found.details[i].message, std::string_view(wanted["message"]));
      ++i;
    }
  }
  EXPECT_EQ(name(found.result.forward.value()), std::string_view(expected["final_status"]));
}

void expect_case(Json json) {
  SCOPED_TRACE(std::string_view(json["case"]));
  const check::JudgedCall found = judged(json, documented::Profile::kReference);
  const Json expected = json["expected"];
  if (expected["exception"].error() == simdjson::SUCCESS) {
    EXPECT_EQ(name(found.result.forward.value()), "SKIP");
    EXPECT_EQ(found.details.at(0).message, std::string_view(expected["text"]));
    return;
  }
  expect_rows(found, expected);
}

TEST(Structures, EveryRecordedCaseIsJudgedAsThePublicToolDid) {
  const std::string recorded = MSPROBE_SOURCE_DIR "/tests/data/metrics/structures.json";
  simdjson::dom::parser parser;
  const simdjson::dom::array cases = parser.load(recorded).get_array();
  EXPECT_EQ(cases.size(), 23U);
  for (const Json json : cases) expect_case(json);
}

}  // namespace
}  // namespace msprobe::worker
