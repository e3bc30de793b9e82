#include "dump/json_reader.h"

#include <cstring>

#include <fmt/format.h>

namespace msprobe::dump {
namespace {

constexpr std::size_t kShownBytes = 40;  // of a token, in a message

std::string_view trimmed(std::string_view token) {
  while (!token.empty() && std::strchr(" \t\n\r", token.back()) != nullptr) token.remove_suffix(1);
  return token;
}

std::string shown(std::string_view token) {
  if (token.size() <= kShownBytes) return std::string(token);
  return fmt::format("{}...", token.substr(0, kShownBytes));
}

}  // namespace

std::string_view JsonReader::token(JsonValue json) { return trimmed(json.raw_json_token()); }

bool JsonReader::read_key(simdjson::ondemand::field& field, std::string& unescaped,
                          std::string_view& out) {
  // simdjson has checked that the string ends inside the text.
  const char* const start = field.key().raw();
  const char* end = start;
  while (*end != '"' && *end != '\\') ++end;
  if (*end == '"') {
    out = {start, end};
    return true;
  }
  while (*end != '"') end += *end == '\\' ? 2 : 1;
  unescaped.clear();
  if (!append_unescaped({start, end}, unescaped)) return fail("a key has a bad escape");
  out = unescaped;
  return true;
}

bool JsonReader::read_text(JsonValue json, std::string& out) {
  const std::string_view text = token(json);
  if (text.size() < 2 || text.front() != '"') return fail_wanted("a string", json);
  simdjson::ondemand::raw_json_string raw;  // moves simdjson behind the string
  if (const auto code = json.get_raw_json_string().get(raw)) return fail(code);
  const std::string_view inside = text.substr(1, text.size() - 2);
  if (inside.find('\\') == std::string_view::npos) {
    out.assign(inside);
    return true;
  }
  out.clear();
  return append_unescaped(inside, out) || fail(fmt::format("{} has a bad escape", shown(text)));
}

bool JsonReader::read_scalar(JsonValue json, JsonScalar& out) {
  out = read_json_scalar(token(json));
  return out.kind != JsonScalar::Kind::kInvalid || fail_wanted("a value", json);
}

bool JsonReader::skip(JsonValue json, int depth) {
  switch (token(json).front()) {
    case '[':
      return enter(depth) &&
             each_element(json, [&](JsonValue element) { return skip(element, depth + 1); });
    case '{': {
      JsonObject object;
      if (!enter(depth)) return false;
      if (const auto code = json.get_object().get(object)) return fail(code);
      return each_field(object,
                        [&](std::string_view, JsonValue value) { return skip(value, depth + 1); });
    }
    case '"': {
      simdjson::ondemand::raw_json_string raw;
      if (const auto code = json.get_raw_json_string().get(raw)) return fail(code);
      return true;
    }
    default: {
      JsonScalar scalar;
      return read_scalar(json, scalar);
    }
  }
}

bool JsonReader::enter(int depth) {
  return depth <= kMaxNesting || fail(fmt::format("nested deeper than {}", kMaxNesting));
}

bool JsonReader::fail(std::string message) {
  message_ = std::move(message);
  return false;
}

bool JsonReader::fail(simdjson::error_code code) {
  return fail(fmt::format("not valid JSON: {}", simdjson::error_message(code)));
}

bool JsonReader::fail_wanted(std::string_view wanted, JsonValue found) {
  location_ = token(found).data();
  return fail(fmt::format("found {}, wanted {}", shown(token(found)), wanted));
}

bool JsonReader::fail_in(std::string_view key) {
  const bool joined = path_.empty() || path_.front() == '[';
  path_ = fmt::format("{}{}{}", shown(key), joined ? "" : ".", path_);
  return false;
}

bool JsonReader::fail_in(std::size_t index) {
  const bool joined = path_.empty() || path_.front() == '[';
  path_ = fmt::format("[{}]{}{}", index, joined ? "" : ".", path_);
  return false;
}

std::string JsonReader::fault() const {
  return path_.empty() ? message_ : fmt::format("{}: {}", path_, message_);
}

void JsonReader::reset() {
  path_.clear();
  message_.clear();
  location_ = nullptr;
}

}  // namespace msprobe::dump
