#include "foreign_devices.h"

#include "core/call_name.h"
#include "core/log.h"
#include "runner/runner.h"

namespace msprobe::engine {
namespace {

using arguments::PyCall;
using arguments::PyList;
using arguments::PyValue;

constexpr std::string_view kMindSpore = "mindspore";

class MindSporeDevice : public execute::ForeignDevice {
 public:
  explicit MindSporeDevice(std::unique_ptr<runner::Runner> runner) : runner_(std::move(runner)) {}
  ~MindSporeDevice() override {
    log::debug("device mindspore ({} {}, {}): {}", runner_->greeting().version,
               runner_->greeting().target, runner_->greeting().python, text(runner_->times()));
  }

  OrSkip<PyValue> forward(const dump::CallRecord& record, const PyCall& call) override {
    return runner_->forward(api_of(record.full_name), call);
  }

  OrSkip<PyList> backward(const dump::CallRecord& /*record*/, const PyCall& /*call*/,
                          const PyList& arriving) override {
    return runner_->backward(arriving);
  }

 private:
  std::unique_ptr<runner::Runner> runner_;
};

}  // namespace

bool is_foreign(std::string_view name) { return name.substr(0, name.find(':')) == kMindSpore; }

Result<std::shared_ptr<execute::ForeignDevice>> open_foreign_device(std::string_view name) {
  runner::Options options;
  const std::size_t colon = name.find(':');
  if (colon != std::string_view::npos) options.device_id = name.substr(colon + 1);
  Result<std::unique_ptr<runner::Runner>> runner = runner::Runner::start(options);
  if (!runner) return propagate(runner);
  return std::make_shared<MindSporeDevice>(*std::move(runner));
}

}  // namespace msprobe::engine
