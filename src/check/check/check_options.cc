// SPDX-License-Identifier: Apache-2.0
#include "check/check_options.h"

#include <algorithm>

#include <fmt/format.h>

#include "card/card_json.h"
#include "check/config.h"
#include "core/file.h"
#include "core/machine_memory.h"
#include "core/path_check.h"
#include "core/shell_words.h"
#include "documented/standards_file.h"
#include "engines/device_name.h"
#include "engines/engine_process.h"
#include "identify/card_products.h"
#include "journal/csv_pair.h"
#include "units/unit_spec.h"

namespace msprobe::check {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMegabyte = std::uint64_t{1} << 20;
constexpr std::uint64_t kDefaultWorkerMemory = 4096 * kMegabyte;

std::optional<fs::path> given(const std::string& text) {
  if (text.empty()) return std::nullopt;
  return fs::path(text);
}

Result<Config> load_config(const CheckRequest& request, const Surroundings& surroundings) {
  Config config;
  const auto yaml = find_config_yaml({.option = given(request.config_yaml),
                                      .environment = surroundings.config,
                                      .program = surroundings.program});
  if (yaml) {
    Result<Config> read = read_config_yaml(*yaml);
    if (!read) return read;
    config = std::move(*read);
  }
  if (!request.config_json.empty()) {
    Result<Config> read = with_config_json(std::move(config), request.config_json);
    if (!read) return read;
    config = std::move(*read);
  }
  if (request.output.precision) config.precision = *request.output.precision;
  std::error_code error;
  config.error_data_path = fs::absolute(config.error_data_path, error).lexically_normal();
  return config;
}

// An engine may take its share of the machine, at most the default.
std::uint64_t worker_memory(const CheckRequest& request) {
  if (request.worker_memory_mb > 0) return request.worker_memory_mb * kMegabyte;
  return std::clamp(machine_memory_bytes() / 2 / request.workers, 1024 * kMegabyte,
                    kDefaultWorkerMemory);
}

Result<std::string> text_of(const std::string& path) {
  if (path.empty()) return std::string();
  const Result<FileBytes> file = load_file(path);
  if (!file) return propagate(file);
  return std::string(file->text());
}

// A dump for the CSV, and the other CSV of the pair.
Result<void> check_resumed_csv(const std::string& csv) {
  if (csv.ends_with(".json")) {
    return fail(
        ErrorKind::kUsage,
        fmt::format("{} should be a file of type .csv! -csv_path takes the result CSV of the "
                    "run to continue, -api_info the dump.json.",
                    csv));
  }
  const journal::CsvNames names;
  std::string name = fs::path(csv).filename().string();
  if (!name.starts_with(names.details)) return {};
  name.replace(0, names.details.size(), names.result);
  return fail(ErrorKind::kUsage,
              fmt::format("{} is the details CSV: -csv_path takes the result CSV beside it, {}",
                          csv, shell_path(name)));
}

Result<fs::path> find_dump(const std::string& given) {
  Result<fs::path> dump = check_input_file(given, {.suffix = ".json"});
  if (!dump && given.ends_with(".csv")) {
    dump.error().message +=
        " -api_info takes the dump.json, -csv_path the result CSV of the run to continue.";
  } else if (!dump && !given.ends_with(".json")) {
    dump.error().message += " Name a dump.json, or the dump_path of a recording.";
  }
  return dump;
}

Result<void> find_input(const CheckRequest& request, CheckOptions& options) {
  if (!request.is_older()) {
    if (request.api_info.empty()) {
      return fail(ErrorKind::kUsage,
                  "Please provide api_info_file for offline acc_check. It is a dump.json, or the "
                  "dump_path of a recording: msprobe acc_check dump");
    }
    const Result<fs::path> dump = find_dump(request.api_info);
    if (!dump) return propagate(dump);
    options.dump = *dump;
    return check_resumed_csv(request.resume_csv);
  }
  const Result<CheckedOlderFiles> files = check_older_files(request.older);
  if (!files) return propagate(files);
  options.dump = files->forward;
  options.older = {files->backward.value_or(fs::path()), files->data};
  return {};
}

// The names of run_ut's files hold no time: a new run must not meet those of an older one.
Result<void> check_older_output(const CheckOptions& options) {
  if (!options.older || !options.request.resume_csv.empty()) return {};
  const journal::CsvPaths paths = journal::csv_paths(options.out_directory, {}, {.stamped = false});
  for (const fs::path& path : {paths.result, paths.details, paths.run}) {
    if (Result<void> fresh = must_not_exist(path); !fresh) return fresh;
  }
  if (!options.request.save_error_data) return {};
  return must_not_exist(options.config.error_data_path / "ut_error_data");
}

Result<void> set_standards(const CheckRequest& request, CheckOptions& options) {
  Result<documented::Standards> standards =
      documented::load_standards(request.verdict.standards_file);
  if (!standards) return propagate(standards);
  options.standards = std::move(*standards);
  options.standards.quantization_apis = options.config.quantization_api_list;
  Result<std::string> text = text_of(request.verdict.standards_file);
  if (!text) return propagate(text);
  options.standards_text = std::move(*text);
  return {};
}

Result<void> set_engine(const CheckRequest& request, const Surroundings& surroundings,
                        CheckOptions& options) {
  std::vector<std::string>& devices = options.request.devices;
  if (devices.empty()) devices = {"0"};
  if (Result<void> good = engines::check_device_names(devices); !good) return good;
  const std::optional<fs::path> named = given(request.engine.program);
  const Result<fs::path> found =
      engines::find_engine(named ? named : surroundings.engine, surroundings.program);
  if (!found) return propagate(found);
  options.request.engine.program = found->string();
  return {};
}

Result<void> set_output(const CheckRequest& request, CheckOptions& options) {
  if (request.resume_csv.empty()) {
    const Result<fs::path> out = prepare_output_directory(request.out);
    if (!out) return propagate(out);
    options.out_directory = *out;
  }
  const Result<journal::Shard> shard = journal::parse_shard(request.shard);
  if (!shard) return propagate(shard);
  options.shard = *shard;
  return check_older_output(options);
}

Result<void> set_sim(const CheckRequest& request, CheckOptions& options) {
  // A bare id is one of the simulated device, too.
  const bool on_sim = std::ranges::any_of(options.request.devices, [](const std::string& name) {
    return engines::device_kind(name) == "sim" || engines::is_bare_id(name);
  });
  if (!on_sim && request.engine.is_for_sim()) {
    return fail(ErrorKind::kUsage,
                "--sim-profile and --sim-config are for the simulated device: add -d sim");
  }
  Result<std::string> text = text_of(request.engine.sim_config);
  if (!text) return propagate(text);
  options.sim_config_text = std::move(*text);
  // The engine may run in another directory.
  if (!request.engine.sim_config.empty()) {
    options.request.engine.sim_config = fs::absolute(request.engine.sim_config).string();
  }
  return {};
}

// The files of the user's functions. The engine may run in another directory.
Result<void> set_functions(const CheckRequest& request, CheckOptions& options) {
  const auto take = [](const std::string& given, const char* option, std::string& path,
                       std::string& text) -> Result<void> {
    if (given.empty()) return {};
    Result<std::string> read = text_of(given);
    if (!read) return propagate(read, option);
    text = *std::move(read);
    path = fs::absolute(given).lexically_normal().string();
    return {};
  };
  const engines::EngineOptions& asked = request.engine;
  engines::EngineOptions& engine = options.request.engine;
  if (auto done = take(asked.reference, "--reference", engine.reference, options.reference_text);
      !done) {
    return done;
  }
  return take(asked.kernel, "--kernel", engine.kernel, options.kernel_text);
}

Result<void> set_card(const CheckRequest& request, CheckOptions& options) {
  if (request.card_file.empty()) return {};
  if (request.profile() != documented::Profile::kDocumented) {
    return fail(ErrorKind::kUsage, "--card is for the strict status: use --profile documented");
  }
  Result<std::string> text = text_of(request.card_file);
  if (!text) return propagate(text);
  const Result<card::Card> card = card::parse_card(*text, request.card_file);
  if (!card) return propagate(card);
  Result<std::vector<units::KnownProducts>> products = identify::known_products(*card);
  if (!products) return propagate(products, request.card_file);
  if (products->empty()) {
    return fail(ErrorKind::kUsage,
                fmt::format("{}: no matrix unit was found on {}, so this card cannot explain "
                            "results; leave out --card",
                            request.card_file, card->device));
  }
  options.card = {.text = *std::move(text),
                  .device = card->device,
                  .torch = card->torch,
                  .products = *std::move(products)};
  return {};
}

// What is known of the unit that multiplies 8-bit numbers, beside or without a card.
Result<void> set_unit(const CheckRequest& request, CheckOptions& options) {
  if (request.unit.empty()) return {};
  const Result<units::Unit> unit = units::parse_unit(request.unit);
  if (!unit) return propagate(unit, "--unit");
  std::vector<units::KnownProducts>& products = options.card.products;
  std::erase_if(products, [](const units::KnownProducts& known) { return is_float8(known.dtype); });
  products.push_back({.dtype = DType::kFloat8E4M3, .units = {*unit}});
  return {};
}

}  // namespace

