// SPDX-License-Identifier: Apache-2.0
// Table cells of one recorded item, as Python prints it, and the differences of two.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "dump/entry_reader.h"

namespace msprobe::dump_compare {

inline constexpr std::string_view kNotKnown = "N/A";

// A statistic, or the value of what is not a tensor.
struct ItemCell {
  enum class Kind : std::uint8_t { kMissing, kText, kInteger, kReal };
  Kind kind = Kind::kMissing;
  double number = 0;      // of kInteger and kReal
  std::string_view text;  // of kText and kInteger

  bool is_number() const { return kind == Kind::kInteger || kind == Kind::kReal; }
};

enum class ItemStatistic : std::uint8_t { kMax, kMin, kMean, kNorm };
inline constexpr std::size_t kStatisticCount = 4;

// kMissing if there is no item on this side.
ItemCell statistic_of(const dump::Item* item, ItemStatistic statistic);

// A NaN is "Nan", an infinity has a blank before it, which keeps spreadsheets from reading it.
void append_cell(std::string& out, const ItemCell& cell);

// The same text on both sides.
bool same_cell(const ItemCell& target, const ItemCell& golden);

// "torch.float32", "<class 'int'>", "slice"
std::string_view dtype_text(const dump::Item& item);
// Compares tensors, or dtypes that were passed as arguments. `across`: "Float16" and
// "torch.float16" are the same.
bool same_dtype(const dump::Item& target, const dump::Item& golden, bool across);
// Both are arguments that name a dtype, and the same one.
bool same_dtype_argument(const dump::Item& target, const dump::Item& golden);
// "[2, 3]"; "[]" of what is not a tensor
std::string shape_text(const dump::Item& item);
void append_shape(std::string& out, const dump::Item& item);
std::string_view requires_grad_text(const dump::Item* item);
// The checksum of a tensor, CRC-32 of the text of anything else; N/A of a null.
std::string md5_text(const dump::Item* item);

// A number, a truth value or a text: what is compared by its value.
bool is_scalar(const dump::Item& item);

struct Difference {
  enum class Kind : std::uint8_t {
    kMissing,   // a side is missing, or both are devices
    kNone,      // equal
    kOther,     // texts that differ: "Diff"
    kNan,       // NaN on one side
    kInfinite,  // an infinity on one side, or two of other signs
    kNumber,
  };
  Kind kind = Kind::kMissing;
  double value = 0;     // target - golden; of kInfinite the infinity shown
  double relative = 0;  // |value / golden|; infinite if golden is 0

  // The relative difference as a number; nothing to go by is -1.
  double relative_or_none() const;
};

Difference difference_of(const ItemCell& target, const ItemCell& golden);

void append_difference(std::string& out, const Difference& difference);
// In percent: "28.050845871654683%".
void append_relative(std::string& out, const Difference& difference);

}  // namespace msprobe::dump_compare
