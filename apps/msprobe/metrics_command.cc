// SPDX-License-Identifier: Apache-2.0
// msprobe metrics: every metric of one pair of tensors, for a person or for a program.
#include <memory>
#include <optional>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "cli/parser.h"
#include "command.h"
#include "common_options.h"
#include "core/cast.h"
#include "core/log.h"
#include "core/path_check.h"
#include "core/visible_text.h"
#include "dump/tensor_file.h"
#include "metrics/beyond.h"
#include "metrics/pair.h"
#include "pair_cause.h"
#include "summary.h"
#include "tables/text_table.h"

namespace msprobe::app {
namespace {

struct MetricsOptions {
  std::string bench;
  std::string device;
  std::string bench_dtype;
  std::string device_dtype;
  std::string api;
  int threads = 1;
  std::string json;
  documented::VerdictOptions verdict;
};

Result<Tensor> load(const std::string& path, const std::string& wanted_dtype) {
  const Result<std::filesystem::path> checked = check_input_file(path, {});
  if (!checked) return propagate(checked);
  Result<Tensor> tensor = dump::load_tensor_file(*checked);
  if (!tensor || wanted_dtype.empty()) return tensor;
  const std::optional<DType> dtype = parse_dtype(wanted_dtype);
  if (!dtype) {
    return fail(ErrorKind::kUsage,
                fmt::format("unknown dtype '{}'; dtypes are spelled as in dump.json, "
                            "torch.bfloat16 or bfloat16",
                            wanted_dtype));
  }
  Result<Tensor> converted = cast(*tensor, *dtype);
  if (!converted) return propagate(converted, path);
  return converted;
}

std::string text_for_a_person(const metrics::Evaluation& answer, documented::Profile profile) {
  tables::TextTable table{{"Metric", "Value"}, {}};
  for (metrics::TitledValue& line : metrics::to_titled_values(answer, profile)) {
    table.rows.push_back({std::move(line.title), std::move(line.value)});
  }
  std::string out = tables::render(table, log::colour(STDOUT_FILENO));
  if (!answer.row.message.empty()) out += fmt::format("{}\n", visible_text(answer.row.message));
  return out;
}

// "(2, 0, 7)"
std::string place_of(std::int64_t flat, const Shape& shape) {
  Shape place(shape.size());
  for (std::size_t i = shape.size(); i-- > 0;) {
    place[i] = flat % shape[i];
    flat /= shape[i];
  }
  return fmt::format("({})", fmt::join(place, ", "));
}

// Where the pair is apart and what fits that; empty if every element is within the tolerance of the
// device's dtype.
std::string difference_text(const Tensor& bench, const Tensor& device) {
  if (bench.shape != device.shape) return "";
  const metrics::Beyond found =
      metrics::find_beyond(device.view(), bench.view(), metrics::tolerance_of(device.dtype));
  if (found.count == 0) return "";
  std::string text = fmt::format(
      "{} of {} elements {} beyond the tolerance of {}, worst at {}: device {:.6g}, bench {:.6g}\n",
      found.count, device.view().numel(), found.count == 1 ? "is" : "are", name(device.dtype),
      place_of(found.worst_at, device.shape), found.device, found.bench);
  if (const std::string cause = pair_cause(bench, device); !cause.empty()) {
    text += fmt::format("Likely cause: {}\n", cause);
  }
  return text;
}

ExitStatus run(const MetricsOptions& options) {
  const Result<documented::Standards> standards = load_standards(options.verdict);
  if (!standards) return refuse(standards.error());
  const Result<Tensor> bench = load(options.bench, options.bench_dtype);
  if (!bench) return refuse(bench.error());
  const Result<Tensor> device = load(options.device, options.device_dtype);
  if (!device) return refuse(device.error());
  const documented::Profile profile = options.verdict.profile;
  const metrics::Evaluation answer = metrics::evaluate(
      bench->view(), device->view(),
      {.api = options.api, .profile = profile, .threads = options.threads}, *standards);
  std::string text = text_for_a_person(answer, profile);
  const bool for_a_person = options.json != "true" && profile == documented::Profile::kDocumented;
  if (for_a_person) text += difference_text(*bench, *device);
  const Result<void> shown = show_summary(options.json, metrics::to_json(answer, profile), text);
  if (!shown) return refuse(shown.error());
  switch (answer.row.status) {
    case Verdict::kError:
      return kFailed;
    case Verdict::kInconclusive:  // of the strict status alone
    case Verdict::kSkip:
      return kCannot;
    case Verdict::kWarning:
      return options.verdict.fail_on_warning() ? kFailed : kPassed;
    case Verdict::kPass:
      break;
  }
  return kPassed;
}

}  // namespace

Run declare_metrics(cli::Parser& command) {
  auto options = std::make_shared<MetricsOptions>();
  command.group("Input");
  command.value("BENCH", options->bench, "what the benchmark computed (.npy, .npz or .pt)")
      .required();
  command.value("DEVICE", options->device, "what the device computed").required();
  command.value("--bench-dtype", options->bench_dtype, "dtype of BENCH if the file stores it wider")
      .named("DTYPE");
  command
      .value("--device-dtype", options->device_dtype, "dtype of DEVICE if the file stores it wider")
      .named("DTYPE");
  command
      .value("--api", options->api,
             "judge by the standard of this API (conv2d or Functional.conv2d.0)")
      .named("API");
  command.value("--threads", options->threads, "threads for large tensors")
      .between(1, 256)
      .shows_default();
  declare_json(command, options->json);
  declare_verdict_options(command, options->verdict);
  return [options] { return run(*options); };
}

}  // namespace msprobe::app
