// SPDX-License-Identifier: Apache-2.0
// Every row beside the schemas of the real plug-in, in each of the versions in
// tests/data/npu_schemas.txt.
#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/frontend/function_schema_parser.h>

#include "execute/npu/formula.h"
#include "execute/npu/npu_operators.h"

namespace msprobe::execute::npu {
namespace {

constexpr std::string_view kNewest = "2.13";

struct PlugInSchema {
  std::vector<std::string> versions;
  c10::FunctionSchema schema;

  bool in(std::string_view version) const {
    return std::ranges::find(versions, version) != versions.end();
  }
};

// By name without the namespace.
const std::multimap<std::string, PlugInSchema>& plug_in_schemas() {
  static const auto kSchemas = [] {
    std::multimap<std::string, PlugInSchema> schemas;
    std::ifstream file(MSPROBE_SOURCE_DIR "/tests/data/npu_schemas.txt");
    for (std::string line; std::getline(file, line);) {
      if (line.starts_with("#")) continue;
      const std::size_t colon = line.find(": ");
      std::istringstream words(line.substr(0, colon));
      const std::vector<std::string> versions{std::istream_iterator<std::string>(words), {}};
      const c10::FunctionSchema schema = torch::jit::parseSchema(line.substr(colon + 2));
      schemas.emplace(schema.name().substr(schema.name().find("::") + 2),
                      PlugInSchema{versions, schema});
    }
    return schemas;
  }();
  return kSchemas;
}

std::string literal(const PyValue& value) {
  if (value.is_none()) return "None";
  if (const auto* text = value.as<std::string>()) return "'" + *text + "'";
  if (const auto* flag = value.as<bool>()) return *flag ? "True" : "False";
  if (value.as<PyList>() != nullptr) return "[]";
  return std::to_string(as_real(value).value());
}

std::string literal(const c10::IValue& value) {
  if (value.isNone()) return "None";
  if (value.isString()) return "'" + value.toStringRef() + "'";
  if (value.isBool()) return value.toBool() ? "True" : "False";
  if (value.isIntList() || value.isBoolList()) return "[]";
  return std::to_string(value.toScalar().toDouble());
}

std::string described(const Signature::Parameter& parameter) {
  return (parameter.keyword_only ? "* " : "") + parameter.name +
         (parameter.default_value ? "=" + literal(*parameter.default_value) : "");
}

std::string described(const c10::Argument& argument) {
  return (argument.kwarg_only() ? "* " : "") + argument.name() +
         (argument.default_value() ? "=" + literal(*argument.default_value()) : "");
}

std::vector<std::string> described(const c10::FunctionSchema& schema) {
  std::vector<std::string> all;
  for (const c10::Argument& argument : schema.arguments()) all.push_back(described(argument));
  return all;
}

// Parameters as the row has them, without those that only some versions have.
std::vector<std::string> described(const ApiRow& row, const c10::FunctionSchema* only = nullptr) {
  std::vector<std::string> all;
  const Signature signature(row.signature);
  for (const Signature::Parameter& parameter : signature.parameters()) {
    const bool left_out =
        only != nullptr && std::ranges::none_of(only->arguments(), [&](const auto& argument) {
          return argument.name() == parameter.name;
        });
    if (left_out) {
      EXPECT_TRUE(parameter.default_value) << row.api << " " << parameter.name;
    } else {
      all.push_back(described(parameter));
    }
  }
  return all;
}

std::vector<ApiRow> all_rows() {
  std::vector<ApiRow> rows(npu_operators().begin(), npu_operators().end());
  rows.insert(rows.end(), further_operators().begin(), further_operators().end());
  rows.insert(rows.end(), formula_operators().begin(), formula_operators().end());
  rows.insert(rows.end(), training_operators().begin(), training_operators().end());
  return rows;
}

std::string name_of(const ApiRow& row) {
  return std::string(row.api.substr(row.api.find('.') + 1));
}

// A row has the parameters of `out` variants, where there are some, since the plug-in runs no other
// (npu_apply_adam), or since None says that there is none (npu_sort_v2).
TEST(NpuSchemas, EveryRowIsThatOfTheNewestVersion) {
  for (const ApiRow& row : all_rows()) {
    const auto [begin, end] = plug_in_schemas().equal_range(name_of(row));
    ASSERT_NE(begin, end) << row.api;
    const c10::FunctionSchema* newest = nullptr;
    for (auto it = begin; it != end; ++it) {
      const PlugInSchema& found = it->second;
      const bool more = newest == nullptr || found.schema.overload_name() == "out";
      if (found.in(kNewest) && more) newest = &found.schema;
    }
    ASSERT_NE(newest, nullptr) << row.api;
    std::vector<std::string> wanted = described(*newest);
    if (row.api == "NPU.npu_sort_v2") wanted.back() += "=None";
    EXPECT_EQ(described(row), wanted) << row.api;
  }
}

TEST(NpuSchemas, EveryOlderVersionLacksOnlyKeywordsWithDefaults) {
  std::size_t older = 0;
  for (const ApiRow& row : all_rows()) {
    const auto [begin, end] = plug_in_schemas().equal_range(name_of(row));
    for (auto it = begin; it != end; ++it) {
      const c10::FunctionSchema& schema = it->second.schema;
      if (it->second.in(kNewest)) continue;
      std::vector<std::string> wanted = described(schema);
      // The default of the older versions needs a scale and an offset: see routing_formulas.cc.
      if (row.api == "NPU.npu_moe_init_routing_v2") {
        std::ranges::replace(wanted, "* quant_mode=0.000000", "* quant_mode=-1.000000");
      }
      // These have no effect: cos and sin say the layout by their shapes, and an empty mask is
      // none.
      std::ranges::replace(wanted, "layout='BSH'", "layout='BSND'");
      std::ranges::replace(wanted, "* output_mask=[]", "* output_mask=None");
      EXPECT_EQ(described(row, &schema), wanted) << row.api << " " << schema;
      ++older;
    }
  }
  EXPECT_EQ(older, 29U);
}

// What a recording holds: each argument of a schema by its name.
TEST(NpuSchemas, CallsByNameOfEveryVersionBind) {
  for (const ApiRow& row : all_rows()) {
    const Signature signature(row.signature);
    const auto [begin, end] = plug_in_schemas().equal_range(name_of(row));
    for (auto it = begin; it != end; ++it) {
      PyCall call;
      for (const c10::Argument& argument : it->second.schema.arguments()) {
        call.kwargs.emplace_back(argument.name(), PyValue{dump::None{}});
      }
      const bool lacks_out =
          row.api.starts_with("NPU.npu_apply_adam") && it->second.schema.overload_name().empty();
      if (lacks_out) {
        EXPECT_THROW(Bound(signature, call), BindError) << row.api;  // as the plug-in raises
      } else {
        EXPECT_NO_THROW(Bound(signature, call)) << row.api << " " << it->second.schema;
      }
    }
  }
}

}  // namespace
}  // namespace msprobe::execute::npu
