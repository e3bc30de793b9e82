// SPDX-License-Identifier: Apache-2.0
#include "dump/entry_reader.h"

namespace msprobe::dump {

void append_item_name(std::string& out, const Entry& entry, const Item& item) {
  out += entry.name;
  const std::string_view place = item.place;
  if (place.empty()) return;  // stands for a whole entry
  out += '.';
  constexpr std::string_view kInputPlace = "input.";
  if (item.is_keyword && !item.data_name.empty() && place.starts_with(kInputPlace)) {
    out += "kwargs.";
    out += place.substr(kInputPlace.size());
  } else {
    out += place;
  }
}

std::string item_name(const Entry& entry, const Item& item) {
  std::string name;
  append_item_name(name, entry, item);
  return name;
}

}  // namespace msprobe::dump
