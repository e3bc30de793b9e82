// SPDX-License-Identifier: Apache-2.0
#include "foreign_devices.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include <fmt/format.h>

#include "core/call_name.h"
#include "mindspore/runner.h"

namespace msprobe::engine {
namespace {

using arguments::PyCall;
using arguments::PyList;
using arguments::PyValue;

constexpr std::string_view kMindSpore = "mindspore";

// Where the time of each call went, in the file that $MSPROBE_RUNNER_LOG names: one line per call
// and direction, with its name, the nanoseconds of MindSpore itself, those beside it, and those of
// processor time beside it.
class TimesLog {
 public:
  TimesLog() {
    const char* path = std::getenv("MSPROBE_RUNNER_LOG");
    if (path != nullptr && *path != '\0') file_.open(path, std::ios::app);
  }

  void add(std::string_view call, std::string_view direction, const mindspore::Times& so_far) {
    if (!file_.is_open()) return;
    const std::uint64_t own = so_far.own_nanos - last_.own_nanos;
    const std::uint64_t total = so_far.total_nanos - last_.total_nanos;
    file_ << fmt::format("{}\t{}\t{}\t{}\t{}\n", call, direction, own, total - std::min(own, total),
                         so_far.cpu_nanos - last_.cpu_nanos)
          << std::flush;
    last_ = so_far;
  }

 private:
  std::ofstream file_;
  mindspore::Times last_;
};

class MindSporeDevice : public execute::ForeignDevice {
 public:
  explicit MindSporeDevice(std::unique_ptr<mindspore::Runner> runner)
      : runner_(std::move(runner)) {}

  OrSkip<PyValue> forward(const dump::CallRecord& record, const PyCall& call) override {
    OrSkip<PyValue> result = runner_->forward(api_of(record.full_name), call);
    log_.add(record.full_name, "forward", runner_->times());
    return result;
  }

  OrSkip<PyList> backward(const dump::CallRecord& record, const PyCall& /*call*/,
                          const PyList& arriving) override {
    OrSkip<PyList> gradients = runner_->backward(arriving);
    log_.add(record.full_name, "backward", runner_->times());
    return gradients;
  }

 private:
  std::unique_ptr<mindspore::Runner> runner_;
  TimesLog log_;
};

}  // namespace

bool is_foreign(std::string_view name) { return name.substr(0, name.find(':')) == kMindSpore; }

Result<std::shared_ptr<execute::ForeignDevice>> open_foreign_device(std::string_view name) {
  mindspore::RunnerOptions options;
  const std::size_t colon = name.find(':');
  if (colon != std::string_view::npos) options.device_id = name.substr(colon + 1);
  Result<std::unique_ptr<mindspore::Runner>> runner = mindspore::Runner::start(options);
  if (!runner) return propagate(runner);
  return std::make_shared<MindSporeDevice>(*std::move(runner));
}

}  // namespace msprobe::engine
