#include "common_options.h"

#include <map>

#include <fmt/format.h>

#include "cli/parser.h"
#include "core/log.h"
#include "core/path_check.h"
#include "judge/standards_file.h"

namespace msprobe::app {

void declare_verdict_options(cli::Parser& command, VerdictOptions& options, bool has_strict) {
  static const std::map<std::string, judge::Profile> kProfiles{
      {"documented", judge::Profile::kDocumented}, {"reference", judge::Profile::kReference}};
  command
      .value(
          "--profile",
          [&options](const std::string& name) { options.profile = kProfiles.at(name); },
          "whose rules: documented (default), or reference for today's public tool")
      .one_of({"documented", "reference"});
  command.value("--standards", options.standards_file,
                "YAML with your own standards per API, dtype or device (docs/standards.md)");
  declare_fail_on(command, options, has_strict);
}

void declare_fail_on(cli::Parser& command, VerdictOptions& options, bool has_strict) {
  std::vector<std::string> fail_on{"error", "warning"};
  if (has_strict) fail_on.emplace_back("strict");
  command
      .value("--fail-on", options.fail_on,
             has_strict ? "which verdicts make the exit status 1: error (default), warning, or "
                          "strict for the strict status alone"
                        : "which verdicts make the exit status 1: error (default) or warning")
      .one_of(fail_on);
}

Result<void> check_fail_on(const VerdictOptions& options) {
  if (!options.fail_on_strict() || options.profile == judge::Profile::kDocumented) return {};
  return fail(ErrorKind::kUsage, "--fail-on strict: profile reference has no strict status");
}

void declare_output_options(cli::Parser& command, OutputOptions& options) {
  static const std::map<std::string, tables::Titles> kTitles{{"en", tables::Titles::kEnglish},
                                                             {"zh", tables::Titles::kChinese}};
  command
      .value(
          "--titles", [&options](const std::string& name) { options.titles = kTitles.at(name); },
          "column titles: en (default), or zh as the public tool writes them")
      .one_of({"en", "zh"});
  command
      .value("--precision", options.precision,
             fmt::format("decimals of the numbers in the CSVs (default {})",
                         tables::kDefaultPrecision))
      .between(0, 20);
}

Result<judge::Standards> load_standards(const VerdictOptions& options) {
  if (options.standards_file.empty()) return judge::Standards{};
  const Result<std::filesystem::path> path = check_input_file(options.standards_file, {});
  if (!path) return propagate(path);
  Result<std::vector<judge::Rule>> rules = judge::load_rules(*path);
  if (!rules) return propagate(rules);
  judge::Standards standards;
  standards.rules = std::move(*rules);
  return standards;
}

Result<std::filesystem::path> check_tensor_path(const std::string& path) {
  return check_input_file(path, {});
}

ExitStatus refuse(const Error& error) {
  log::error("{}", error.message);
  return kCannot;
}

}  // namespace msprobe::app
