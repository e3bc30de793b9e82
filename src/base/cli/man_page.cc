// SPDX-License-Identifier: Apache-2.0
#include "cli/man_page.h"

#include <fmt/format.h>

#include "cli/help_text.h"

namespace msprobe::cli {
namespace {

// What roff would take for itself: backslashes, hyphens that a reader copies, dots and quotes at
// the start of a line.
std::string roff(std::string_view text) {
  std::string out;
  bool at_start = true;
  for (const char c : text) {
    if (at_start && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
    at_start = c == '\n';
  }
  return out;
}

std::string head(std::string_view name, std::string_view program, std::string_view version,
                 std::string_view summary) {
  return fmt::format(".TH \"{}\" 1 \"\" \"{} {}\"\n.SH NAME\n{} \\- {}\n", name, program, version,
                     roff(name), roff(summary));
}

std::string exit_status() {
  return ".SH EXIT STATUS\n0: nothing failed. 1: a call is wrong, does not run or was lost. 2: the "
         "job "
         "could not be done.\n";
}

}  // namespace

std::string man_page(const CommandRow& command, std::string_view program,
                     std::string_view version) {
  std::string page =
      head(fmt::format("{}-{}", program, command.name), program, version, command.summary);
  page += fmt::format(".SH SYNOPSIS\n.B {} {}\n[options]\n", roff(program), roff(command.name));
  for (const OptionRow& row : command.options) {
    if (row.is_positional) page += fmt::format(".I {}\n", roff(row.value_name));
  }
  for (const std::string& group : groups_of(command.options)) {
    page += fmt::format(".SH \"{}\"\n", roff(group));
    for (const OptionRow& row : command.options) {
      if (row.group != group) continue;
      page +=
          fmt::format(".TP\n\\fB{}\\fR\n{}\n", roff(option_words(row)), roff(option_meaning(row)));
    }
  }
  if (!command.examples.empty()) {
    page += fmt::format(".SH EXAMPLES\n.nf\n{}\n.fi\n", roff(command.examples));
  }
  return page + exit_status();
}

std::string man_page(std::string_view program, std::string_view version, std::string_view summary,
                     std::span<const CommandRow> commands) {
  std::string page = head(program, program, version, summary);
  page += fmt::format(".SH SYNOPSIS\n.B {}\n.I COMMAND\n[options]\n.SH COMMANDS\n", roff(program));
  for (const CommandRow& command : commands) {
    page += fmt::format(".TP\n\\fB{}\\fR\n{} See {}(1).\n", roff(command.name),
                        roff(command.summary), roff(fmt::format("{}-{}", program, command.name)));
  }
  return page + exit_status();
}

}  // namespace msprobe::cli
