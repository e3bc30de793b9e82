// The options of a command line, declared on plain variables. CLI11 stays behind it: its templates
// would cost every command's file ten seconds of compile time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace msprobe::cli {

// One declared option; each function narrows what it takes and returns it again.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}

  Option required() const;
  Option shows_default() const;  // the variable's value at this moment, in the help text
  Option repeatable() const;
  Option one_of(std::vector<std::string> values) const;
  Option between(int low, int high) const;
  Option positive() const;
  Option not_negative() const;

 private:
  CLI::Option* option_;
};

class Parser {
 public:
  // `examples` stand below the options in the help text.
  Parser(const std::string& name, const std::string& summary, const std::string& examples = "");
  ~Parser();
  Parser(const Parser&) = delete;
  Parser& operator=(const Parser&) = delete;

  // `names` as in "-o,--out_path"; without a dash it is the name of a positional argument.
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

  void flag(const std::string& names, bool& variable, const std::string& help);
  // "true" where the option stands alone, what follows the sign where it is --option=TEXT.
  void flag(const std::string& names, std::string& variable, const std::string& help);

  // Long names without their dashes, and the single letters.
  std::vector<std::string> long_names() const;
  std::string letters() const;

  enum class Parsed { kRun, kHelp };
  Result<Parsed> parse(std::vector<std::string> words);

  bool given(const std::string& name) const;  // with its dashes; after parse
  std::string help(const std::string& program) const;
  const std::string& name() const;

 private:
  std::unique_ptr<CLI::App> app_;
};

}  // namespace msprobe::cli
