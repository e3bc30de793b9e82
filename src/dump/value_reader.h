// Turns the JSON of recorded arguments into Values: every encoding a dump can hold.
#pragma once

#include <string>

#include "dump/call_record.h"
#include "dump/json_reader.h"

namespace msprobe::dump {

class ValueReader {
 public:
  explicit ValueReader(JsonReader& json) : json_(json) {}

  // A JSON list of encoded values; null counts as an empty one.
  [[nodiscard]] bool read_list(JsonValue json, List& out);
  // A JSON object of encoded values: keyword arguments. Null counts as an empty one.
  [[nodiscard]] bool read_dict(JsonValue json, Dict& out);

 private:
  bool read_value(JsonValue json, Value& out, int depth);
  bool read_elements(JsonValue json, List& out, int depth);
  bool read_members(JsonObject& object, Dict& out, int depth);
  bool read_object(JsonValue json, Value& out, int depth);
  bool read_plain(JsonValue json, Value& out);
  bool find_type(JsonObject& object, std::string& type, bool& found);
  bool read_typed(JsonObject& object, const std::string& type, Value& out, int depth);
  bool read_untyped(JsonObject& object, Value& out, int depth);

  JsonReader& json_;
};

}  // namespace msprobe::dump
