// SPDX-License-Identifier: Apache-2.0
// An option as a row of its command's table. Parsing, help and shell completion use the same rows.
#pragma once

#include <string>
#include <vector>

namespace msprobe::cli {

struct OptionRow {
  // As a user types them, in the order of the help text: "-o", "-api_info", "--out_path". A
  // positional argument has none.
  std::vector<std::string> names = {};
  std::string value_name = {};  // "DIR"; empty: a flag
  std::string help = {};
  std::string group = {};          // the heading of the help text it belongs to
  std::string default_value = {};  // empty: not shown
  std::vector<std::string> choices = {};
  bool is_positional = false;
  bool is_required = false;
  bool takes_many = false;            // several values after one name
  bool value_is_optional = false;     // "--json[=FILE]"
  bool is_hidden = false;             // accepted, but not shown: an older name
  std::string choices_shown_by = {};  // the command that lists the choices; empty: the help text

  bool is_flag() const { return value_name.empty(); }
};

// A command as help and completion see it.
struct CommandRow {
  std::string name;
  std::string summary;
  std::string examples;  // one per line, already indented; may be empty
  std::vector<OptionRow> options;
};

}  // namespace msprobe::cli
