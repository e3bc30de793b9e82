// SPDX-License-Identifier: Apache-2.0
#include "identify/card_products.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include <fmt/format.h>

#include "units/unit_spec.h"

namespace msprobe::identify {
namespace {

constexpr std::string_view kSection = "products";
// More units are not tried: narrow sums hide nearly everything that a unit does.
constexpr std::size_t kMostUnits = 512;

// A field of the card, the key of a unit's text that it is about, and all values that it can have
// where the card cannot tell.
struct OpenField {
  std::string_view field, key;
  std::vector<std::string_view> all;
};

const std::vector<OpenField>& open_fields() {
  static const std::vector<OpenField> fields = {
      {"terms are cut", "cut", {"zero", "down", "nearest"}},
      {"partial sums are cut", "sum", {"zero", "down", "nearest"}},
      {"running sum", "running", {"joined", "apart"}},
      {"terms are aligned by", "aligned", {"factors", "product"}},
      {"fraction bits", "bits", {}},
      {"block", "block", {}},
      {"order", "order", {"in_order", "reversed", "strided", "halves"}},
      {"accumulator", "accumulator", {"float32", "bfloat16", "float16"}},
      {"input rounding", "inputs", {"as_they_are", "tf32", "hf32", "bfloat16", "float16"}},
  };
  return fields;
}

int number_behind(std::string_view text, std::string_view before) {
  const std::size_t at = text.find(before);
  int number = 0;
  if (at == std::string_view::npos) return number;
  std::from_chars(text.data() + at + before.size(), text.data() + text.size(), number);
  return number;
}

// "zero or down", "at least 27", "24 to 26".
std::vector<std::string> values_of_claim(const OpenField& field, std::string_view claim) {
  if (claim.empty()) return {field.all.begin(), field.all.end()};
  std::vector<std::string> values;
  int least = number_behind(claim, "at least ");
  int most = units::kMostBits;
  if (const std::size_t to = claim.find(" to "); least == 0 && to != std::string_view::npos) {
    least = number_behind(claim, "");
    most = std::min(number_behind(claim, " to "), units::kMostBits);
  }
  for (int number = least; least > 0 && number <= most; ++number) {
    values.push_back(std::to_string(number));
  }
  while (least == 0 && !claim.empty()) {
    const std::size_t end = claim.find(" or ");
    values.emplace_back(claim.substr(0, end));
    claim = end == std::string_view::npos ? std::string_view() : claim.substr(end + 4);
  }
  return values;
}

// The unit on the card, then all that its open fields allow.
Result<std::vector<units::Unit>> possible_units(const card::Card& card, const std::string& subject,
                                                const std::string& spec) {
  const Result<units::Unit> unit = units::parse_unit(spec);
  if (!unit) return propagate(unit);
  std::vector<units::Unit> found = {*unit};
  for (const OpenField& field : open_fields()) {
    const card::Line* line = card::find(card, kSection, subject, field.field);
    if (line == nullptr) continue;
    const std::size_t count = found.size();
    for (const std::string& value : values_of_claim(field, line->value)) {
      for (std::size_t at = 0; at < count && found.size() < kMostUnits; ++at) {
        // A later key takes the place of an earlier one.
        const auto other =
            units::parse_unit(fmt::format("{},{}={}", units::spec(found[at]), field.key, value));
        if (!other) return propagate(other);
        if (*other != found[at]) found.push_back(*other);
      }
    }
  }
  return found;
}

}  // namespace

Result<units::KnownProducts> known_products(const card::Card& card, DType dtype) {
  const std::string subject(name(dtype));
  const auto value = [&](std::string_view field) -> std::string {
    const card::Line* line = card::find(card, kSection, subject, field);
    return line == nullptr ? "" : line->value;
  };
  const card::Line* line = card::find(card, kSection, subject, "unit");
  if (line == nullptr || line->value.empty()) {
    return fail(ErrorKind::kUnsupported,
                fmt::format("the card has no unit for products of {}", subject));
  }
  Result<std::vector<units::Unit>> found = possible_units(card, subject, line->value);
  if (!found) return propagate(found);
  return units::KnownProducts{.dtype = dtype,
                              .units = *std::move(found),
                              .certain = line->confidence == card::Confidence::kHigh,
                              .flushes_inputs = value("subnormal inputs") == "flushed to zero",
                              .flushes_results = value("subnormal results") == "flushed to zero",
                              .saturates = value("overflow") == "largest number"};
}

Result<std::vector<units::KnownProducts>> known_products(const card::Card& card) {
  std::vector<units::KnownProducts> all;
  for (const DType dtype :
       {DType::kFloat32, DType::kFloat16, DType::kBFloat16, DType::kFloat8E4M3}) {
    const card::Line* line = card::find(card, kSection, name(dtype), "unit");
    if (line == nullptr || line->value.empty()) continue;
    Result<units::KnownProducts> known = known_products(card, dtype);
    if (!known) return propagate(known);
    all.push_back(*std::move(known));
  }
  return all;
}

}  // namespace msprobe::identify
