#include "foreign_devices.h"

#include <algorithm>

#include "core/call_name.h"
#include "core/log.h"
#include "execute/tree.h"
#include "runner/runner.h"

namespace msprobe::engine {
namespace {

using arguments::PyCall;
using arguments::PyList;
using arguments::PyValue;

constexpr std::string_view kMindSpore = "mindspore";

std::size_t count_tensors(const PyValue& value) {
  std::size_t count = 0;
  execute::for_each_tensor(value, [&](const at::Tensor& /*tensor*/) { ++count; });
  return count;
}

// MindSpore's dumps list one gradient per positional tensor, none for those in lists and keywords,
// and a single null where no tensor has one.
PyList as_recorded(const PyCall& call, const PyList& gradients) {
  PyList listed;
  std::size_t next = 0;
  for (const PyValue& argument : call.args) {
    const std::size_t tensors = count_tensors(argument);
    if (argument.as<at::Tensor>() != nullptr && next < gradients.size()) {
      listed.push_back(gradients[next]);
    }
    next += tensors;
  }
  if (!listed.empty() && std::ranges::all_of(listed, &PyValue::is_none)) listed.resize(1);
  return listed;
}

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

  OrSkip<PyList> backward(const dump::CallRecord& /*record*/, const PyCall& call,
                          const PyList& arriving) override {
    const OrSkip<PyList> gradients = runner_->backward(arriving);
    if (!gradients) return std::unexpected(gradients.error());
    return as_recorded(call, *gradients);
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
