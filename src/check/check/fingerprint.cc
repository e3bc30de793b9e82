// SPDX-License-Identifier: Apache-2.0
#include "check/fingerprint.h"

#include <algorithm>

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

// "allow_tf32" of --allow-tf32.
std::string fact_name(const ReplayFlag& flag) {
  std::string name = std::string_view(flag.option).substr(2).data();
  std::ranges::replace(name, '-', '_');
  return name;
}

}  // namespace

journal::RunFacts facts_of(const CheckOptions& options, const dump::DumpIndex& dump,
                           const Dialect& dialect, const Plan& plan,
                           const protocol::Hello& engine) {
  const bool documented = options.request.profile() == documented::Profile::kDocumented;
  journal::RunFacts facts{
      {"dump", hash_of(dump.file.text())},
      {std::string(kProfileFact), documented ? "documented" : "reference"},
      {std::string(kTitlesFact),
       options.request.output.titles == tables::Titles::kEnglish ? "en" : "zh"},
      {"precision", std::to_string(options.config.precision)},
      {"seed", std::to_string(options.request.engine.replay.seed)},
      {"device", std::string(engines::device_kind(engine.device))},
      {"torch", engine.torch_version},
      {"threads", std::to_string(options.request.engine.threads)},
      {"sim_profile", options.request.engine.sim_profile},
      {"sim_config", hash_of(options.sim_config_text)},
      {"reference", hash_of(options.reference_text)},
      {"kernel", hash_of(options.kernel_text)},
      {"card", hash_of(options.card.text + options.request.unit)},
      {"jit_compile", yes_or_no(options.request.engine.jit_compile)},
      {"filter_api", yes_or_no(options.request.filter_api)},
      {"only", joined(options.request.only)},
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
  for (const ReplayFlag& flag : kReplayFlags) {
    facts.emplace_back(fact_name(flag), yes_or_no(options.request.engine.replay.*flag.value));
  }
  journal::add_rerun(facts, options.rerun);
  if (options.older) facts.emplace_back("backward", hash_of(dump.backward_text));
  if (&dialect != &pytorch_dialect()) facts.emplace_back(kDialectFact, dialect.name);
  return facts;
}

}  // namespace msprobe::check
