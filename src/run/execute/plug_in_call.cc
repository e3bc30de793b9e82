// SPDX-License-Identifier: Apache-2.0
#include "execute/plug_in_call.h"

#include <algorithm>

namespace msprobe::execute {
namespace {

using Parameters = std::vector<Signature::Parameter>;

// Defaults are literals.
bool is_same(const PyValue& value, const PyValue& literal) {
  if (literal.is_none()) return value.is_none();
  if (const auto* text = literal.as<std::string>()) {
    return value.as<std::string>() != nullptr && *value.as<std::string>() == *text;
  }
  if (const auto* flag = literal.as<bool>()) {
    return value.as<bool>() != nullptr && *value.as<bool>() == *flag;
  }
  const auto number = as_real(literal);
  return number && as_real(value) == number;
}

bool is_default(const PyValue& value, const Signature::Parameter& parameter) {
  return parameter.default_value && is_same(value, *parameter.default_value);
}

bool takes(const OverloadSet& set, std::string_view name) {
  return std::ranges::any_of(set.overloads, [&](const Overload& overload) {
    return std::ranges::find(overload.parameters, name, &Parameter::name) !=
           overload.parameters.end();
  });
}

std::vector<std::string> names_of(const Signature::Parameter& parameter) {
  std::vector<std::string> names = {parameter.name};
  names.insert(names.end(), parameter.other_names.begin(), parameter.other_names.end());
  return names;
}

const Signature::Parameter* parameter_named(const Parameters& parameters, std::string_view name) {
  const auto found = std::ranges::find_if(parameters, [&](const Signature::Parameter& parameter) {
    const std::vector<std::string> names = names_of(parameter);
    return std::ranges::find(names, name) != names.end();
  });
  return found == parameters.end() ? nullptr : &*found;
}

}  // namespace

PyCall plug_in_call(const OverloadSet& set, const Signature& signature, const PyCall& call) {
  const Parameters& parameters = signature.parameters();
  PyCall changed = call;
  changed.kwargs.clear();
  for (const auto& [keyword, value] : call.kwargs) {
    const Signature::Parameter* parameter = parameter_named(parameters, keyword);
    if (takes(set, keyword) || parameter == nullptr) {
      changed.kwargs.emplace_back(keyword, value);
      continue;
    }
    const std::vector<std::string> names = names_of(*parameter);
    const auto name = std::ranges::find_if(names, [&](const auto& n) { return takes(set, n); });
    if (name != names.end()) {
      changed.kwargs.emplace_back(*name, value);
    } else if (!is_default(value, *parameter)) {
      changed.kwargs.emplace_back(keyword, value);  // refused, by name
    }
  }
  std::size_t most = 0;
  for (const Overload& overload : set.overloads) most = std::max(most, overload.positional);
  PyList& args = changed.args;
  while (args.size() > most && args.size() <= parameters.size() &&
         is_default(args.back(), parameters[args.size() - 1])) {
    args.pop_back();
  }
  return changed;
}

}  // namespace msprobe::execute
