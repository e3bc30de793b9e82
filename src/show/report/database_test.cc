// SPDX-License-Identifier: Apache-2.0
#include "report/database.h"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include "scratch_directory_for_test.h"

namespace msprobe::report {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

ReportRun run_of(std::string details) {
  ReportRun run;
  run.kind = "check";
  run.title = "sim";
  run.origin = {{"details", std::move(details)}, {"device", "sim"}};
  run.metrics = {{"Cosine similarity", ""}, {"Maximum absolute error", "reference"}};
  ReportCall& call = run.calls.emplace_back();
  call.name = "Torch.matmul.0";
  call.api = "Torch.matmul";
  call.forward = Verdict::kError;
  call.strict = Verdict::kError;
  call.row_count = 1;
  call.site.module = "blocks.0";
  ReportRow row;
  row.part = "forward.output.0";
  row.status = Verdict::kError;
  row.strict = Verdict::kError;
  row.likely_cause = "it's \"lost\"";
  row.numbers = {0.5, std::numeric_limits<double>::quiet_NaN()};
  run.rows.push_back(row);
  return run;
}

// Every cell of the answer, row by row.
std::vector<std::string> query(const std::filesystem::path& path, const char* sql) {
  sqlite3* database = nullptr;
  sqlite3_open_v2(path.c_str(), &database, SQLITE_OPEN_READONLY, nullptr);
  std::vector<std::string> cells;
  const auto add = [](void* out, int count, char** values, char**) {
    for (int i = 0; i < count; ++i) {
      static_cast<std::vector<std::string>*>(out)->emplace_back(values[i] ? values[i] : "NULL");
    }
    return 0;
  };
  EXPECT_EQ(sqlite3_exec(database, sql, add, &cells, nullptr), SQLITE_OK)
      << sqlite3_errmsg(database);
  sqlite3_close(database);
  return cells;
}

TEST(Database, HoldsRunsCallsOutputsAndMetrics) {
  const ScratchDirectory scratch;
  const auto path = scratch.path() / "results.sqlite";
  const ReportRun run = run_of("/out/a.csv");
  ASSERT_TRUE(add_to_database(path, std::span(&run, 1)));
  EXPECT_THAT(query(path,
                    "SELECT runs.title, calls.name, calls.module, outputs.likely_cause, "
                    "cosine_similarity, reference_maximum_absolute_error FROM runs JOIN calls "
                    "ON calls.run = runs.id JOIN outputs ON outputs.call = calls.id"),
              ElementsAre("sim", "Torch.matmul.0", "blocks.0", "it's \"lost\"", "0.5", "nan"));
  EXPECT_THAT(query(path, "SELECT value FROM facts WHERE key = 'device'"), ElementsAre("sim"));
}

TEST(Database, TheSameRunReplacesItselfAndOthersAreAdded) {
  const ScratchDirectory scratch;
  const auto path = scratch.path() / "results.sqlite";
  const ReportRun first = run_of("/out/a.csv");
  ReportRun second = run_of("/out/b.csv");
  second.metrics[0].title = "Maximum ULP error";  // a column that the first did not have
  for (const ReportRun* run : {&first, &first, &std::as_const(second)}) {
    ASSERT_TRUE(add_to_database(path, std::span(run, 1)));
  }
  EXPECT_THAT(query(path, "SELECT count(*) FROM runs"), ElementsAre("2"));
  EXPECT_THAT(query(path, "SELECT count(*) FROM outputs"), ElementsAre("2"));
  EXPECT_THAT(query(path, "SELECT cosine_similarity, maximum_ulp_error FROM outputs ORDER BY id"),
              ElementsAre("0.5", "NULL", "NULL", "0.5"));
}

TEST(Database, WhatIsNotOursIsRefusedAndLeftAlone) {
  const ScratchDirectory scratch;
  const ReportRun run = run_of("/out/a.csv");
  const auto text = scratch.write("notes.sqlite", "these are notes, not a database of any kind");
  const Result<void> no_database = add_to_database(text, std::span(&run, 1));
  ASSERT_FALSE(no_database);
  EXPECT_THAT(no_database.error().message, HasSubstr("notes.sqlite: file is not a database"));
  EXPECT_EQ(read_text(scratch.path() / "notes.sqlite"),
            "these are notes, not a database of any kind");

  const auto other = scratch.path() / "other.sqlite";
  sqlite3* database = nullptr;
  sqlite3_open(other.c_str(), &database);
  sqlite3_exec(database, "CREATE TABLE mine (x)", nullptr, nullptr, nullptr);
  sqlite3_close(database);
  const Result<void> foreign = add_to_database(other, std::span(&run, 1));
  ASSERT_FALSE(foreign);
  EXPECT_THAT(foreign.error().message, HasSubstr("not a database of msprobe"));
  EXPECT_THAT(query(other, "SELECT name FROM sqlite_master"), ElementsAre("mine"));
}

TEST(Database, ADirectoryThatIsNotThereIsAnError) {
  const ReportRun run = run_of("/out/a.csv");
  EXPECT_FALSE(add_to_database("/nowhere/at/all.sqlite", std::span(&run, 1)));
}

}  // namespace
}  // namespace msprobe::report
