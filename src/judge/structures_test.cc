// SPDX-License-Identifier: Apache-2.0
// Whole results of a call, both sides, against what the public tool said of them.
#include <cstring>
#include <filesystem>
#include <memory>

#include <gtest/gtest.h>
#include <simdjson.h>

#include "judge/dropout.h"
#include "judge/judge.h"
#include "judge/outputs.h"
#include "judge/result_row.h"
#include "measure/metrics.h"

namespace msprobe::judge {
namespace {

namespace fs = std::filesystem;
using Json = simdjson::dom::element;

const fs::path kSource = MSPROBE_SOURCE_DIR;
const Standards kBuiltIn;

Tensor tensor_of(Json json) {
  const bool wide = std::string_view(json["t"]) == "f64";
  auto bytes = std::make_shared<std::vector<std::byte>>();
  std::int64_t count = 0;
  const auto append = [&](auto value) {
    const auto* const from = reinterpret_cast<const std::byte*>(&value);
    bytes->insert(bytes->end(), from, from + sizeof value);
    ++count;
  };
  for (const double value : json["v"].get_array()) {
    wide ? append(value) : append(static_cast<float>(value));
  }
  Tensor tensor{wide ? DType::kFloat64 : DType::kFloat32, {count}, bytes, *bytes};
  return tensor;
}

PythonValue value_of(Json json) {
  const Json value = json["py"];
  if (json["float"].error() == simdjson::SUCCESS) {
    return value.is_string() ? std::nan("") : double(value);
  }
  if (value.is_string()) return std::string(std::string_view(value));
  return std::int64_t(value);
}

Output output_of(Json json) {
  if (json.is_null()) return {PythonValue{}};
  if (json["t"].error() == simdjson::SUCCESS) return {tensor_of(json)};
  if (json["py"].error() == simdjson::SUCCESS) return {value_of(json)};
  Json inner;
  if (json["tuple"].get(inner) == simdjson::SUCCESS) {
    OutputList list;
    for (const Json item : inner.get_array()) list.push_back(output_of(item));
    return {std::move(list)};
  }
  OutputDict dict;
  for (const auto item : json["dict"].get_object()) {
    dict.push_back({std::string(item.key), output_of(item.value)});
  }
  return {std::move(dict)};
}

DetailRow judge_pair(const PairedOutput& pair, const Context& context) {
  if (!pair.problem.empty()) return reason_row(context.row_name, Verdict::kError, pair.problem);
  if (const auto* const value = std::get_if<PythonValue>(&pair.bench->data)) {
    return judge_value(*value, std::get<PythonValue>(pair.device->data), context);
  }
  const auto& bench = std::get<Tensor>(pair.bench->data);
  const auto& device = std::get<Tensor>(pair.device->data);
  const OutputPair tensors = tensor_pair(bench, device);
  if (auto row = judge_structure(tensors, context)) return *row;
  return judge_tensor(
      tensors, measure::measure(device.view(), bench.view(), measure_options(tensors, context)),
      context);
}

Context context_for(std::string_view api) {
  return {.row_name = "row", .api = api, .profile = Profile::kReference, .standards = kBuiltIn};
}

void expect_dropout(Json json) {
  const Tensor bench = tensor_of(json["bench"]);
  const Tensor device = tensor_of(json["device"]);
  const DetailRow row = judge_dropout(bench.view(), device.view(), {}, context_for("dropout"));
  EXPECT_EQ(name(row.status), std::string_view(json["expected"]["final_status"]));
}

void expect_rows(Json json) {
  const Output bench = output_of(json["bench"]);
  const Output device = output_of(json["device"]);
  const auto pairs = pair_outputs(bench, device, Profile::kReference);
  Json expected = json["expected"];
  if (expected["exception"].error() == simdjson::SUCCESS) {
    ASSERT_FALSE(pairs);
    EXPECT_EQ(pairs.error().message, std::string_view(expected["text"]));
    return;
  }
  ASSERT_TRUE(pairs);
  std::vector<DetailRow> rows;
  for (const PairedOutput& pair : *pairs) rows.push_back(judge_pair(pair, context_for("f")));
  std::size_t i = 0;
  for (const Json wanted : expected["rows"].get_array()) {
    ASSERT_LT(i, rows.size());
    EXPECT_EQ(name(rows[i].status), std::string_view(wanted["status"]));
    EXPECT_EQ(rows[i].message, std::string_view(wanted["message"]));
    ++i;
  }
  EXPECT_EQ(i, rows.size());
  const auto verdict = conclude("f", rows, {}, Profile::kReference).forward;
  EXPECT_EQ(name(verdict.value()), std::string_view(expected["final_status"]));
}

std::size_t expect_cases(simdjson::dom::array cases) {
  for (const Json json : cases) {
    SCOPED_TRACE(std::string_view(json["case"]));
    std::string_view(json["kind"]) == "dropout" ? expect_dropout(json) : expect_rows(json);
  }
  return cases.size();
}

TEST(Structures, EveryRecordedCaseIsJudgedAsRecorded) {
  const fs::path recorded = kSource / "tests/data/metrics/structures.json";
  simdjson::dom::parser parser;
  EXPECT_EQ(expect_cases(parser.load(recorded.string()).get_array()), 23U);
}

}  // namespace
}  // namespace msprobe::judge
