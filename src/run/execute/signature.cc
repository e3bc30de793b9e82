// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <limits>

#include <fmt/format.h>

#include "execute/adapter.h"

namespace msprobe::execute {
namespace {

constexpr std::string_view kSpaces = " \n";

std::string_view trim(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kSpaces);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpaces) - first + 1);
}

// Splits at commas outside brackets.
std::vector<std::string_view> split_list(std::string_view text) {
  std::vector<std::string_view> parts;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '(' || text[i] == '[') ++depth;
    if (text[i] == ')' || text[i] == ']') --depth;
    if (text[i] == ',' && depth == 0) {
      parts.push_back(trim(text.substr(begin, i - begin)));
      begin = i + 1;
    }
  }
  if (const std::string_view last = trim(text.substr(begin)); !last.empty()) parts.push_back(last);
  return parts;
}

PyValue parse_number(std::string_view text) {
  const char* end = text.data() + text.size();
  std::int64_t integer = 0;
  if (std::from_chars(text.data(), end, integer).ptr == end) return {integer};
  double real = 0;
  if (std::from_chars(text.data(), end, real).ptr == end) return {real};
  throw std::logic_error(fmt::format("signature: '{}' is not a literal", text));
}

PyValue parse_literal(std::string_view text) {
  if (text == "None") return {dump::None{}};
  if (text == "True") return {true};
  if (text == "False") return {false};
  if (text.starts_with('\'')) return {std::string(text.substr(1, text.size() - 2))};
  if (text.starts_with('(') || text.starts_with('[')) {
    PyList items;
    for (const std::string_view item : split_list(text.substr(1, text.size() - 2))) {
      items.push_back(parse_literal(item));
    }
    return {std::move(items)};
  }
  return parse_number(text);
}

struct NumpyName {
  std::string_view numpy;
  std::string_view torch;
};
constexpr NumpyName kNumpyNames[] = {
    {"axis", "dim"}, {"keepdims", "keepdim"}, {"x", "input"}, {"x2", "other"}};

bool names(const Signature::Parameter& parameter, std::string_view keyword) {
  if (parameter.name == keyword) return true;
  if (std::ranges::find(parameter.other_names, keyword) != parameter.other_names.end()) return true;
  return std::ranges::any_of(kNumpyNames, [&](const NumpyName& name) {
    return name.numpy == keyword && name.torch == parameter.name;
  });
}

}  // namespace

Signature::Signature(std::string_view text) {
  bool keyword_only = false;
  for (const std::string_view part : split_list(text)) {
    if (part == "*") {
      keyword_only = true;
      continue;
    }
    Parameter parameter;
    parameter.keyword_only = keyword_only;
    const std::size_t equals = part.find('=');
    parameter.name = trim(part.substr(0, equals));
    if (equals != std::string_view::npos) {
      parameter.default_value = parse_literal(trim(part.substr(equals + 1)));
    }
    for (std::size_t bar = parameter.name.rfind('|'); bar != std::string::npos;
         bar = parameter.name.rfind('|')) {
      parameter.other_names.push_back(parameter.name.substr(bar + 1));
      parameter.name.erase(bar);
    }
    if (parameter.name.starts_with('*')) {
      parameter.name.erase(0, 1);
      parameter.rest = true;
      keyword_only = true;
    }
    parameters_.push_back(std::move(parameter));
  }
}

Bound::Bound(const Signature& signature, const PyCall& call)
    : signature_(&signature),
      call_(&call),
      values_(signature.parameters().size()),
      given_(signature.parameters().size()) {
  const std::vector<Signature::Parameter>& parameters = signature.parameters();
  std::size_t taken = 0;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i].rest) {
      rest_.push_back(
          {PyList(call.args.begin() + static_cast<std::ptrdiff_t>(taken), call.args.end())});
      values_[i] = &rest_.front();
      taken = call.args.size();
    } else if (taken < call.args.size() && !parameters[i].keyword_only) {
      values_[i] = &call.args[taken++];
      given_[i] = true;
    }
  }
  if (taken < call.args.size()) {
    throw BindError(
        fmt::format("takes {} positional arguments but {} were given", taken, call.args.size()));
  }
  for (const auto& [keyword, value] : call.kwargs) {
    const auto found = std::ranges::find_if(
        parameters, [&](const Signature::Parameter& p) { return names(p, keyword); });
    if (found == parameters.end()) {
      throw BindError(fmt::format("got an unexpected keyword argument '{}'", keyword));
    }
    const auto i = static_cast<std::size_t>(found - parameters.begin());
    if (given_[i]) throw BindError(fmt::format("got multiple values for argument '{}'", keyword));
    values_[i] = &value;
    given_[i] = true;
  }
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (values_[i] != nullptr) continue;
    if (!parameters[i].default_value) {
      throw BindError(fmt::format("missing required argument '{}'", parameters[i].name));
    }
    values_[i] = &*parameters[i].default_value;
  }
}

std::size_t Bound::index(std::string_view name) const {
  const auto& parameters = signature_->parameters();
  const auto found = std::ranges::find(parameters, name, &Signature::Parameter::name);
  if (found == parameters.end()) {
    throw std::logic_error(fmt::format("adapter asks for '{}', its signature lacks it", name));
  }
  return static_cast<std::size_t>(found - parameters.begin());
}

const PyValue& Bound::value(std::string_view name) const { return *values_[index(name)]; }

bool Bound::has(std::string_view name) const {
  const auto& parameters = signature_->parameters();
  return std::ranges::find(parameters, name, &Signature::Parameter::name) != parameters.end();
}

bool Bound::given(std::string_view name) const { return given_[index(name)]; }

}  // namespace msprobe::execute
