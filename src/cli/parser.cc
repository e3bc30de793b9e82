#include "cli/parser.h"

#include <algorithm>

#include <CLI/CLI.hpp>

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

}  // namespace

Option Option::required() const { return Option(option_->required()); }

Option Option::shows_default() const { return Option(option_->capture_default_str()); }

Option Option::repeatable() const { return Option(option_->take_all()); }

Option Option::one_of(std::vector<std::string> values) const {
  return Option(option_->check(CLI::IsMember(std::move(values))));
}

Option Option::between(int low, int high) const {
  return Option(option_->check(CLI::Range(low, high)));
}

Option Option::positive() const {
  return Option(option_->check(
      number_that([](double number) { return number > 0; }, "must be more than 0", "POSITIVE")));
}

Option Option::not_negative() const {
  return Option(option_->check(
      number_that([](double number) { return number >= 0; }, "must be 0 or more", "NONNEGATIVE")));
}

Parser::Parser(const std::string& name, const std::string& summary, const std::string& examples)
    : app_(std::make_unique<CLI::App>(summary, name)) {
  app_->get_formatter()->column_width(34);
  if (!examples.empty()) app_->footer("\nexamples:\n" + examples);
}

Parser::~Parser() = default;

Option Parser::value(const std::string& names, std::string& variable, const std::string& help) {
  return Option(app_->add_option(names, variable, help));
}

Option Parser::value(const std::string& names, int& variable, const std::string& help) {
  return Option(app_->add_option(names, variable, help));
}

Option Parser::value(const std::string& names, std::uint64_t& variable, const std::string& help) {
  return Option(app_->add_option(names, variable, help));
}

Option Parser::value(const std::string& names, double& variable, const std::string& help) {
  return Option(app_->add_option(names, variable, help));
}

Option Parser::value(const std::string& names, std::optional<int>& variable,
                     const std::string& help) {
  return Option(app_->add_option(names, variable, help));
}

Option Parser::value(const std::string& names, std::optional<std::int64_t>& variable,
                     const std::string& help) {
  return Option(app_->add_option(names, variable, help));
}

Option Parser::value(const std::string& names, std::optional<std::uint64_t>& variable,
                     const std::string& help) {
  return Option(app_->add_option(names, variable, help));
}

Option Parser::value(const std::string& names, std::vector<std::string>& variable,
                     const std::string& help) {
  return Option(app_->add_option(names, variable, help));
}

Option Parser::value(const std::string& names, std::function<void(const std::string&)> take,
                     const std::string& help) {
  return Option(app_->add_option_function<std::string>(names, take, help));
}

void Parser::flag(const std::string& names, bool& variable, const std::string& help) {
  app_->add_flag(names, variable, help);
}

void Parser::flag(const std::string& names, std::string& variable, const std::string& help) {
  app_->add_flag(names, variable, help);
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

Result<Parser::Parsed> Parser::parse(std::vector<std::string> words) {
  std::ranges::reverse(words);  // CLI11 takes its arguments from the back
  try {
    app_->parse(words);
  } catch (const CLI::CallForHelp&) {
    return Parsed::kHelp;
  } catch (const CLI::ParseError& error) {
    return fail(ErrorKind::kUsage, error.what());
  }
  return Parsed::kRun;
}

bool Parser::given(const std::string& name) const { return app_->count(name) > 0; }

std::string Parser::help(const std::string& program) const { return app_->help(program); }

const std::string& Parser::name() const { return app_->get_name(); }

}  // namespace msprobe::cli
