#include "dump/value_reader.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "dump/encoding.h"
#include "dump/tensor_record_reader.h"

namespace msprobe::dump {
namespace {

using Kind = JsonScalar::Kind;

std::optional<std::string> repeated_key(const Dict& dict) {
  std::vector<std::string_view> keys;
  keys.reserve(dict.size());
  for (const auto& [key, value] : dict) keys.push_back(key);
  std::ranges::sort(keys);
  const auto twin = std::ranges::adjacent_find(keys);
  if (twin == keys.end()) return std::nullopt;
  return std::string(*twin);
}

}  // namespace

bool ValueReader::read_list(JsonValue json, List& out) {
  const std::string_view token = JsonReader::token(json);
  if (token == "null") return true;
  return token == "[" ? read_elements(json, out, 1) : json_.fail_wanted("a list", json);
}

bool ValueReader::read_dict(JsonValue json, Dict& out) {
  const std::string_view token = JsonReader::token(json);
  if (token == "null") return true;
  JsonObject object;
  if (token != "{") return json_.fail_wanted("an object", json);
  if (const auto code = json.get_object().get(object)) return json_.fail(code);
  return read_members(object, out, 1);
}

bool ValueReader::read_elements(JsonValue json, List& out, int depth) {
  return json_.enter(depth) && json_.each_element(json, [&](JsonValue element) {
    return read_value(element, out.emplace_back(), depth + 1);
  });
}

bool ValueReader::read_members(JsonObject& object, Dict& out, int depth) {
  const bool done = json_.each_field(object, [&](std::string_view key, JsonValue json) {
    Value& value = out.emplace_back(std::string(key), Value{}).second;
    return read_value(json, value, depth + 1) || json_.fail_in(key);
  });
  if (!done) return false;
  const std::optional<std::string> repeated = repeated_key(out);
  return !repeated || json_.fail(fmt::format("{} stands there twice", *repeated));
}

bool ValueReader::read_value(JsonValue json, Value& out, int depth) {
  switch (JsonReader::token(json).front()) {
    case '{':
      return json_.enter(depth) && read_object(json, out, depth);
    case '[':
      return read_elements(json, out.data.emplace<List>(), depth);
    case '"':
      return json_.read_text(json, out.data.emplace<std::string>());
    default:
      return read_plain(json, out);
  }
}

bool ValueReader::read_plain(JsonValue json, Value& out) {
  JsonScalar scalar;
  if (!json_.read_scalar(json, scalar)) return false;
  switch (scalar.kind) {
    case Kind::kBool:
      out.data = scalar.integer != 0;
      return true;
    case Kind::kInteger:
      out.data = scalar.integer;
      return true;
    case Kind::kReal:
      out.data = scalar.real;
      return true;
    case Kind::kBigInteger:
      return json_.fail_wanted("an integer of at most 64 bits", json);
    default:
      out.data = None{};
      return true;
  }
}

// Looks for a member "type" that is a string (a dictionary may have a key "type" too) and goes back
// to the start. The recorder writes it first.
bool ValueReader::find_type(JsonObject& object, std::string& type, bool& found) {
  found = false;
  for (auto member : object) {
    simdjson::ondemand::field field;
    if (const auto code = std::move(member).get(field)) return json_.fail(code);
    if (field.key() != "type") continue;
    found = JsonReader::token(field.value()).starts_with('"');
    if (found && !json_.read_text(field.value(), type)) return false;
    break;
  }
  const auto reset = object.reset();
  return reset.error() == simdjson::SUCCESS || json_.fail(reset.error());
}

bool ValueReader::read_object(JsonValue json, Value& out, int depth) {
  JsonObject object;
  if (const auto code = json.get_object().get(object)) return json_.fail(code);
  std::string type;
  bool typed = false;
  if (!find_type(object, type, typed)) return false;
  if (!typed) return read_untyped(object, out, depth);
  if (find_encoding(type) == Encoding::kTensor) {
    return read_tensor_record(json_, object, out.data.emplace<TensorRecord>(), depth);
  }
  return read_typed(object, type, out, depth);
}

bool ValueReader::read_typed(JsonObject& object, const std::string& type, Value& out, int depth) {
  std::optional<Value> payload;
  bool type_seen = false;
  const bool done = json_.each_field(object, [&](std::string_view key, JsonValue json) {
    if (key == "type") {
      if (std::exchange(type_seen, true)) return json_.fail("type stands there twice");
      return json_.skip(json, depth + 1);
    }
    if (key != "value" && key != "format") {
      return json_.skip(json, depth + 1) || json_.fail_in(key);
    }
    if (payload) return json_.fail("value stands there twice");
    return read_value(json, payload.emplace(), depth + 1) || json_.fail_in(key);
  });
  if (!done) return false;
  Result<Value> value = decode(type, std::move(payload));
  if (!value) return json_.fail(std::move(value.error().message));
  out = *std::move(value);
  return true;
}

// A dictionary; {"value": x} without a type; or {}: what the recorder writes for something it could
// not describe.
bool ValueReader::read_untyped(JsonObject& object, Value& out, int depth) {
  Dict members;
  if (!read_members(object, members, depth)) return false;
  if (members.empty()) {
    out.data = Opaque{};
  } else if (members.size() == 1 && members.front().first == "value") {
    out = std::move(members.front().second);
  } else {
    out.data = std::move(members);
  }
  return true;
}

}  // namespace msprobe::dump
