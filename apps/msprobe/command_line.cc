// SPDX-License-Identifier: Apache-2.0
#include "command_line.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "cli/completion.h"
#include "cli/help_text.h"
#include "cli/man_page.h"
#include "cli/parser.h"
#include "command.h"
#include "core/log.h"
#include "core/shell_words.h"
#include "core/suggestion.h"
#include "documented_spellings.h"
#include "own_files.h"
#include "python_package.h"
#include "terminal/screen.h"
#include "version.h"

namespace msprobe::app {
namespace {

constexpr std::size_t kSummaryColumn = 25;
constexpr std::size_t kNarrowestHelp = 60;
constexpr std::size_t kWidestHelp = 120;       // longer lines are hard to read
constexpr std::string_view kSimTopic = "sim";  // of `msprobe help`

std::string_view heading(CommandGroup group) {
  switch (group) {
    case CommandGroup::kStartHere:
      return "start here";
    case CommandGroup::kMore:
      return "more";
    case CommandGroup::kOlderName:
      return "older names";
  }
  return {};
}

std::string summaries(const Program& program, CommandGroup group, std::size_t columns) {
  std::string text;
  for (const Command& command : program.commands) {
    if (command.group != group) continue;
    std::string name = fmt::format("  {}", command.name);
    for (const std::string& line : cli::wrap(command.summary, columns - kSummaryColumn)) {
      text += fmt::format("{:<{}}{}\n", name, kSummaryColumn, line);
      name.clear();
    }
  }
  return text.empty() ? text : fmt::format("{}:\n{}\n", heading(group), text);
}

std::size_t help_columns() {
  const std::size_t columns = terminal::screen_of(STDOUT_FILENO).columns;
  return std::clamp(columns, kNarrowestHelp, kWidestHelp);
}

std::string overview(const Program& program) {
  const std::size_t columns = help_columns();
  std::string text = fmt::format("{0} {1}: {2}\n\nusage: {0} COMMAND [options]\n\n", program.name,
                                 kVersion, program.summary);
  for (const CommandGroup group :
       {CommandGroup::kStartHere, CommandGroup::kMore, CommandGroup::kOlderName}) {
    text += summaries(program, group, columns);
  }
  text += fmt::format(
      "  {0} help COMMAND       options and examples of a command\n"
      "  {0} help sim           profiles and faults of the simulated device\n"
      "  {0} completion SHELL   completion script for bash, zsh or fish\n"
      "  {0} --version\n\n"
      "exit status: 0 nothing failed, 1 a call is wrong, does not run or was lost,\n"
      "2 the job could not be done\n",
      program.name);
  return text;
}

const Command* find_command(const Program& program, std::string_view name) {
  for (const Command& command : program.commands) {
    if (command.name == name) return &command;
  }
  return nullptr;
}

// The command that is spelt most like it, else one with the word in its name ("check") or with the
// same beginning ("accuracy").
std::string meant_command(const Program& program, std::string_view name) {
  constexpr std::size_t kSameBeginning = 3;
  std::vector<std::string> names;
  for (const Command& command : program.commands) names.emplace_back(command.name);
  if (std::string near = nearest(name, names); !near.empty()) return near;
  if (name.size() < kSameBeginning) return {};
  const std::string_view beginning = name.substr(0, kSameBeginning);
  for (const std::string& known : names) {
    if (known.find(name) != std::string::npos || known.starts_with(beginning)) return known;
  }
  return {};
}

ExitStatus refuse_command(const Program& program, const std::string& name) {
  std::error_code error;
  if (std::filesystem::exists(name, error)) {
    log::error(
        "'{1}' is a file or directory, not a command of {0}; to check a recording: {0} {2} {3}",
        program.name, name, program.commands.front().name, shell_path(name));
    return kCannot;
  }
  const std::string meant = meant_command(program, name);
  log::error("'{0}' is not a command of {1}{2} '{1} --help' lists them", name, program.name,
             meant.empty() ? ";" : fmt::format(". Did you mean '{}'?", meant));
  return kCannot;
}

// A command with its options declared; the variables behind them live in `action`.
struct Declared {
  std::unique_ptr<cli::Parser> parser;
  Run action;
};

Declared declare(const Command& command) {
  Declared declared{
      std::make_unique<cli::Parser>(std::string(command.name), std::string(command.summary),
                                    std::string(command.examples)),
      {}};
  declared.action = command.declare(*declared.parser);
  return declared;
}

// A documented option that only other commands have: which ones.
std::string elsewhere(const Program& program, const cli::Parser& parser,
                      std::span<const std::string> words) {
  const auto is_spelling = [](std::string_view word) {  // -forward
    return word.size() > 2 && word[0] == '-' && word[1] != '-';
  };
  if (std::ranges::none_of(words, is_spelling)) return {};
  std::map<std::string, std::string> owners;  // spelling -> commands
  for (const Command& command : program.commands) {
    for (const auto& [documented, long_name] : declare(command).parser->spellings()) {
      std::string& names = owners[documented];
      names += fmt::format("{}{} {}", names.empty() ? "" : " and ", program.name, command.name);
    }
  }
  for (const auto& [documented, long_name] : parser.spellings()) owners.erase(documented);
  for (const std::string& word : words) {
    const auto owner = owners.find(word.substr(0, word.find('=')));
    if (owner == owners.end()) continue;
    return fmt::format("{} is not an option of {}; it belongs to {}", owner->first, parser.name(),
                       owner->second);
  }
  return {};
}

// For a command without a word: "; for example: msprobe diff old new".
std::string first_example(const Program& program, const cli::Parser& parser) {
  const std::string examples = parser.row().examples;
  const std::string start = fmt::format("{} {} ", program.name, parser.name());
  const std::size_t from = examples.find(start);
  if (from == std::string::npos) return {};
  std::string line = examples.substr(from, examples.find('\n', from) - from);
  line = line.substr(0, line.find("  #"));
  line.erase(line.find_last_not_of(' ') + 1);
  return line.ends_with('\\') ? std::string() : fmt::format("; for example: {}", line);
}

ExitStatus refuse_options(const Program& program, const Error& error, const cli::Parser& parser,
                          std::span<const std::string> words) {
  std::string meant;
  const std::vector<std::string> declared = parser.long_names();
  for (const std::string& word : words) {
    if (!word.starts_with("--")) continue;
    const std::string name = word.substr(2, word.find('=') - 2);
    if (std::ranges::find(declared, name) != declared.end()) continue;
    if (const std::string near = nearest(name, declared); !near.empty()) {
      meant = fmt::format(". Did you mean '--{}'?", near);
    }
  }
  const std::string example = words.empty() ? first_example(program, parser) : "";
  log::error("{}{}{} ('{} {} --help' shows the options)", error.message, meant, example,
             program.name, parser.name());
  return kCannot;
}

ExitStatus show_help(const Program& program, const Command& command) {
  fmt::print("{}", declare(command).parser->help(std::string(program.name), help_columns()));
  return kPassed;
}

ExitStatus run(const Program& program, const Command& command, std::span<const std::string> words) {
  const auto [parser, action] = declare(command);
  const std::vector<std::string> rewritten =
      rewrite_spellings(words, {parser->long_names(), parser->letters(), parser->spellings()});
  // A word such as -forward could be read as letters, here -f and -o rward.
  if (const std::string other = elsewhere(program, *parser, rewritten); !other.empty()) {
    return refuse_options(program, {ErrorKind::kUsage, other}, *parser, rewritten);
  }
  const Result<cli::Parser::Parsed> parsed = parser->parse(rewritten);
  if (!parsed) return refuse_options(program, parsed.error(), *parser, rewritten);
  if (*parsed == cli::Parser::Parsed::kHelp) return show_help(program, command);
  return action();
}

ExitStatus help(const Program& program, std::span<const std::string> words) {
  if (words.empty()) {
    fmt::print("{}", overview(program));
    return kPassed;
  }
  if (words[0] == kSimTopic) {
    fmt::print("{}", sim_help(help_columns()));
    return kPassed;
  }
  const Command* command = find_command(program, words[0]);
  return command == nullptr ? refuse_command(program, words[0]) : show_help(program, *command);
}

std::vector<cli::CommandRow> rows_of(const Program& program) {
  std::vector<cli::CommandRow> rows;
  for (const Command& command : program.commands) rows.push_back(declare(command).parser->row());
  return rows;
}

// For the installation: `msprobe man` is the page of the program, `msprobe man NAME` of a command.
ExitStatus print_man_page(const Program& program, std::span<const std::string> words) {
  if (words.empty()) {
    fmt::print("{}", cli::man_page(program.name, kVersion, program.summary, rows_of(program)));
    return kPassed;
  }
  const Command* command = find_command(program, words[0]);
  if (command == nullptr) return refuse_command(program, words[0]);
  fmt::print("{}", cli::man_page(declare(*command).parser->row(), program.name, kVersion));
  return kPassed;
}

ExitStatus print_completion(const Program& program, std::span<const std::string> words) {
  const std::vector<std::string> shells = cli::completion_shells();
  if (words.size() != 1 || std::ranges::find(shells, words[0]) == shells.end()) {
    log::error(
        "{0} completion takes the name of a shell: {1}. For this shell only: source <({0} "
        "completion bash)",
        program.name, fmt::join(shells, ", "));
    return kCannot;
  }
  std::vector<cli::CommandRow> rows = rows_of(program);
  rows.push_back({"help", "Show the options of a command.", "", {}});
  cli::CommandRow completion{
      "completion", "Print a script that completes commands and options in a shell.", "", {}};
  completion.options.push_back(
      {.value_name = "SHELL", .help = "shell", .choices = shells, .is_positional = true});
  rows.push_back(std::move(completion));
  fmt::print("{}", cli::completion_script(words[0], program.name, rows));
  return kPassed;
}

}  // namespace

ExitStatus run_command_line(const Program& program, std::vector<std::string> arguments) {
  if (arguments.empty()) arguments = {"help"};
  const auto words = std::span<const std::string>(arguments).subspan(1);
  if (arguments[0] == "--help" || arguments[0] == "-h") return help(program, {});
  if (arguments[0] == "help") return help(program, words);
  if (arguments[0] == "completion") return print_completion(program, words);
  if (arguments[0] == "man") return print_man_page(program, words);
  if (arguments[0] == "--version" || arguments[0] == "-V") {
    fmt::print("{} {}\n{}", program.name, kVersion, describe_python_package(this_program()));
    return kPassed;
  }
  const Command* command = find_command(program, arguments[0]);
  if (command == nullptr) return refuse_command(program, arguments[0]);
  return run(program, *command, words);
}

int run_main(const std::function<ExitStatus()>& run) {
  log::start();
  end_cleanly();
  try {
    const ExitStatus status = run();
    if (standard_output_arrived()) return status;
    log::error("standard output cannot be written: {}", std::strerror(errno));
  } catch (const std::bad_alloc&) {
    log::error("out of memory");
  } catch (const std::exception& e) {
    log::error("unexpected: {}", e.what());
  }
  return kCannot;
}

}  // namespace msprobe::app