CallCommand rerun_command(const CheckRequest& request) {
  CallCommand rerun(request.is_older() ? "run_ut" : "acc_check");
  if (request.is_older()) {
    rerun.add("-forward", request.older.forward).add("-backward", request.older.backward);
  } else {
    rerun.add("-api_info", request.api_info);
  }
  const bool default_device = request.devices.empty() || request.devices.front() == "0";
  if (!default_device) rerun.add("-d", request.devices.front());
  rerun.add("--data_path", request.older.data);
  engines::add_device(rerun, request.engine);
  engines::add_flags(rerun, request.engine);
  rerun.add("--card", request.card_file);
  rerun.add("--unit", request.unit);
  rerun.add("-config", request.config_json);
  rerun.add("--config-yaml", request.config_yaml);
  rerun.add("--standards", request.verdict.standards_file);
  engines::add_run(rerun, request.engine);
  return rerun;
}

Result<CheckOptions> options_of(const CheckRequest& request, const Surroundings& surroundings) {
  CheckOptions options;
  options.request = request;
  if (const auto done = find_input(request, options); !done) return propagate(done);
  Result<Config> config = load_config(request, surroundings);
  if (!config) return propagate(config);
  options.config = std::move(*config);
  if (const auto done = set_standards(request, options); !done) return propagate(done);
  if (const auto done = set_engine(request, surroundings, options); !done) return propagate(done);
  if (const auto done = set_output(request, options); !done) return propagate(done);
  if (const auto done = set_sim(request, options); !done) return propagate(done);
  if (const auto done = set_functions(request, options); !done) return propagate(done);
  if (const auto done = set_card(request, options); !done) return propagate(done);
  if (const auto done = set_unit(request, options); !done) return propagate(done);
  options.rerun = rerun_command(request);
  options.working_directory = fs::current_path();
  options.dispatch.timeout_seconds = request.timeout_seconds;
  options.dispatch.worker_memory_bytes = worker_memory(request);
  return options;
}

}  // namespace msprobe::check
