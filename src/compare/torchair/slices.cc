// SPDX-License-Identifier: Apache-2.0
// Operators that ran in slices (FFTS+) left several files each.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>

#include <fmt/format.h>

#include "torchair/ge_files.h"

namespace msprobe::torchair {
namespace {

using Slices = std::vector<GeFile>;  // of one execution, in order of time and number

// How many slices an execution has, as the first file that says so says. 0: none does.
std::uint64_t instances_of(const std::vector<GeFile>& files) {
  for (const GeFile& file : files) {
    if (file.cut && file.cut->instances > 0) return file.cut->instances;
  }
  return 0;
}

// Whether every slice ran as often as the others: then it does not matter whether executions
// overlapped in time.
bool ran_alike(const std::vector<GeFile>& files, std::uint64_t instances) {
  std::map<std::uint32_t, std::size_t> times;
  for (const GeFile& file : files) ++times[*file.slice];
  return (instances == 0 || times.size() == instances) &&
         std::ranges::all_of(times,
                             [&](const auto& of) { return of.second == times.begin()->second; });
}

// An operator may run several times in one token. Where a slice is missing, a number that comes
// again is of the next time.
std::vector<Slices> executions_of(std::vector<GeFile> files, std::uint64_t instances) {
  std::vector<Slices> executions;
  const bool alike = ran_alike(files, instances);
  std::map<std::uint32_t, std::size_t> seen;
  std::set<std::uint32_t> numbers;  // of the last execution
  for (GeFile& file : files) {
    std::size_t which = seen[*file.slice]++;
    if (!alike) {
      const bool is_full = instances > 0 && numbers.size() == instances;
      if (is_full || numbers.contains(*file.slice)) numbers.clear();
      which = numbers.empty() ? executions.size() : executions.size() - 1;
      numbers.insert(*file.slice);
    }
    if (which == executions.size()) executions.emplace_back();
    executions[which].push_back(std::move(file));
  }
  return executions;
}

std::string missing_slices(const Slices& slices, std::uint64_t instances) {
  std::set<std::uint32_t> numbers;
  for (const GeFile& slice : slices) numbers.insert(*slice.slice);
  // Without a number of slices in a header only a gap shows.
  const std::uint64_t wanted =
      instances > 0 ? instances : std::uint64_t{*numbers.rbegin()} - *numbers.begin() + 1;
  if (numbers.size() >= wanted) return {};
  return fmt::format("only {} of {} slices exist (number {})", numbers.size(), wanted,
                     fmt::join(numbers, ", "));
}

// The first reason why the slices cannot be put together.
std::string problem_of(const Slices& slices) {
  for (const GeFile& slice : slices) {
    if (!slice.problem.empty()) return fmt::format("slice {}: {}", slice.name, slice.problem);
    if (slice.kind != slices.front().kind) {
      return "some of the slices are converted, others are not";
    }
  }
  return {};
}

// True if each file holds the whole operator; then the newest wins.
bool is_uncut(const Slices& slices) {
  return slices.front().cut && !ge::is_cut(*slices.front().cut);
}

GeFile joined(Slices slices, std::uint64_t instances) {
  const bool is_alone = slices.size() == 1 && instances <= 1;
  if (is_alone && !slices.front().is_manual_slice) return std::move(slices.front());
  std::string problem = problem_of(slices);
  if (problem.empty() && is_uncut(slices)) return std::move(slices.back());
  if (problem.empty()) problem = missing_slices(slices, instances);
  GeFile op = slices.front();
  op.paths.clear();
  std::vector<GeData::Slice> parts;
  for (const GeFile& slice : slices) {
    op.paths.push_back(slice.paths.front());
    parts.push_back({slice.data.get(), slice.name, *slice.slice});
    // A damaged slice has only the name of its file.
    if (op.name_is_escaped && !slice.name_is_escaped) {
      op.op_name = slice.op_name;
      op.name_is_escaped = false;
    }
  }
  op.data.reset();
  op.inputs.clear();
  op.outputs.clear();
  op.problem = std::move(problem);
  if (!op.problem.empty()) return op;
  Result<GeData> data = GeData::join(parts);
  if (!data) {
    op.problem = data.error().message;
    return op;
  }
  op.inputs = data->infos(DumpSide::kInput);
  op.outputs = data->infos(DumpSide::kOutput);
  op.data = std::make_shared<const GeData>(*std::move(data));
  return op;
}

}  // namespace

std::vector<GeFile> join_slices(std::vector<GeFile> files) {
  std::vector<GeFile> ops;
  std::map<std::string, std::vector<GeFile>> sliced;  // by the name a file has
  for (GeFile& file : files) {
    if (!file.slice) {
      ops.push_back(std::move(file));
    } else {
      sliced[ge::escaped(file.op_name)].push_back(std::move(file));
    }
  }
  if (sliced.empty()) return ops;
  for (auto& [name, slices] : sliced) {
    const std::uint64_t instances = instances_of(slices);
    for (Slices& execution : executions_of(std::move(slices), instances)) {
      ops.push_back(joined(std::move(execution), instances));
    }
  }
  std::ranges::stable_sort(ops, [](const GeFile& a, const GeFile& b) {
    return std::tie(a.time, a.name) < std::tie(b.time, b.name);
  });
  return ops;
}

}  // namespace msprobe::torchair
