// SPDX-License-Identifier: Apache-2.0
#include "journal/map_lines.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/json_writer.h"

namespace msprobe::journal {
namespace {

std::string quoted(std::string_view text) {
  JsonWriter json;
  json.value(text);
  return json.text();
}

}  // namespace

std::string map_line(std::string_view row, std::string_view map) {
  return fmt::format("{{\"row\":{},{}\n", quoted(row),
                     map.substr(std::min<std::size_t>(1, map.size())));
}

std::string map_line_start(std::string_view call) {
  std::string name = quoted(call);
  name.back() = '.';
  return "{\"row\":" + name;
}

std::string_view first_line(std::string_view text) {
  const std::size_t end = text.find('\n');
  return end == std::string_view::npos ? std::string_view() : text.substr(0, end + 1);
}

}  // namespace msprobe::journal
