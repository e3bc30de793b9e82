// SPDX-License-Identifier: Apache-2.0
#include "judge/outputs.h"

#include <algorithm>

namespace msprobe::judge {
namespace {

constexpr std::string_view kTypeDiffers = "bench and npu output type is different.";
constexpr std::string_view kKeysDiffer = "bench and npu output dict keys are different.";
constexpr std::string_view kStructureDiffers = "bench and npu output structure is different.";
constexpr std::string_view kUnexpectedList =
    "Unexpected output type in compare_core: <class 'list'>";

using Pairs = std::vector<PairedOutput>;

void add_problem(Pairs& pairs, std::string_view problem) {
  pairs.push_back({.bench = nullptr, .device = nullptr, .problem = problem});
}

const Output* find(const OutputDict& dict, std::string_view key) {
  const auto found = std::ranges::find(dict, key, &OutputItem::key);
  return found == dict.end() ? nullptr : &found->value;
}

bool same_keys(const OutputDict& bench, const OutputDict& device) {
  return bench.size() == device.size() && std::ranges::all_of(bench, [&](const OutputItem& item) {
           return find(device, item.key) != nullptr;
         });
}

void pair_nodes(const Output& bench, const Output& device, Pairs& pairs);

void pair_lists(const OutputList& bench, const OutputList& device, Pairs& pairs) {
  for (std::size_t i = 0; i < bench.size(); ++i) {
    if (i < device.size()) {
      pair_nodes(bench[i], device[i], pairs);
    } else {
      add_problem(pairs, kStructureDiffers);
    }
  }
}

void pair_nodes(const Output& bench, const Output& device, Pairs& pairs) {
  if (bench.data.index() != device.data.index()) return add_problem(pairs, kTypeDiffers);
  if (const auto* const list = std::get_if<OutputList>(&bench.data)) {
    return pair_lists(*list, std::get<OutputList>(device.data), pairs);
  }
  if (const auto* const dict = std::get_if<OutputDict>(&bench.data)) {
    const auto& other = std::get<OutputDict>(device.data);
    if (!same_keys(*dict, other)) return add_problem(pairs, kKeysDiffer);
    for (const auto& [key, value] : *dict) pair_nodes(value, *find(other, key), pairs);
    return;
  }
  pairs.push_back({.bench = &bench, .device = &device});
}

void pair_as_public_tool(const Output& bench, const Output& device, Pairs& pairs) {
  if (bench.data.index() != device.data.index()) return add_problem(pairs, kTypeDiffers);
  if (const auto* const dict = std::get_if<OutputDict>(&bench.data)) {
    const bool same = same_keys(*dict, std::get<OutputDict>(device.data));
    return add_problem(pairs, same ? kUnexpectedList : kKeysDiffer);
  }
  if (std::holds_alternative<OutputList>(bench.data)) return add_problem(pairs, kUnexpectedList);
  pairs.push_back({.bench = &bench, .device = &device});
}

}  // namespace

Result<std::vector<PairedOutput>> pair_outputs(const Output& bench, const Output& device,
                                               Profile profile) {
  Pairs pairs;
  if (profile == Profile::kDocumented) {
    pair_nodes(bench, device, pairs);
    return pairs;
  }
  const auto* const bench_list = std::get_if<OutputList>(&bench.data);
  const auto* const device_list = std::get_if<OutputList>(&device.data);
  if (bench_list == nullptr || device_list == nullptr) {
    pair_as_public_tool(bench, device, pairs);
    return pairs;
  }
  if (device_list->size() < bench_list->size()) {
    return fail(ErrorKind::kExecution, "list index out of range");
  }
  for (std::size_t i = 0; i < bench_list->size(); ++i) {
    pair_as_public_tool((*bench_list)[i], (*device_list)[i], pairs);
  }
  return pairs;
}

OutputPair tensor_pair(const Tensor& bench, const Tensor& device) {
  return {bench.dtype, bench.shape, device.dtype, device.shape};
}

}  // namespace msprobe::judge
