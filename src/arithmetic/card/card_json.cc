// SPDX-License-Identifier: Apache-2.0
#include "card/card_json.h"

#include <cmath>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <simdjson.h>

#include "core/file.h"
#include "core/json_writer.h"

namespace msprobe::card {
namespace {

using simdjson::dom::element;

constexpr std::size_t kMostBytes = std::size_t{64} << 20;
constexpr std::size_t kMostLines = 100'000;
constexpr std::size_t kMostPoints = 100'000;
constexpr std::size_t kLongestText = 10'000;
// Names are shown beside each other in tables.
constexpr std::size_t kLongestName = 200;

// What is wrong with a file, and where.
class Place {
 public:
  Place(std::string file, std::string where) : file_(std::move(file)), where_(std::move(where)) {}
  Failure fails(std::string_view problem) const {
    return fail(ErrorKind::kFormat, fmt::format("{}: {}{}", file_, where_, problem));
  }
  Place inside(std::string_view name, std::size_t index) const {
    return {file_, fmt::format("{}[{}]: ", name, index)};
  }

 private:
  std::string file_, where_;
};

Result<std::string> text_at(const element& object, const char* key, std::size_t longest,
                            const Place& place) {
  std::string_view text;
  if (object[key].get(text) != simdjson::SUCCESS) {
    return place.fails(fmt::format("'{}' must be a string", key));
  }
  if (text.size() > longest) {
    return place.fails(
        fmt::format("'{}' has {} bytes, at most {} are read", key, text.size(), longest));
  }
  return std::string(text);
}

std::optional<Confidence> confidence_of(std::string_view text) {
  for (const auto value :
       {Confidence::kNone, Confidence::kLow, Confidence::kMedium, Confidence::kHigh}) {
    if (text == name(value)) return value;
  }
  return std::nullopt;
}

// Fills the texts of a struct by their keys; the first that is wrong is the error.
struct TextField {
  const char* key;
  std::string* text;
  std::size_t longest;
};
Result<void> fill(const element& object, std::initializer_list<TextField> wanted,
                  const Place& place) {
  for (const TextField& field : wanted) {
    Result<std::string> text = text_at(object, field.key, field.longest, place);
    if (!text) return propagate(text);
    *field.text = std::move(*text);
  }
  return {};
}

Result<Line> line_of(const element& object, const Place& place) {
  Line line;
  std::string confidence;
  const Result<void> filled = fill(object,
                                   {{"section", &line.section, kLongestName},
                                    {"subject", &line.subject, kLongestName},
                                    {"field", &line.field, kLongestName},
                                    {"evidence", &line.evidence, kLongestText},
                                    {"confidence", &confidence, kLongestName}},
                                   place);
  if (!filled) return propagate(filled);
  if (!object["value"].is_null()) {
    Result<std::string> value = text_at(object, "value", kLongestText, place);
    if (!value) return propagate(value);
    if (value->empty()) return place.fails("'value' is empty; use null for 'cannot tell'");
    line.value = std::move(*value);
  }
  const std::optional<Confidence> known = confidence_of(confidence);
  if (!known) {
    return place.fails(
        fmt::format("unknown confidence '{}' (known: none, low, medium, high)", confidence));
  }
  line.confidence = *known;
  if (line.value.empty() != (line.confidence == Confidence::kNone)) {
    return place.fails("confidence none and value null belong together");
  }
  return line;
}

Result<Curve> curve_of(const element& object, const Place& place) {
  Curve curve;
  const Result<void> filled = fill(object, {{"subject", &curve.subject, kLongestName}}, place);
  if (!filled) return propagate(filled);
  simdjson::dom::array points;
  if (object["largest_ulp"].get(points) != simdjson::SUCCESS || points.size() > kMostPoints) {
    return place.fails("'largest_ulp' must be a list of numbers");
  }
  for (const element point : points) {
    double number = -1;
    if (!point.is_null() && (point.get(number) != simdjson::SUCCESS || number < 0)) {
      return place.fails("'largest_ulp' must be a list of numbers from 0 up, or null");
    }
    curve.largest.push_back(number);
  }
  return curve;
}

template <class Item, class Parse>
Result<std::vector<Item>> items_of(const element& root, const char* key, const Place& place,
                                   const Parse& parse) {
  simdjson::dom::array array;
  if (root[key].get(array) != simdjson::SUCCESS) {
    return place.fails(fmt::format("'{}' must be a list", key));
  }
  if (array.size() > kMostLines) return place.fails(fmt::format("'{}' is too long", key));
  std::vector<Item> items;
  for (const element object : array) {
    const Place inside = place.inside(key, items.size());
    if (!object.is_object()) return inside.fails("must be an object");
    Result<Item> item = parse(object, inside);
    if (!item) return propagate(item);
    items.push_back(std::move(*item));
  }
  return items;
}

void write_line(JsonWriter& json, const Line& line) {
  json.begin_object();
  json.key("section").value(line.section).key("subject").value(line.subject);
  json.key("field").value(line.field).key("value");
  if (line.value.empty()) {
    json.null();
  } else {
    json.value(line.value);
  }
  json.key("confidence").value(name(line.confidence)).key("evidence").value(line.evidence);
  json.end_object();
}

void write_curve(JsonWriter& json, const Curve& curve) {
  json.begin_object().key("subject").value(curve.subject).key("largest_ulp").begin_array();
  for (const double point : curve.largest) {
    if (point < 0 || !std::isfinite(point)) {
      json.null();
    } else {
      json.value(point);
    }
  }
  json.end_array().end_object();
}

}  // namespace

std::string to_json(const Card& card) {
  JsonWriter json;
  json.begin_object().key("schema").value(kSchema).key("version").value(kVersion);
  json.key("device").value(card.device).key("torch").value(card.torch);
  json.key("msprobe").value(card.msprobe).key("lines").begin_array();
  for (const Line& line : card.lines) write_line(json, line);
  json.end_array().key("curves").begin_array();
  for (const Curve& curve : card.curves) write_curve(json, curve);
  json.end_array().end_object();
  return json.text() + "\n";
}

Result<Card> parse_card(std::string_view json, const std::string& shown) {
  const Place place(shown, "");
  simdjson::dom::parser parser(kMostBytes);
  element root;
  const simdjson::padded_string padded(json);
  if (const auto error = parser.parse(padded).get(root); error != simdjson::SUCCESS) {
    return place.fails(fmt::format("not JSON: {}", simdjson::error_message(error)));
  }
  std::string_view schema;
  if (!root.is_object() || root["schema"].get(schema) != simdjson::SUCCESS || schema != kSchema) {
    return place.fails("not a device card; msprobe probe_device -o writes one");
  }
  std::int64_t version = 0;
  if (root["version"].get(version) != simdjson::SUCCESS || version < 1 || version > kVersion) {
    return place.fails(
        fmt::format("a card of another version; this msprobe reads version {}", kVersion));
  }
  Card card;
  const Result<void> filled = fill(root,
                                   {{"device", &card.device, kLongestName},
                                    {"torch", &card.torch, kLongestName},
                                    {"msprobe", &card.msprobe, kLongestName}},
                                   place);
  if (!filled) return propagate(filled);
  Result<std::vector<Line>> lines = items_of<Line>(root, "lines", place, &line_of);
  if (!lines) return propagate(lines);
  Result<std::vector<Curve>> curves = items_of<Curve>(root, "curves", place, &curve_of);
  if (!curves) return propagate(curves);
  card.lines = std::move(*lines);
  card.curves = std::move(*curves);
  std::set<std::string> names;
  for (const Line& line : card.lines) {
    const std::string whole = fmt::format("{} / {} / {}", line.section, line.subject, line.field);
    if (!names.insert(whole).second) return place.fails(fmt::format("duplicate line {}", whole));
  }
  return card;
}

Result<Card> load_card(const std::filesystem::path& path) {
  const Result<FileBytes> file = load_file(path, kMostBytes);
  if (!file) return propagate(file);
  return parse_card(file->text(), path.string());
}

}  // namespace msprobe::card
