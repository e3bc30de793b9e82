// SPDX-License-Identifier: Apache-2.0
#include "execute/mutated.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

namespace msprobe::execute {
namespace {

constexpr std::string_view kKeyword = "kwargs.";

std::optional<std::size_t> as_index(std::string_view text) {
  std::size_t index = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), index);
  if (fault != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return index;
}

const PyValue* element(const PyList& list, std::string_view text) {
  const std::optional<std::size_t> index = as_index(text);
  return index && *index < list.size() ? &list[*index] : nullptr;
}

// "0", "1.3", "kwargs.out" or "kwargs.params.3".
const PyValue* find(const PyCall& call, std::string_view place) {
  const bool of_keyword = place.starts_with(kKeyword);
  if (of_keyword) place.remove_prefix(kKeyword.size());
  const std::size_t dot = place.find('.');
  const std::string_view first = place.substr(0, dot);
  const PyValue* value = nullptr;
  if (of_keyword) {
    const auto found = std::ranges::find(
        call.kwargs, first, [](const auto& item) { return std::string_view(item.first); });
    if (found != call.kwargs.end()) value = &found->second;
  } else {
    value = element(call.args, first);
  }
  if (value == nullptr || dot == std::string_view::npos) return value;
  const auto* list = value->as<PyList>();
  return list == nullptr ? nullptr : element(*list, place.substr(dot + 1));
}

}  // namespace

PyList mutated_arguments(const PyCall& call, const dump::Dict& mutated) {
  PyList values;
  for (const dump::DictItem& item : mutated) {
    const PyValue* found = find(call, item.first);
    values.push_back(found == nullptr ? PyValue{dump::None{}} : *found);
  }
  return values;
}

PyValue with_mutated(const PyValue& output, const PyList& mutated) {
  if (mutated.empty()) return output;
  const auto* several = output.as<PyList>();
  PyList all = several == nullptr ? PyList{output} : *several;
  all.insert(all.end(), mutated.begin(), mutated.end());
  return {std::move(all)};
}

dump::List recorded_mutations(const dump::Dict& mutated) {
  dump::List values;
  for (const dump::DictItem& item : mutated) values.push_back(item.second);
  return values;
}

}  // namespace msprobe::execute
