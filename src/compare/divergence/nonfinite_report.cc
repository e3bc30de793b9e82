// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "divergence/nonfinite.h"
#include "divergence/place.h"
#include "divergence/read_run.h"
#include "dump/entry_index.h"
#include "dump/framework.h"
#include "dump/printable.h"
#include "dump/step_tree.h"

namespace msprobe::divergence {
namespace {

// Lines of describe() beside the first.
constexpr std::size_t kMostLines = 10;

std::string value_text(const RunTensor& tensor) {
  if (std::isnan(tensor.max) || std::isnan(tensor.min)) return "nan";
  return std::isinf(tensor.max) && tensor.max > 0 ? "inf" : "-inf";
}

std::string value_word(std::string_view value) {
  return value == "nan" ? "NaN" : std::string(value);
}

std::string_view name(NonFiniteCause cause) {
  switch (cause) {
    case NonFiniteCause::kCommunication:
      return "communication";
    case NonFiniteCause::kOutside:
      return "outside";
    case NonFiniteCause::kCall:
      break;
  }
  return "call";
}

struct RankDump {
  int rank = 0;
  std::filesystem::path dump;  // its dump.json
};

struct StepDumps {
  std::filesystem::path directory;
  std::vector<RankDump> ranks;  // by number; at least one
};

Result<std::vector<StepDumps>> steps_below(const std::filesystem::path& path) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(path, ignored)) {
    return std::vector<StepDumps>{{path.parent_path(), {{0, path}}}};
  }
  const Result<dump::StepTree> tree = dump::find_dumps(path);
  if (!tree) return propagate(tree);
  std::vector<StepDumps> steps;
  for (const auto& [place, found] : *tree) {
    if (steps.empty() || steps.back().directory != found.directory) {
      steps.push_back({found.directory, {}});
    }
    steps.back().ranks.push_back(
        {static_cast<int>(std::max<std::int64_t>(place.rank, 0)), found.dump});
  }
  return steps;
}

Result<NonFiniteReport> walk_step(const StepDumps& step) {
  NonFiniteReport report;
  report.directory = step.directory;
  std::vector<RecordedRun> runs;
  std::vector<RankDump> read;
  for (const RankDump& rank : step.ranks) {
    const Result<dump::EntryIndex> index = dump::open_entries(rank.dump);
    if (!index) {
      report.notes.push_back(index.error().message);
      continue;
    }
    if (index->framework && !dump::parse_framework(*index->framework)) {
      return fail(ErrorKind::kUnsupported,
                  fmt::format("{}: framework {}: expected pytorch, mindspore or mindtorch",
                              rank.dump.string(), dump::printable(*index->framework)));
    }
    runs.push_back(read_run(*index, rank.dump.string()));
    read.push_back(rank);
    if (runs.back().broken > 0) {
      report.notes.push_back(fmt::format("{} entries left out, the first: {}", runs.back().broken,
                                         runs.back().first_fault));
    }
  }
  if (runs.empty()) return fail(ErrorKind::kFormat, report.notes.front());
  std::vector<RankRun> ranks;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    ranks.push_back({read[i].rank, &runs[i].run});
    report.ranks.push_back(read[i].rank);
  }
  const NonFiniteWalk walk = walk_nonfinite(ranks);
  report.origin_count = walk.origins.size();
  report.calls = walk.calls;
  report.carrying = walk.carrying;
  std::map<std::uint32_t, PlaceFinder> places;
  for (const NonFiniteCall& found : walk.origins) {
    if (report.origins.size() == NonFiniteReport::kMostOrigins) break;
    const Trace& run = *ranks[found.place.rank].run;
    const Call& call = run.calls[found.place.call];
    const RunTensor& tensor = run.tensors[found.tensor];
    PlaceFinder& finder =
        places.try_emplace(found.place.rank, read[found.place.rank].dump).first->second;
    CallPlace place = finder.find(call.entry);
    report.origins.push_back({.cause = found.cause,
                              .rank = ranks[found.place.rank].rank,
                              .entry = std::string(call.entry),
                              .item = fmt::format("{}.{}", call.entry, run.paths[tensor.path]),
                              .value = value_text(tensor),
                              .module = std::move(place.module),
                              .source = std::move(place.source),
                              .rerun = std::move(place.rerun),
                              .time = found.time,
                              .stack = std::move(place.stack)});
  }
  return report;
}

