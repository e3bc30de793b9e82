// SPDX-License-Identifier: Apache-2.0
#include "libtorch/device.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <span>

#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <dlfcn.h>
#include <fmt/format.h>
#include <torch/version.h>

namespace msprobe::libtorch {
namespace {

// PrivateUse1 is npu, or what --device-lib loaded. The later ones belong to PyTorch, and are there
// if a plug-in is.
constexpr at::DeviceType kAccelerators[] = {at::kPrivateUse1, at::kCUDA, at::kXPU, at::kHPU,
                                            at::kXLA};
constexpr std::size_t kOfBareIds = 2;  // a bare id asks for these, in this order
constexpr int kCpuIds = 8;  // "up to eight devices (0 to 7)" also on a machine with only a CPU

int count_of(at::DeviceType type) {
  if (!c10::impl::hasDeviceGuardImpl(type)) return 0;
  return c10::impl::getDeviceGuardImpl(type)->deviceCount();
}

c10::optional<at::Device> parse(const std::string& name) {
  try {
    return at::Device(name);
  } catch (const c10::Error&) {  // a name no loaded back end has taken
    return c10::nullopt;
  }
}

at::DeviceType kind_of_bare_ids(BareIds bare) {
  const std::span<const at::DeviceType> all(kAccelerators);
  for (const at::DeviceType type : all.first(kOfBareIds)) {
    if (count_of(type) > 0) return type;
    if (bare == BareIds::kLoadedBackEnd) break;
  }
  if (bare == BareIds::kFirstKind) return at::kCPU;
  for (const at::DeviceType type : all.subspan(kOfBareIds)) {
    if (count_of(type) > 0) return type;
  }
  return at::kPrivateUse1;
}

Failure no_such_device(std::string_view name) {
  return fail(
      ErrorKind::kUsage,
      fmt::format("no device {}: PyTorch {} here has {} (cpu takes the ids 0 to {}), and "
                  "recorded outputs (recorded); choose one of them with -d, try the simulated "
                  "device (sim), or load another back end with --device-lib",
                  name, TORCH_VERSION, fmt::join(available_devices(), ", "), kCpuIds - 1));
}

}  // namespace

bool is_bare_id(std::string_view name) {
  return !name.empty() && name.find_first_not_of("0123456789") == std::string_view::npos;
}

std::vector<std::string> available_devices() {
  std::vector<std::string> names{"cpu"};
  for (const at::DeviceType type : kAccelerators) {
    for (int i = 0; i < count_of(type); ++i) {
      names.push_back(at::Device(type, static_cast<at::DeviceIndex>(i)).str());
    }
  }
  return names;
}

Result<at::Device> open_device(std::string_view name, BareIds bare) {
  constexpr std::size_t kMaxDigits = 2;  // PyTorch keeps an index in eight bits
  const bool is_id = is_bare_id(name);
  const std::string_view id = is_id ? name : name.substr(std::min(name.find(':'), name.size()));
  if (id.size() > kMaxDigits + (is_id ? 0 : 1)) return no_such_device(name);
  const auto kind = c10::DeviceTypeName(kind_of_bare_ids(bare), /*lower_case=*/true);
  const auto device = parse(is_id ? fmt::format("{}:{}", kind, name) : std::string(name));
  if (!device) return no_such_device(name);
  const at::DeviceIndex index = device->has_index() ? device->index() : at::DeviceIndex{0};
  const int count = device->is_cpu() ? kCpuIds : count_of(device->type());
  if (index >= count) return no_such_device(name);
  if (device->is_cpu()) return at::Device(at::kCPU);
  const at::Device whole(device->type(), index);
  c10::impl::getDeviceGuardImpl(whole.type())->setDevice(whole);
  return whole;
}

void seed_generator(at::Device device, std::uint64_t seed) {
  std::optional<at::Generator> generator;
  try {
    generator = at::globalContext().defaultGenerator(device);
  } catch (const c10::Error&) {
    return;
  }
  const std::lock_guard lock(generator->mutex());
  generator->set_current_seed(seed);
}

Result<void> load_back_end(const std::string& library) {
  if (::dlopen(library.c_str(), RTLD_NOW | RTLD_GLOBAL) != nullptr) return {};
  return fail(ErrorKind::kUsage, fmt::format("device library: {}", ::dlerror()));
}

}  // namespace msprobe::libtorch
