// A strict walk over one parsed JSON text: simdjson finds the structure, every token is checked,
// and the first fault is kept with its place.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include <simdjson.h>

#include "dump/json_scalar.h"

namespace msprobe::dump {

using JsonValue = simdjson::ondemand::value;
using JsonObject = simdjson::ondemand::object;

// Containers may nest this deep inside one entry; the recorder itself stops there too.
constexpr int kMaxNesting = 400;

// Every function that can fail returns false and leaves the fault behind; after the first fault the
// JSON must not be touched again.
class JsonReader {
 public:
  // Calls on_field(key, value) -> bool for each member. The key lives as long as the call.
  template <class OnField>
  [[nodiscard]] bool each_field(JsonObject& object, OnField on_field) {
    std::string unescaped;
    for (auto member : object) {
      simdjson::ondemand::field field;
      if (const auto code = std::move(member).get(field)) return fail(code);
      std::string_view key;
      if (!read_key(field, unescaped, key)) return false;
      if (!on_field(key, field.value())) return false;
    }
    return true;
  }

  // Calls on_element(value) -> bool for each element; puts the index into the path of a fault.
  template <class OnElement>
  [[nodiscard]] bool each_element(JsonValue json, OnElement on_element) {
    simdjson::ondemand::array array;
    if (const auto code = json.get_array().get(array)) return fail(code);
    std::size_t index = 0;
    for (auto element : array) {
      JsonValue value;
      if (const auto code = std::move(element).get(value)) return fail(code);
      if (!on_element(value)) return fail_in(index);
      ++index;
    }
    return true;
  }

  // The token a value begins with, without the space behind it: "{", "[", or a whole scalar.
  static std::string_view token(JsonValue json);

  [[nodiscard]] bool read_text(JsonValue json, std::string& out);
  // Not for strings; JsonScalar::Kind::kInvalid never comes out.
  [[nodiscard]] bool read_scalar(JsonValue json, JsonScalar& out);
  // Reads over a value nobody wants; it must be JSON all the same. `depth` is that of `json`.
  [[nodiscard]] bool skip(JsonValue json, int depth);

  // False when a container at `depth` would be too deep.
  [[nodiscard]] bool enter(int depth);

  bool fail(std::string message);
  bool fail(simdjson::error_code code);
  // What was wanted and what stands there instead.
  bool fail_wanted(std::string_view wanted, JsonValue found);
  // Puts a step in front of the path of the fault: a key or an index.
  bool fail_in(std::string_view key);
  bool fail_in(std::size_t index);

  // "input_args[1].shape: ..."
  std::string fault() const;
  // Where in the text the fault stands; null where only simdjson knows.
  const char* location() const { return location_; }
  void reset();

 private:
  bool read_key(simdjson::ondemand::field& field, std::string& unescaped, std::string_view& out);

  std::string path_, message_;
  const char* location_ = nullptr;
};

}  // namespace msprobe::dump
