// SPDX-License-Identifier: Apache-2.0
#include "cli/parser.h"

#include <algorithm>

#include <CLI/CLI.hpp>

#include "cli/help_text.h"

namespace msprobe::cli {
namespace {

// CLI11's own validators name the largest double as the other end, with all of its digits.
CLI::Validator number_that(bool (*fits)(double), const std::string& wanted,
                           const std::string& description) {
  return {[=](const std::string& text) {
            double number = 0;
            const bool is_fine = CLI::detail::lexical_cast(text, number) && fits(number);
            return is_fine ? std::string() : text + " " + wanted;
          },
          description};
}

// CLI11 names an option by its long name, also if its value may come without it.
template <class Rows>
std::string missing(const Rows& rows, const std::string& text) {
  for (const OptionRow& row : rows) {
    if (row.is_positional && !row.names.empty() && text.starts_with(row.names.back() + " ")) {
      return row.value_name + " (" + row.names.front() + ")" + text.substr(row.names.back().size());
    }
  }
  return text;
}

}  // namespace

Option Option::named(const std::string& value_name) const {
  row_->value_name = value_name;
  return *this;
}

Option Option::required() const {
  option_->required();
  row_->is_required = true;
  return *this;
}

Option Option::shows_default() const {
  option_->capture_default_str();
  row_->default_value = option_->get_default_str();
  return *this;
}

Option Option::repeatable() const {
  option_->take_all();
  row_->takes_many = false;
  return *this;
}

Option Option::one_of(std::vector<std::string> values) const {
  row_->choices = values;
  option_->check(CLI::IsMember(std::move(values)));
  return *this;
}

Option Option::one_of_or(std::vector<std::string> values, const std::string& prefix) const {
  row_->choices = values;
  option_->check([member = CLI::IsMember(std::move(values)), prefix](const std::string& text) {
    return text.starts_with(prefix) ? std::string() : member(text);
  });
  return *this;
}

Option Option::between(int low, int high) const {
  option_->check(CLI::Range(low, high));
  return *this;
}

Option Option::positive() const {
  option_->check(
      number_that([](double number) { return number > 0; }, "must be more than 0", "POSITIVE"));
  return *this;
}

Option Option::not_negative() const {
  option_->check(
      number_that([](double number) { return number >= 0; }, "must be 0 or more", "NONNEGATIVE"));
  return *this;
}

Option Option::hidden() const {
  row_->is_hidden = true;
  return *this;
}

Option Option::choices_shown_by(const std::string& command) const {
  row_->choices_shown_by = command;
  return *this;
}

Parser::Parser(const std::string& name, const std::string& summary, const std::string& examples)
    : app_(std::make_unique<CLI::App>(summary, name)), examples_(examples) {}

Parser::~Parser() = default;

void Parser::group(const std::string& heading) { group_ = heading; }

Parser::Declared Parser::declare(const std::string& names, const std::string& help,
                                 const char* value_name) {
  rows_.push_back({.names = {}, .value_name = value_name, .help = help, .group = group_});
  OptionRow& row = rows_.back();
  std::string taken;
  for (const std::string& name : CLI::detail::split_names(names)) {
    const bool is_documented = name.size() > 2 && name[0] == '-' && name[1] != '-';
    if (!is_documented) taken += (taken.empty() ? "" : ",") + name;
    if (name.starts_with('-')) {
      row.names.push_back(name);
    } else {
      row.is_positional = true;
      row.value_name = name;
    }
  }
  return {&row, taken};
}

template <class T>
Option Parser::declare_value(const std::string& names, T& variable, const std::string& help,
                             const char* value_name) {
  const Declared declared = declare(names, help, value_name);
  return {app_->add_option(declared.names, variable, help), declared.row};
}

Option Parser::value(const std::string& names, std::string& variable, const std::string& help) {
  return declare_value(names, variable, help, "TEXT");
}

Option Parser::value(const std::string& names, int& variable, const std::string& help) {
  return declare_value(names, variable, help, "N");
}

Option Parser::value(const std::string& names, std::uint64_t& variable, const std::string& help) {
  return declare_value(names, variable, help, "N");
}

Option Parser::value(const std::string& names, double& variable, const std::string& help) {
  return declare_value(names, variable, help, "NUMBER");
}

Option Parser::value(const std::string& names, std::optional<int>& variable,
                     const std::string& help) {
  return declare_value(names, variable, help, "N");
}

Option Parser::value(const std::string& names, std::optional<std::int64_t>& variable,
                     const std::string& help) {
  return declare_value(names, variable, help, "N");
}

Option Parser::value(const std::string& names, std::optional<std::uint64_t>& variable,
                     const std::string& help) {
  return declare_value(names, variable, help, "N");
}

Option Parser::value(const std::string& names, std::vector<std::string>& variable,
                     const std::string& help) {
  const Option option = declare_value(names, variable, help, "TEXT");
  rows_.back().takes_many = true;
  return option;
}

Option Parser::value(const std::string& names, std::function<void(const std::string&)> take,
                     const std::string& help) {
  const Declared declared = declare(names, help, "TEXT");
  return {app_->add_option_function<std::string>(declared.names, take, help), declared.row};
}

Option Parser::flag(const std::string& names, bool& variable, const std::string& help) {
  const Declared declared = declare(names, help, "");
  return {app_->add_flag(declared.names, variable, help), declared.row};
}

Option Parser::flag(const std::string& names, std::string& variable, const std::string& help) {
  const Declared declared = declare(names, help, "FILE");
  declared.row->value_is_optional = true;
  return {app_->add_flag(declared.names, variable, help), declared.row};
}

std::vector<std::string> Parser::long_names() const {
  std::vector<std::string> names;
  for (const CLI::Option* option : app_->get_options()) {
    names.insert(names.end(), option->get_lnames().begin(), option->get_lnames().end());
  }
  return names;
}

std::string Parser::letters() const {
  std::string letters;
  for (const CLI::Option* option : app_->get_options()) {
    for (const std::string& name : option->get_snames()) letters += name;
  }
  return letters;
}

std::vector<std::pair<std::string, std::string>> Parser::spellings() const {
  std::vector<std::pair<std::string, std::string>> spellings;
  for (const OptionRow& row : rows_) {
    for (const std::string& name : row.names) {
      if (name.size() <= 2 || name.starts_with("--")) continue;
      spellings.emplace_back(name, row.names.back().substr(2));
    }
  }
  return spellings;
}

Result<Parser::Parsed> Parser::parse(std::vector<std::string> words) {
  std::ranges::reverse(words);  // CLI11 takes its arguments from the back
  try {
    app_->parse(words);
  } catch (const CLI::CallForHelp&) {
    return Parsed::kHelp;
  } catch (const CLI::RequiredError& error) {
    return fail(ErrorKind::kUsage, missing(rows_, error.what()));
  } catch (const CLI::ParseError& error) {
    return fail(ErrorKind::kUsage, error.what());
  }
  return Parsed::kRun;
}

bool Parser::given(const std::string& name) const { return app_->count(name) > 0; }

std::string Parser::help(const std::string& program, std::size_t columns) const {
  return help_text(row(), program, columns);
}

CommandRow Parser::row() const {
  CommandRow row{app_->get_name(), app_->get_description(), examples_, {}};
  for (const OptionRow& declared : rows_) {
    if (!declared.is_hidden) row.options.push_back(declared);
  }
  row.options.push_back(
      {.names = {"-h", "--help"}, .value_name = {}, .help = "show this help", .group = "General"});
  return row;
}

const std::string& Parser::name() const { return app_->get_name(); }

}  // namespace msprobe::cli
