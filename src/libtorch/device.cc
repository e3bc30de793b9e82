#include "libtorch/device.h"

#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <dlfcn.h>
#include <fmt/format.h>
#include <torch/version.h>

namespace msprobe::libtorch {
namespace {

constexpr at::DeviceType kAccelerators[] = {at::kPrivateUse1, at::kCUDA};

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

}  // namespace

std::vector<std::string> available_devices() {
  std::vector<std::string> names{"cpu"};
  for (const at::DeviceType type : kAccelerators) {
    for (int i = 0; i < count_of(type); ++i) {
      names.push_back(at::Device(type, static_cast<at::DeviceIndex>(i)).str());
    }
  }
  return names;
}

Result<at::Device> open_device(std::string_view name) {
  const auto device = parse(std::string(name));
  if (device && device->is_cpu()) return at::Device(at::kCPU);
  if (device && (device->has_index() ? device->index() : 0) < count_of(device->type())) {
    const at::Device whole(device->type(),
                           device->has_index() ? device->index() : at::DeviceIndex{0});
    c10::impl::getDeviceGuardImpl(whole.type())->setDevice(whole);
    return whole;
  }
  return fail(ErrorKind::kUsage,
              fmt::format("no device {}: PyTorch {} here has {}, and recorded outputs (recorded)",
                          name, TORCH_VERSION, fmt::join(available_devices(), ", ")));
}

Result<void> load_back_end(const std::string& library) {
  if (::dlopen(library.c_str(), RTLD_NOW | RTLD_GLOBAL) != nullptr) return {};
  return fail(ErrorKind::kUsage, fmt::format("device library: {}", ::dlerror()));
}

}  // namespace msprobe::libtorch
