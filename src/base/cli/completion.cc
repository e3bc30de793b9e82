// SPDX-License-Identifier: Apache-2.0
#include "cli/completion.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace msprobe::cli {
namespace {

using Script = std::string (*)(std::string_view program, std::span<const CommandRow> commands);

enum class Values { kNone, kFiles, kDirectories, kWords };

struct NamedValues {
  std::string_view value_name;
  Values values;
};
// What the value names of the help text complete to; others to nothing.
constexpr auto kNamedValues = std::to_array<NamedValues>({{"BENCH", Values::kFiles},
                                                          {"CSV", Values::kFiles},
                                                          {"DIR", Values::kDirectories},
                                                          {"DUMP", Values::kFiles},
                                                          {"FILE", Values::kFiles},
                                                          {"LIBRARY", Values::kFiles},
                                                          {"NEW", Values::kFiles},
                                                          {"OLD", Values::kFiles},
                                                          {"PATH", Values::kFiles},
                                                          {"PROGRAM", Values::kFiles},
                                                          {"YAML", Values::kFiles}});
// Devices are not asked for: that would load LibTorch.
constexpr std::string_view kDevices = "cpu npu:0 cuda:0 sim recorded mindspore";

Values values_of(const OptionRow& row) {
  if (!row.choices.empty() || row.value_name == "DEVICE") return Values::kWords;
  const auto found = std::ranges::find(kNamedValues, row.value_name, &NamedValues::value_name);
  return found == kNamedValues.end() ? Values::kNone : found->values;
}

std::string words_of(const OptionRow& row) {
  return row.choices.empty() ? std::string(kDevices)
                             : fmt::format("{}", fmt::join(row.choices, " "));
}

// Inside single quotes, which every one of these shells reads alike.
std::string shell_quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

// The explanation up to its first stop: menus show one line.
std::string brief(const OptionRow& row) {
  return row.help.substr(0, std::min(row.help.find_first_of(";("), row.help.size()));
}

const OptionRow* positional_of(const CommandRow& command) {
  const auto found = std::ranges::find_if(command.options, &OptionRow::is_positional);
  return found == command.options.end() ? nullptr : &*found;
}

std::string bash_values(const OptionRow& row) {
  switch (values_of(row)) {
    case Values::kFiles:
      return "compopt -o filenames; COMPREPLY=($(compgen -f -- \"$cur\"))";
    case Values::kDirectories:
      return "compopt -o filenames; COMPREPLY=($(compgen -d -- \"$cur\"))";
    case Values::kWords:
      return fmt::format("COMPREPLY=($(compgen -W {} -- \"$cur\"))", shell_quoted(words_of(row)));
    case Values::kNone:
      break;
  }
  return "COMPREPLY=()";
}

// `COMP_WORDS` breaks words at '=' and ':'; the script puts them together again with the helper of
// bash-completion if that is loaded, and else completes what has neither.
std::string bash_script(std::string_view program, std::span<const CommandRow> commands) {
  const std::string function = fmt::format("_{}", program);
  std::string text = fmt::format(
      "# source <({0} completion bash)\n"
      "{1}() {{\n"
      "  local cur prev words cword commands\n"
      "  if declare -F _get_comp_words_by_ref > /dev/null; then\n"
      "    _get_comp_words_by_ref -n =: cur prev words cword\n"
      "  else\n"
      "    cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD-1]}} "
      "words=(\"${{COMP_WORDS[@]}}\") cword=$COMP_CWORD\n"
      "  fi\n"
      "  COMPREPLY=()\n"
      "  commands=",
      program, function);
  std::vector<std::string> names;
  for (const CommandRow& command : commands) names.push_back(command.name);
  text += shell_quoted(fmt::format("{}", fmt::join(names, " ")));
  text +=
      "\n  if ((cword == 1)) || { ((cword == 2)) && [[ ${words[1]} == help ]]; }; then\n"
      "    COMPREPLY=($(compgen -W \"$commands\" -- \"$cur\"))\n"
      "    return\n"
      "  fi\n"
      "  case \"${words[1]} $prev\" in\n";
  for (const CommandRow& command : commands) {
    for (const OptionRow& row : command.options) {
      if (row.is_flag() || row.value_is_optional || row.names.empty()) continue;
      std::string patterns;
      for (const std::string& name : row.names) {
        patterns += fmt::format("{}'{} {}'", patterns.empty() ? "" : "|", command.name, name);
      }
      text += fmt::format("    {}) {}; return ;;\n", patterns, bash_values(row));
    }
  }
  text += "  esac\n  case \"${words[1]}\" in\n";
  for (const CommandRow& command : commands) {
    std::string options;
    for (const OptionRow& row : command.options) {
      for (const std::string& name : row.names) options += (options.empty() ? "" : " ") + name;
    }
    const OptionRow* positional = positional_of(command);
    text += fmt::format(
        "    {})\n"
        "      if [[ $cur == -* ]]; then\n"
        "        COMPREPLY=($(compgen -W {} -- \"$cur\"))\n",
        command.name, shell_quoted(options));
    if (positional != nullptr)
      text += fmt::format("      else\n        {}\n", bash_values(*positional));
    text += "      fi ;;\n";
  }
  return text + fmt::format("  esac\n}}\ncomplete -F {} {}\n", function, program);
}

// Text of an _arguments specification: brackets and colons end its parts.
std::string zsh_escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string zsh_values(const OptionRow& row) {
  switch (values_of(row)) {
    case Values::kFiles:
      return "_files";
    case Values::kDirectories:
      return "_files -/";
    case Values::kWords: {
      std::string words = words_of(row);
      return fmt::format("({})", zsh_escaped(words));
    }
    case Values::kNone:
      break;
  }
  return " ";
}

std::string zsh_option(const OptionRow& row, std::string_view name) {
  const std::string explanation = zsh_escaped(brief(row));
  if (row.is_flag()) return shell_quoted(fmt::format("*{}[{}]", name, explanation));
  if (row.value_is_optional)
    return shell_quoted(fmt::format("*{}=-[{}]::{}:_files", name, explanation, row.value_name));
  return shell_quoted(
      fmt::format("*{}[{}]:{}:{}", name, explanation, row.value_name, zsh_values(row)));
}

std::string zsh_script(std::string_view program, std::span<const CommandRow> commands) {
  std::string text = fmt::format(
      "#compdef {0}\n"
      "# source <({0} completion zsh), after compinit; or save as _{0} in a directory of $fpath\n"
      "_{0}() {{\n"
      "  local -a commands\n"
      "  commands=(\n",
      program);
  for (const CommandRow& command : commands) {
    text += fmt::format(
        "    {}\n", shell_quoted(fmt::format("{}:{}", command.name, zsh_escaped(command.summary))));
  }
  text +=
      "  )\n"
      "  if (( CURRENT == 2 )) || [[ CURRENT -eq 3 && ${words[2]} == help ]]; then\n"
      "    _describe command commands\n"
      "    return\n"
      "  fi\n"
      "  local command=${words[2]}\n"
      "  shift words\n"
      "  (( CURRENT-- ))\n"
      "  case $command in\n";
  for (const CommandRow& command : commands) {
    text += fmt::format("    {})\n      _arguments", command.name);
    for (const OptionRow& row : command.options) {
      for (const std::string& name : row.names) text += " \\\n        " + zsh_option(row, name);
    }
    if (const OptionRow* row = positional_of(command)) {
      text +=
          " \\\n        " + shell_quoted(fmt::format("*:{}:{}", row->value_name, zsh_values(*row)));
    }
    text += " ;;\n";
  }
  return text +
         fmt::format(
             "  esac\n}}\n"
             "if [[ ${{funcstack[1]}} == _{0} ]]; then _{0} \"$@\"; else compdef _{0} {0}; fi\n",
             program);
}

std::string fish_name(std::string_view name) {
  if (name.starts_with("--")) return fmt::format("-l {}", name.substr(2));
  return fmt::format("{} {}", name.size() == 2 ? "-s" : "-o", name.substr(1));
}

std::string fish_values(const OptionRow& row) {
  if (row.value_is_optional) return "";
  switch (values_of(row)) {
    case Values::kFiles:
      return " -rF";
    case Values::kDirectories:
      return " -xa '(__fish_complete_directories)'";
    case Values::kWords:
      return fmt::format(" -xa {}", shell_quoted(words_of(row)));
    case Values::kNone:
      break;
  }
  return row.is_flag() ? "" : " -x";
}

std::string fish_script(std::string_view program, std::span<const CommandRow> commands) {
  std::string text = fmt::format("# {0} completion fish | source\ncomplete -c {0} -f\n", program);
  std::vector<std::string> names;
  for (const CommandRow& command : commands) {
    names.push_back(command.name);
    text += fmt::format("complete -c {} -n __fish_use_subcommand -a {} -d {}\n", program,
                        command.name, shell_quoted(command.summary));
  }
  text += fmt::format("complete -c {} -n '__fish_seen_subcommand_from help' -a {}\n", program,
                      shell_quoted(fmt::format("{}", fmt::join(names, " "))));
  for (const CommandRow& command : commands) {
    const std::string start =
        fmt::format("complete -c {} -n '__fish_seen_subcommand_from {}'", program, command.name);
    for (const OptionRow& row : command.options) {
      if (row.names.empty()) continue;
      std::string given;
      for (const std::string& name : row.names) given += " " + fish_name(name);
      text +=
          fmt::format("{}{}{} -d {}\n", start, given, fish_values(row), shell_quoted(brief(row)));
    }
    if (const OptionRow* row = positional_of(command); row != nullptr) {
      const Values values = values_of(*row);
      if (values == Values::kFiles) text += start + " -F\n";
      if (values == Values::kDirectories) text += start + " -a '(__fish_complete_directories)'\n";
      if (values == Values::kWords)
        text += fmt::format("{} -a {}\n", start, shell_quoted(words_of(*row)));
    }
  }
  return text;
}

struct Shell {
  std::string_view name;
  Script script;
};
constexpr auto kShells =
    std::to_array<Shell>({{"bash", &bash_script}, {"zsh", &zsh_script}, {"fish", &fish_script}});

}  // namespace

std::vector<std::string> completion_shells() {
  std::vector<std::string> names;
  for (const Shell& shell : kShells) names.emplace_back(shell.name);
  return names;
}

std::string completion_script(std::string_view shell, std::string_view program,
                              std::span<const CommandRow> commands) {
  return std::ranges::find(kShells, shell, &Shell::name)->script(program, commands);
}

}  // namespace msprobe::cli
