// SPDX-License-Identifier: Apache-2.0
#include "check/merge_checks.h"

#include <charconv>

#include "check/dialect.h"
#include "check/fingerprint.h"
#include "documented/skip_message.h"
#include "journal/merge_shards.h"
#include "journal/run_file.h"

namespace msprobe::check {
namespace {

journal::CsvPairFormat format_of(const journal::RunFile& run) {
  const Dialect* dialect = find_dialect(run.fact(kDialectFact));
  if (dialect == nullptr) dialect = &pytorch_dialect();  // a run of an earlier version
  const auto titles =
      run.fact(kTitlesFact) == "zh" ? tables::Titles::kChinese : tables::Titles::kEnglish;
  const auto profile = run.fact(kProfileFact) == "reference" ? documented::Profile::kReference
                                                             : documented::Profile::kDocumented;
  return {headers_of(*dialect, profile, titles), dialect->names, dialect->style};
}

std::size_t number_fact(const journal::RunFacts& facts, std::string_view wanted) {
  std::size_t number = 0;
  for (const auto& [key, value] : facts) {
    if (key == wanted) std::from_chars(value.data(), value.data() + value.size(), number);
  }
  return number;
}

}  // namespace

Result<MergeOutcome> merge_checks(const MergeOptions& options) {
  MergeOutcome outcome;
  Result<journal::MergedShards> merged =
      journal::merge_shards({options.directories, options.out_directory, options.timestamp,
                             &format_of, [&](documented::ResultRow row) {
                               row.skip = documented::skip_reason_of(row.message);
                               outcome.coverage.add(row);
                             }});
  if (!merged) return propagate(merged);
  outcome.shards = merged->shards;
  outcome.paths = std::move(merged->paths);
  outcome.coverage.recorded = number_fact(merged->facts, kRecordedFact);
  outcome.coverage.repeats = number_fact(merged->facts, kRepeatsFact);
  outcome.coverage.not_selected = number_fact(merged->facts, kNotSelectedFact);
  return outcome;
}

}  // namespace msprobe::check
