// SPDX-License-Identifier: Apache-2.0
#include "torchair/slices.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>

#include <fmt/format.h>

#include "ge/elements.h"
#include "torchair/tensor_data.h"

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
    if (slice.source.kind != slices.front().source.kind) {
      return "some of the slices are converted, others are not";
    }
  }
  return {};
}

GeTensorInfo info_of(const GeData& data, DumpSide side, std::uint32_t index,
                     const GeTensorInfo& of_first) {
  GeTensorInfo info;
  info.original_op = of_first.original_op;
  const auto& plans = data.joined(side);
  if (index < plans.size()) info.unknown = plans[index].unknown;
  if (!info.unknown.empty()) {
    info.dtype = of_first.dtype;
    info.format = of_first.format;
    return info;
  }
  const Result<TensorData> tensor = data.tensor(side, index);
  if (!tensor) {
    info.problem = tensor.error().message;
    info.dtype = of_first.dtype;
  } else if (tensor->elements) {
    info.dtype = tensor->elements->type_text;
    info.shape = tensor->elements->shape;
    info.format = tensor->elements->format;
  } else if (tensor->info && tensor->info->empty()) {
    info.unknown = "converted values of slices are put together only as minimum and maximum";
  } else {
    info.dtype = of_first.dtype;
  }
  return info;
}

void describe(GeFile& op) {
  const Result<GeData> data = GeData::open(op.source);
  if (!data) {
    op.problem = data.error().message;
    op.inputs.clear();
    op.outputs.clear();
    return;
  }
  for (const DumpSide side : {DumpSide::kInput, DumpSide::kOutput}) {
    std::vector<GeTensorInfo>& tensors = side == DumpSide::kInput ? op.inputs : op.outputs;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      tensors[i] = info_of(*data, side, static_cast<std::uint32_t>(i), tensors[i]);
    }
  }
}

// Whether the files stand for the operator each by itself: the newest is all of it.
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
  for (const GeFile& slice : slices) {
    op.source.slices.push_back({slice.source.path, *slice.slice});
    // A damaged slice has only the name of its file.
    if (op.name_is_escaped && !slice.name_is_escaped) {
      op.op_name = slice.op_name;
      op.name_is_escaped = false;
    }
  }
  if (problem.empty()) {
    describe(op);
    return op;
  }
  op.problem = std::move(problem);
  op.inputs.clear();
  op.outputs.clear();
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
