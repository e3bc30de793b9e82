// SPDX-License-Identifier: Apache-2.0
#include "dump_compare/item_cells.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "core/crc32.h"
#include "core/dtype.h"
#include "core/python_text.h"

namespace msprobe::dump_compare {
namespace {

using dump::Item;
using dump::ItemKind;
using dump::ItemValue;

// A text that is a number counts as one.
ItemCell text_cell(std::string_view text) {
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, number);
  if (!text.empty() && parsed.ec == std::errc() && parsed.ptr == end) {
    return {ItemCell::Kind::kInteger, number, text};
  }
  return {ItemCell::Kind::kText, 0, text};
}

ItemCell value_cell(const ItemValue& value) {
  switch (value.kind) {
    case ItemValue::Kind::kBool:
      return {ItemCell::Kind::kText, 0, value.real != 0 ? "True" : "False"};
    case ItemValue::Kind::kInteger:
      return {ItemCell::Kind::kInteger, value.real, value.text};
    case ItemValue::Kind::kReal:
      return {ItemCell::Kind::kReal, value.real, {}};
    case ItemValue::Kind::kText:
      return text_cell(value.text);
    case ItemValue::Kind::kList:
      return {ItemCell::Kind::kText, 0, value.text};
    case ItemValue::Kind::kAbsent:
    case ItemValue::Kind::kNull:
      break;
  }
  return {ItemCell::Kind::kText, 0, "None"};
}

// Arguments that name a rank are shown by their type.
bool names_a_rank(const Item& item) {
  constexpr std::array<std::string_view, 4> kNames{"src", "dst", "group_src", "group_dst"};
  const std::string_view place = item.place;
  return std::ranges::find(kNames, place.substr(place.rfind('.') + 1)) != kNames.end();
}

std::string_view class_text(const ItemValue& value) {
  switch (value.kind) {
    case ItemValue::Kind::kBool:
      return "<class 'bool'>";
    case ItemValue::Kind::kInteger:
      return "<class 'int'>";
    case ItemValue::Kind::kReal:
      return "<class 'float'>";
    case ItemValue::Kind::kText:
      return "<class 'str'>";
    case ItemValue::Kind::kList:
      return value.text.starts_with('{') ? "<class 'dict'>" : "<class 'list'>";
    case ItemValue::Kind::kAbsent:
    case ItemValue::Kind::kNull:
      break;
  }
  return "<class 'NoneType'>";
}

std::string crc_text(std::string_view text) { return fmt::format("{:08x}", crc32(text)); }

}  // namespace

ItemCell statistic_of(const Item* item, ItemStatistic statistic) {
  if (item == nullptr) return {};
  switch (item->kind) {
    case ItemKind::kTensor: {
      const std::array<const ItemValue*, kStatisticCount> values{&item->max, &item->min,
                                                                 &item->mean, &item->norm};
      return value_cell(*values[static_cast<std::size_t>(statistic)]);
    }
    case ItemKind::kNull:
    case ItemKind::kSize:
    case ItemKind::kSlice:
      return {ItemCell::Kind::kText, 0, "None"};
    case ItemKind::kEllipsis:
    case ItemKind::kGroup:
    case ItemKind::kValue:
      break;
  }
  return value_cell(item->value);
}

void append_cell(std::string& out, const ItemCell& cell) {
  switch (cell.kind) {
    case ItemCell::Kind::kMissing:
      out += kNotKnown;
      return;
    case ItemCell::Kind::kText:
    case ItemCell::Kind::kInteger:
      out += cell.text;
      return;
    case ItemCell::Kind::kReal:
      break;
  }
  if (std::isnan(cell.number)) {
    out += "Nan";
    return;
  }
  if (std::isinf(cell.number)) out += ' ';
  append_python_float(out, cell.number);
}

bool same_cell(const ItemCell& target, const ItemCell& golden) {
  if (target.kind != golden.kind) return false;
  if (target.kind != ItemCell::Kind::kReal) return target.text == golden.text;
  return target.number == golden.number || (std::isnan(target.number) && std::isnan(golden.number));
}

std::string_view dtype_text(const Item& item) {
  switch (item.kind) {
    case ItemKind::kTensor:
      return item.dtype;
    case ItemKind::kNull:
      return "None";
    case ItemKind::kSize:
    case ItemKind::kSlice:
    case ItemKind::kEllipsis:
    case ItemKind::kGroup:
      return item.type;
    case ItemKind::kValue:
      break;
  }
  return names_a_rank(item) && !item.type.empty() ? item.type : class_text(item.value);
}

bool same_dtype(const Item& target, const Item& golden, bool across) {
  if (dtype_text(target) == dtype_text(golden)) return true;
  if (!across || target.kind != ItemKind::kTensor || golden.kind != ItemKind::kTensor) return false;
  const std::optional<DType> dtype = parse_dtype(target.dtype);
  return dtype && dtype == parse_dtype(golden.dtype);
}

bool same_dtype_argument(const Item& target, const Item& golden) {
  constexpr std::string_view kDtype = ".dtype";  // "mindspore.dtype", "torch.dtype"
  if (!target.type.ends_with(kDtype) || !golden.type.ends_with(kDtype)) return false;
  const std::optional<DType> dtype = parse_dtype(target.value.text);
  return dtype && dtype == parse_dtype(golden.value.text);
}

void append_shape(std::string& out, const Item& item) {
  switch (item.kind) {
    case ItemKind::kTensor:
      out += '[';
      for (std::size_t i = 0; i < item.shape.size(); ++i) {
        if (i > 0) out += ", ";
        std::array<char, 24> digits;
        const auto end =
            std::to_chars(digits.data(), digits.data() + digits.size(), item.shape[i]).ptr;
        out.append(digits.data(), end);
      }
      out += ']';
      return;
    case ItemKind::kNull:
      out += "None";
      return;
    case ItemKind::kSize:
      out += item.value.text;
      return;
    case ItemKind::kSlice:
      out += "(3,)";
      return;
    case ItemKind::kEllipsis:
    case ItemKind::kGroup:
    case ItemKind::kValue:
      break;
  }
  out += "[]";
}

std::string shape_text(const Item& item) {
  std::string text;
  append_shape(text, item);
  return text;
}

std::string_view requires_grad_text(const Item* item) {
  if (item == nullptr || !item->requires_grad) return kNotKnown;
  return *item->requires_grad ? "True" : "False";
}

std::string md5_text(const Item* item) {
  if (item == nullptr || item->kind == ItemKind::kNull) return std::string(kNotKnown);
  std::string text;
  if (item->kind == ItemKind::kTensor) {
    append_cell(text, value_cell(item->md5));
    return text == "None" ? std::string(kNotKnown) : text;
  }
  append_cell(text, value_cell(item->value));
  const bool plain = item->kind == ItemKind::kGroup || names_a_rank(*item);
  return plain ? text : crc_text(text);
}

bool is_scalar(const Item& item) {
  return item.kind == ItemKind::kValue && dtype_text(item).starts_with("<class");
}

}  // namespace msprobe::dump_compare