std::string sentence(const NonFiniteOrigin& origin, bool say_rank) {
  const std::string where = say_rank ? fmt::format(" on rank {}", origin.rank) : std::string();
  const std::string value = value_word(origin.value);
  switch (origin.cause) {
    case NonFiniteCause::kOutside:
      return fmt::format("{} enters{} with {}: no recorded call made it", value, where,
                         origin.item);
    case NonFiniteCause::kCommunication:
      return fmt::format("{} appears{} in {}: everything that was sent to it is finite", value,
                         where, origin.item);
    case NonFiniteCause::kCall:
      break;
  }
  return fmt::format("{} appears{} in {}: its inputs are finite", value, where, origin.item);
}

void write_origin(const NonFiniteOrigin& origin, JsonWriter& json) {
  const auto text = [&json](std::string_view key, const std::string& value) {
    json.key(key);
    if (value.empty())
      json.null();
    else
      json.value(value);
  };
  json.begin_object();
  json.key("rank").value(origin.rank);
  text("op_name", origin.entry);
  text("item", origin.item);
  text("value", origin.value);
  json.key("cause").value(name(origin.cause));
  text("module", origin.module);
  text("source", origin.source);
  text("rerun", origin.rerun);
  json.key("order").value(static_cast<std::size_t>(origin.time));
  json.key("stack_info").begin_array();
  for (const std::string& frame : origin.stack) json.value(frame);
  json.end_array();
  json.end_object();
}

}  // namespace

Result<NonFiniteReport> find_nonfinite(const std::filesystem::path& path) {
  const Result<std::vector<StepDumps>> steps = steps_below(path);
  if (!steps) return propagate(steps);
  std::optional<Result<NonFiniteReport>> last;
  for (const StepDumps& step : *steps) {
    last = walk_step(step);
    if (!*last || !(*last)->origins.empty()) break;
  }
  return *std::move(last);
}

std::string describe(const NonFiniteReport& report) {
  const bool many = report.ranks.size() > 1;
  const std::string over = many ? fmt::format(" of {} ranks", report.ranks.size()) : std::string();
  if (report.origins.empty()) {
    return fmt::format("No call{} makes NaN or infinity from finite inputs ({} calls).\n", over,
                       report.calls);
  }
  const NonFiniteOrigin& first = report.origins.front();
  std::string text = fmt::format("First: {}.\n", sentence(first, many));
  if (!first.module.empty()) text += fmt::format("  module  {}\n", first.module);
  if (!first.source.empty()) text += fmt::format("  source  {}\n", first.source);
  if (!first.rerun.empty()) text += fmt::format("  replay  {}\n", first.rerun);
  for (std::size_t i = 1; i < report.origins.size() && i <= kMostLines; ++i) {
    text += fmt::format("{}: {}.\n", i + 1, sentence(report.origins[i], many));
  }
  if (report.origin_count > kMostLines + 1) {
    text += fmt::format("{} more.\n", report.origin_count - kMostLines - 1);
  }
  text += fmt::format("{} calls{}: {} make NaN or infinity, {} pass it on.\n", report.calls, over,
                      report.origin_count, report.carrying);
  return text;
}

void write_json(const NonFiniteReport& report, JsonWriter& json) {
  json.begin_object();
  json.key("first_nonfinite");
  if (report.origins.empty())
    json.null();
  else
    write_origin(report.origins.front(), json);
  json.key("directory").value(report.directory.string());
  json.key("calls").value(report.calls);
  json.key("carrying").value(report.carrying);
  json.key("origin_count").value(report.origin_count);
  json.key("ranks").begin_array();
  for (const int rank : report.ranks) json.value(rank);
  json.end_array();
  json.key("origins").begin_array();
  for (const NonFiniteOrigin& origin : report.origins) write_origin(origin, json);
  json.end_array();
  json.key("notes").begin_array();
  for (const std::string& note : report.notes) json.value(note);
  json.end_array();
  json.end_object();
}

}  // namespace msprobe::divergence
