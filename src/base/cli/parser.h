// SPDX-License-Identifier: Apache-2.0
// The options of a command line, declared on plain variables. CLI11 stays behind it: its templates
// would cost every command's file ten seconds of compile time.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/option_row.h"
#include "core/result.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace msprobe::cli {

// One declared option; each function narrows what it takes and returns it again.
class Option {
 public:
  Option(CLI::Option* option, OptionRow* row) : option_(option), row_(row) {}

  Option named(const std::string& value_name) const;  // what the help text calls the value: "DIR"
  Option required() const;
  Option shows_default() const;  // the variable's value at this moment, in the help text
  Option repeatable() const;
  Option one_of(std::vector<std::string> values) const;
  // One of these, or what begins with `prefix`, whose rest the command reads itself.
  Option one_of_or(std::vector<std::string> values, const std::string& prefix) const;
  Option between(int low, int high) const;
  Option positive() const;
  Option not_negative() const;
  Option hidden() const;                                      // not in the help text
  Option choices_shown_by(const std::string& command) const;  // which the help text names instead

 private:
  CLI::Option* option_;
  OptionRow* row_;
};

class Parser {
 public:
  // `examples` follow the options in the help text.
  Parser(const std::string& name, const std::string& summary, const std::string& examples = "");
  ~Parser();
  Parser(const Parser&) = delete;
  Parser& operator=(const Parser&) = delete;

  // Options declared from here on belong to this heading of the help text.
  void group(const std::string& heading);

  // `names` as in "-o,--out_path" or "-api_info,--api_info_file". A documented spelling with one
  // dash and several letters is shown and completed; rewrite_spellings() turns it into the long
  // name before parse(). "DUMP,-api_info,--api_info_file": it may be positional too. A name without
  // a dash alone is a positional argument.
  Option value(const std::string& names, std::string& variable, const std::string& help);
  Option value(const std::string& names, int& variable, const std::string& help);
  Option value(const std::string& names, std::uint64_t& variable, const std::string& help);
  Option value(const std::string& names, double& variable, const std::string& help);
  Option value(const std::string& names, std::optional<int>& variable, const std::string& help);
  Option value(const std::string& names, std::optional<std::int64_t>& variable,
               const std::string& help);
  Option value(const std::string& names, std::optional<std::uint64_t>& variable,
               const std::string& help);
  Option value(const std::string& names, std::vector<std::string>& variable,
               const std::string& help);
  // Hands the word on instead of storing it.
  Option value(const std::string& names, std::function<void(const std::string&)> take,
               const std::string& help);

  Option flag(const std::string& names, bool& variable, const std::string& help);
  // "true" for the option alone, the text for --option=TEXT; named() says what the text is.
  Option flag(const std::string& names, std::string& variable, const std::string& help);

  // Long names without their dashes, and the single letters.
  std::vector<std::string> long_names() const;
  std::string letters() const;
  // Documented spellings with one dash, each with its long name without dashes.
  std::vector<std::pair<std::string, std::string>> spellings() const;

  enum class Parsed { kRun, kHelp };
  Result<Parsed> parse(std::vector<std::string> words);

  bool given(const std::string& name) const;  // with its dashes; after parse
  std::string help(const std::string& program, std::size_t columns = 80) const;
  const std::string& name() const;
  CommandRow row() const;  // without hidden options

 private:
  struct Declared {
    OptionRow* row;
    std::string names;  // those that CLI11 takes
  };
  Declared declare(const std::string& names, const std::string& help, const char* value_name);
  template <class T>
  Option declare_value(const std::string& names, T& variable, const std::string& help,
                       const char* value_name);

  std::unique_ptr<CLI::App> app_;
  std::string examples_;
  std::string group_ = "Options";
  std::deque<OptionRow> rows_;  // Option points into it
};

}  // namespace msprobe::cli
