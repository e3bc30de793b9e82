#include "command_line.h"

#include <cstdio>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "command.h"
#include "core/log.h"
#include "core/suggestion.h"
#include "documented_spellings.h"
#include "version.h"

namespace msprobe::app {
namespace {

std::string overview(const Program& program) {
  std::string text = fmt::format(
      "{0} {1}: {2}\n\n"
      "usage: {0} COMMAND [options]\n\ncommands:\n",
      program.name, kVersion, program.summary);
  for (const Command& command : program.commands) {
    text += fmt::format("  {:<24}{}\n", command.name, command.summary);
  }
  text += fmt::format(
      "\n  {0} COMMAND --help   options and examples of a command\n"
      "  {0} --version\n\n"
      "exit status: 0 nothing failed, 1 a verdict failed or a call was lost, 2 the job could not "
      "be done\n",
      program.name);
  return text;
}

const Command* find_command(const Program& program, std::string_view name) {
  for (const Command& command : program.commands) {
    if (command.name == name) return &command;
  }
  return nullptr;
}

ExitStatus refuse_command(const Program& program, const std::string& name) {
  std::vector<std::string> names;
  for (const Command& command : program.commands) names.emplace_back(command.name);
  const std::string meant = nearest(name, names);
  log::error("'{0}' is not a command of {1}{2}; '{1} --help' lists them", name, program.name,
             meant.empty() ? "" : fmt::format(". Did you mean '{}'?", meant));
  return kCannot;
}

DeclaredOptions declared_options(const CLI::App& command) {
  DeclaredOptions declared;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) declared.long_names.push_back(name);
    for (const std::string& name : option->get_snames()) declared.letters += name;
  }
  return declared;
}

ExitStatus refuse_options(const Program& program, const CLI::ParseError& error,
                          const CLI::App& parser, std::span<const std::string> words) {
  std::string meant;
  const DeclaredOptions declared = declared_options(parser);
  for (const std::string& word : words) {
    if (!word.starts_with("--")) continue;
    const std::string name = word.substr(2, word.find('=') - 2);
    if (std::ranges::find(declared.long_names, name) != declared.long_names.end()) continue;
    if (const std::string near = nearest(name, declared.long_names); !near.empty()) {
      meant = fmt::format(". Did you mean '--{}'?", near);
    }
  }
  log::error("{}{} ('{} {} --help' shows the options)", error.what(), meant, program.name,
             parser.get_name());
  return kCannot;
}

ExitStatus run(const Program& program, const Command& command, std::span<const std::string> words) {
  CLI::App parser{std::string(command.summary), std::string(command.name)};
  parser.get_formatter()->column_width(34);
  parser.footer(fmt::format("\nexamples:\n{}", command.examples));
  const Run action = command.declare(parser);
  std::vector<std::string> rewritten = rewrite_spellings(words, declared_options(parser));
  const std::vector<std::string> shown = rewritten;
  std::ranges::reverse(rewritten);  // CLI11 takes its arguments from the back
  try {
    parser.parse(rewritten);
  } catch (const CLI::CallForHelp&) {
    fmt::print("{}", parser.help(std::string(program.name)));
    return kPassed;
  } catch (const CLI::ParseError& error) {
    return refuse_options(program, error, parser, shown);
  }
  return action();
}

}  // namespace

ExitStatus run_command_line(const Program& program, std::vector<std::string> arguments) {
  if (arguments.empty() || arguments[0] == "--help" || arguments[0] == "-h" ||
      arguments[0] == "help") {
    fmt::print("{}", overview(program));
    return kPassed;
  }
  if (arguments[0] == "--version" || arguments[0] == "-V") {
    fmt::print("{} {}\n", program.name, kVersion);
    return kPassed;
  }
  const Command* command = find_command(program, arguments[0]);
  if (command == nullptr) return refuse_command(program, arguments[0]);
  return run(program, *command, std::span<const std::string>(arguments).subspan(1));
}

int run_main(const std::function<ExitStatus()>& run) {
  log::start();
  try {
    return run();
  } catch (const std::bad_alloc&) {
    log::error("out of memory");
  } catch (const std::exception& e) {
    log::error("unexpected: {}", e.what());
  }
  return kCannot;
}

}  // namespace msprobe::app
