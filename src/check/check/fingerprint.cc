// SPDX-License-Identifier: Apache-2.0
#include "check/fingerprint.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/stable_hash.h"
#include "engines/device_name.h"

namespace msprobe::check {
namespace {

std::string hash_of(std::string_view bytes) {
  return bytes.empty() ? "" : text(StableHash().add(bytes).value());
}

std::string joined(const std::vector<std::string>& names) {
  return fmt::format("{}", fmt::join(names, ","));
}

std::string yes_or_no(bool flag) { return flag ? "yes" : "no"; }

}  // namespace

journal::RunFacts facts_of(const CheckOptions& options, const dump::DumpIndex& dump,
                           const Dialect& dialect, const Plan& plan,
                           const protocol::Hello& engine) {
  const bool documented = options.profile == documented::Profile::kDocumented;
  journal::RunFacts facts{
      {"dump", hash_of(dump.file.text())},
      {std::string(kProfileFact), documented ? "documented" : "reference"},
      {std::string(kTitlesFact), options.titles == tables::Titles::kEnglish ? "en" : "zh"},
      {"precision", std::to_string(options.config.precision)},
      {"seed", std::to_string(options.engine.seed)},
      {"device", std::string(engines::device_kind(engine.device))},
      {"torch", engine.torch_version},
      {"threads", std::to_string(options.engine.threads)},
      {"sim_profile", options.engine.sim_profile},
      {"sim_config", hash_of(options.sim_config_text)},
      {"allow_tf32", yes_or_no(options.allow_tf32)},
      {"card", hash_of(options.card.text)},
      {"hf32", yes_or_no(options.hf32)},
      {"jit_compile", yes_or_no(options.engine.jit_compile)},
      {"filter_api", yes_or_no(options.drop_repeats)},
      {"only", joined(options.only)},
      {"white_list", joined(options.config.white_list)},
      {"black_list", joined(options.config.black_list)},
      {"quantization_api_list", joined(options.config.quantization_api_list)},
      {"standards", hash_of(options.standards_text)},
      {std::string(kRecordedFact), std::to_string(plan.recorded)},
      {std::string(kRepeatsFact), std::to_string(plan.repeats)},
      {std::string(kNotSelectedFact), std::to_string(plan.not_selected)},
      {std::string(journal::kShardFact), text(options.shard)},
      {std::string(kDirectoryFact), options.working_directory.string()},
  };
  journal::add_rerun(facts, options.rerun);
  if (options.older) facts.emplace_back("backward", hash_of(dump.backward_text));
  if (&dialect != &pytorch_dialect()) facts.emplace_back(kDialectFact, dialect.name);
  return facts;
}

}  // namespace msprobe::check
