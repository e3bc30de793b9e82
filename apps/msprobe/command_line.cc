#include "command_line.h"

#include <algorithm>
#include <cstdio>

#include <fmt/format.h>

#include "cli/parser.h"
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

// A documented option that only other commands have: which ones.
std::string elsewhere(const Program& program, const cli::Parser& parser,
                      std::span<const std::string> words) {
  const std::vector<std::string> declared = parser.long_names();
  for (const Spelling& spelling : documented_spellings()) {
    const auto is_given = [&](const std::string& word) {
      return word.substr(0, word.find('=')) == spelling.documented;
    };
    if (std::ranges::none_of(words, is_given)) continue;
    if (std::ranges::find(declared, spelling.long_name) != declared.end()) continue;
    std::string names;
    for (const Command& command : program.commands) {
      cli::Parser other{std::string(command.name), std::string(command.summary)};
      (void)command.declare(other);
      const std::vector<std::string> options = other.long_names();
      if (std::ranges::find(options, spelling.long_name) == options.end()) continue;
      names += fmt::format("{}{} {}", names.empty() ? "" : " and ", program.name, command.name);
    }
    if (!names.empty()) {
      return fmt::format("{} is not an option of {}; it belongs to {}", spelling.documented,
                         parser.name(), names);
    }
  }
  return {};
}

ExitStatus refuse_options(const Program& program, const Error& error, const cli::Parser& parser,
                          std::span<const std::string> words) {
  if (const std::string other = elsewhere(program, parser, words); !other.empty()) {
    log::error("{} ('{} {} --help' shows the options)", other, program.name, parser.name());
    return kCannot;
  }
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
  log::error("{}{} ('{} {} --help' shows the options)", error.message, meant, program.name,
             parser.name());
  return kCannot;
}

ExitStatus run(const Program& program, const Command& command, std::span<const std::string> words) {
  cli::Parser parser(std::string(command.name), std::string(command.summary),
                     std::string(command.examples));
  const Run action = command.declare(parser);
  const std::vector<std::string> rewritten =
      rewrite_spellings(words, {parser.long_names(), parser.letters()});
  const Result<cli::Parser::Parsed> parsed = parser.parse(rewritten);
  if (!parsed) return refuse_options(program, parsed.error(), parser, rewritten);
  if (*parsed == cli::Parser::Parsed::kHelp) {
    fmt::print("{}", parser.help(std::string(program.name)));
    return kPassed;
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
