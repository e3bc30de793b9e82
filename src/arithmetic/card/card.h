// SPDX-License-Identifier: Apache-2.0
// The card of a device: what is known of its arithmetic, line by line, each with its evidence.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace msprobe::card {

enum class Confidence : std::uint8_t {
  kNone,    // cannot tell
  kLow,     // one pattern fits
  kMedium,  // nearly everything that was tried fits
  kHigh,    // everything that was tried fits, and nothing else that we know does
};
std::string_view name(Confidence confidence);  // "none", "low", "medium", "high"

// One claim. Section, subject and field name it, and no two lines of a card have the same name.
struct Line {
  std::string section;  // "products", "casts", "functions", "reductions"
  std::string subject;  // "float32", "float32 to float16", "exp float16"
  std::string field;    // "block"
  std::string value;    // empty: cannot tell
  Confidence confidence = Confidence::kNone;
  std::string evidence;  // inputs and outputs, for a person

  bool operator==(const Line&) const = default;
};

// The errors of a function over a whole range of inputs: the largest in each of many equal parts of
// the range, taken in the order of the inputs' bits from the lowest number to the highest.
struct Curve {
  std::string subject;          // as of a line in "functions"
  std::vector<double> largest;  // in units of the last place; negative: nothing finite there

  bool operator==(const Curve&) const = default;
};

struct Card {
  std::string device;   // as the engine opened it: "npu:0"
  std::string torch;    // version of PyTorch
  std::string msprobe;  // version that made the card
  std::vector<Line> lines;
  std::vector<Curve> curves;

  bool operator==(const Card&) const = default;
};

// Null if there is no such line.
const Line* find(const Card& card, std::string_view section, std::string_view subject,
                 std::string_view field);

// One claim that differs between two cards.
struct Change {
  std::string section, subject, field;
  std::string before, after;  // values; "cannot tell", or "not on the card"

  bool operator==(const Change&) const = default;
};

// In the order of the new card, then what only the old one has. Evidence and confidence do not
// count.
std::vector<Change> changes(const Card& before, const Card& after);

}  // namespace msprobe::card
