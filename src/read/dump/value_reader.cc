// SPDX-License-Identifier: Apache-2.0
#include "dump/value_reader.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "dump/encoding.h"
#include "dump/printable.h"

namespace msprobe::dump {
namespace {

using namespace std::string_view_literals;
using Kind = JsonScalar::Kind;

constexpr std::string_view kArray = "numpy.ndarray";

std::optional<std::string> repeated_key(const Dict& dict) {
  if (dict.size() < 2) return std::nullopt;
  std::vector<std::string_view> keys;
  keys.reserve(dict.size());
  for (const auto& [key, value] : dict) keys.push_back(key);
  std::ranges::sort(keys);
  const auto twin = std::ranges::adjacent_find(keys);
  if (twin == keys.end()) return std::nullopt;
  return std::string(*twin);
}

}  // namespace

bool ValueReader::read_list(List& out) {
  return json_.token() == "null" ? json_.skip() : read_elements(out);
}

bool ValueReader::read_dict(Dict& out) {
  return json_.token() == "null" ? json_.skip() : read_members(out);
}

bool ValueReader::read_elements(List& out) {
  out.reserve(3);  // most calls have no more, and the allocator has such sizes at hand
  return json_.each_element([&] { return read_value(out.emplace_back()); });
}

bool ValueReader::read_members(Dict& out) {
  const bool done = json_.each_field([&](std::string_view key) {
    return read_value(out.emplace_back(std::string(key), Value{}).second);
  });
  if (!done) return false;
  const std::optional<std::string> repeated = repeated_key(out);
  return !repeated || json_.fail(fmt::format("duplicate key {}", printable(*repeated)));
}

bool ValueReader::read_value(Value& out) {
  switch (json_.first()) {
    case '{':
      return read_object(out);
    case '[':
      return read_elements(out.data.emplace<List>());
    case '"':
      return json_.read_text(out.data.emplace<std::string>());
    default:
      return read_plain(out);
  }
}

bool ValueReader::read_plain(Value& out) {
  JsonScalar scalar;
  if (!json_.read_scalar(scalar, "a value of at most 64 bits",
                         [](const auto& found) { return found.kind != Kind::kBigInteger; })) {
    return false;
  }
  if (scalar.kind == Kind::kBool) out.data = scalar.integer != 0;
  if (scalar.kind == Kind::kInteger) out.data = scalar.integer;
  if (scalar.kind == Kind::kReal) out.data = scalar.real;
  return true;
}

// The recorder writes "type" first. A dictionary may have such a key too, but then its value is no
// string.
bool ValueReader::read_object(Value& out) {
  const std::optional<std::string_view> type = json_.peek_text_member("type");
  if (!type) return read_untyped(out);
  const Encoding encoding = find_encoding(*type);
  if (encoding == Encoding::kTensor) {
    auto& tensor = out.data.emplace<TensorRecord>();
    tensor.is_whole = !type->ends_with(".DTensor");
    return tensors_.read(tensor);
  }
  if (*type == kArray && json_.peek_text_member("dtype")) return read_array(out);
  bool has_payload = false;
  if (!read_payload(out, has_payload)) return false;
  std::string fault = decode(*type, encoding, has_payload, out);
  return fault.empty() || json_.fail(std::move(fault));
}

// An array of NumPy whose elements were recorded is as good as a tensor.
bool ValueReader::read_array(Value& out) {
  if (!tensors_.read(out.data.emplace<TensorRecord>())) return false;
  if (out.as<TensorRecord>()->data_name.empty()) out.data = Opaque{std::string(kArray)};
  return true;
}

// The member "value"; for a memory format, the member "format".
bool ValueReader::read_payload(Value& out, bool& found) {
  bool type_seen = false;
  const auto expected = [&] { return type_seen ? "value"sv : "type"sv; };
  const auto on_field = [&](std::string_view key) {
    if (key == "type") {
      return std::exchange(type_seen, true) ? json_.fail("duplicate key") : json_.skip();
    }
    if (key != "value" && key != "format") return json_.skip();
    return std::exchange(found, true) ? json_.fail("duplicate key") : read_value(out);
  };
  return json_.each_field(on_field, expected);
}

// A dictionary; {"value": x} without a type; or {}: what the recorder writes for something it could
// not describe.
bool ValueReader::read_untyped(Value& out) {
  Dict members;
  if (!read_members(members)) return false;
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
