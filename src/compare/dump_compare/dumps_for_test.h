// SPDX-License-Identifier: Apache-2.0
// Small dumps in a scratch directory, and what their comparison says.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "dump_compare/compare_dumps.h"
#include "scratch_directory_for_test.h"

namespace msprobe::dump_compare {

class InScratch : public ::testing::Test {
 protected:
  std::filesystem::path put(const std::filesystem::path& name, const std::string& words) const {
    return scratch_.write(name, words);
  }
  std::filesystem::path dump(const std::filesystem::path& name, const std::string& data,
                             const std::string& framework = "pytorch") const {
    return put(name, R"({"task": "statistics", "framework": ")" + framework + R"(", "data": {)" +
                         data + "}}");
  }

  struct Outcome {
    std::vector<std::string> rows;  // "target golden result"
    Totals totals;
    std::string fault;
  };
  static Outcome compared(DumpCompareOptions options) {
    Outcome outcome;
    const auto dumps = open_dumps(options);
    if (!dumps) {
      outcome.fault = dumps.error().message;
      return outcome;
    }
    DumpCompareEvents events;
    events.on_rows = [&](const EntryRows& rows) -> Result<void> {
      for (const ItemRow& row : rows.rows) {
        const auto shown = [](const dump::Entry* entry, const dump::Item* item) {
          return item == nullptr ? std::string("-") : dump::item_name(*entry, *item);
        };
        outcome.rows.push_back(shown(row.target_entry, row.target) + " " +
                               shown(row.golden_entry, row.golden) + " " +
                               std::string(name(row.outcome)));
      }
      return {};
    };
    const auto totals = compare(*dumps, options, events);
    if (totals) {
      outcome.totals = *totals;
    } else {
      outcome.fault = totals.error().message;
    }
    return outcome;
  }

  ScratchDirectory scratch_;
  const std::filesystem::path directory_ = scratch_.path();
};

inline std::string tensor(double norm, const std::string& dtype = "torch.float32") {
  const std::string number = std::to_string(norm);
  return R"({"type": "torch.Tensor", "dtype": ")" + dtype + R"(", "shape": [2], "Max": )" + number +
         R"(, "Min": )" + number + R"(, "Mean": )" + number + R"(, "Norm": )" + number +
         R"(, "requires_grad": false})";
}

inline std::string call(const std::string& name, const std::string& input,
                        const std::string& output) {
  return "\"" + name + R"(": {"input_args": [)" + input + R"(], "output": [)" + output + "]}";
}

}  // namespace msprobe::dump_compare
