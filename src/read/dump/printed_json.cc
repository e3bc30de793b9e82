// SPDX-License-Identifier: Apache-2.0
#include "dump/printed_json.h"

#include <utility>

#include "core/python_text.h"

namespace msprobe::dump {
namespace {

bool print_scalar(JsonReader& json, std::string& out) {
  const std::string_view token = json.token();
  JsonScalar scalar;
  if (!json.read_scalar(scalar)) return false;
  if (scalar.kind == JsonScalar::Kind::kNull) {
    out += "None";
  } else if (scalar.kind == JsonScalar::Kind::kBool) {
    out += scalar.integer != 0 ? "True" : "False";
  } else if (scalar.kind == JsonScalar::Kind::kReal) {
    append_python_float(out, scalar.real);
  } else {
    out += token;
  }
  return true;
}

}  // namespace

bool print_as_python(JsonReader& json, std::string& out) {
  auto separate = [&out, first = true]() mutable {
    if (!std::exchange(first, false)) out += ", ";
  };
  switch (json.first()) {
    case '[': {
      out += '[';
      if (!json.each_element([&] {
            separate();
            return print_as_python(json, out);
          })) {
        return false;
      }
      out += ']';
      return true;
    }
    case '{': {
      out += '{';
      if (!json.each_field([&](std::string_view key) {
            separate();
            append_python_string(out, key);
            out += ": ";
            return print_as_python(json, out);
          })) {
        return false;
      }
      out += '}';
      return true;
    }
    case '"': {
      std::string text;
      if (!json.read_text(text)) return false;
      append_python_string(out, text);
      return true;
    }
    default:
      return print_scalar(json, out);
  }
}

}  // namespace msprobe::dump
