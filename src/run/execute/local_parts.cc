// SPDX-License-Identifier: Apache-2.0
#include "execute/local_parts.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "execute/overload.h"
#include "libtorch/operator_tags.h"
#include "ops/op.h"

namespace msprobe::execute {
namespace {

using Tensors = std::vector<const dump::TensorRecord*>;

void add_tensors(const dump::Value& value, Tensors& tensors) {
  if (const auto* tensor = value.as<dump::TensorRecord>()) tensors.push_back(tensor);
  const auto* list = value.as<dump::List>();
  if (list == nullptr) return;
  for (const dump::Value& element : *list) add_tensors(element, tensors);
}

// The tensors of each argument, result and gradient. What a call changes is among its arguments.
std::vector<Tensors> tensors_of(const dump::CallRecord& record) {
  std::vector<Tensors> all;
  const auto add = [&](const dump::Value& value) { add_tensors(value, all.emplace_back()); };
  std::ranges::for_each(record.forward.input_args, add);
  for (const dump::DictItem& item : record.forward.input_kwargs) add(item.second);
  std::ranges::for_each(record.forward.output, add);
  if (record.backward) {
    std::ranges::for_each(record.backward->input, add);
    std::ranges::for_each(record.backward->output, add);
  }
  return all;
}

bool is_part(const dump::TensorRecord* tensor) { return !tensor->is_whole; }
bool is_one_number(const dump::TensorRecord* tensor) {
  return std::ranges::all_of(tensor->shape, [](std::int64_t extent) { return extent == 1; });
}

// Parts of sums that are not added up yet do not count.
bool are_cut_alike(const Tensors& some, const Tensors& others) {
  return std::ranges::equal(some, others, [](const auto* one, const auto* other) {
    return is_part(one) && is_part(other) && one->shape == other->shape &&
           one->placements == other->placements && !one->placements.empty() &&
           one->placements.find("Partial") == std::string::npos;
  });
}

// Pointwise, too, though PyTorch has no tag for them.
constexpr std::string_view kUntagged[] = {"copy_", "detach",    "fill_",     "full_like",
                                          "zero_", "ones_like", "zeros_like"};

bool is_pointwise(const CallName& name) {
  constexpr std::string_view kOfLists = "_foreach_";
  std::string_view operation = ops::traits_of(name.bare_name).aten;
  if (operation.empty()) operation = name.bare_name;
  if (operation.starts_with(kOfLists)) operation.remove_prefix(kOfLists.size());
  if (std::ranges::find(kUntagged, operation) != std::end(kUntagged)) return true;
  const OverloadSet set = find_overloads(operation, OverloadStyle::kOperator);
  return std::ranges::any_of(
      set.overloads, [](const Overload& overload) { return libtorch::is_pointwise(overload.op); });
}

}  // namespace

bool needs_other_parts(const dump::CallRecord& record, const CallName& name) {
  const std::vector<Tensors> all = tensors_of(record);
  const auto has_part = [](const Tensors& tensors) {
    return std::ranges::any_of(tensors, is_part);
  };
  const auto first = std::ranges::find_if(all, has_part);
  if (first == all.end()) return false;
  const bool alike = std::ranges::all_of(all, [&](const Tensors& tensors) {
    return has_part(tensors) ? are_cut_alike(*first, tensors)
                             : std::ranges::all_of(tensors, is_one_number);
  });
  return !alike || !is_pointwise(name);
}

}  // namespace msprobe::execute
