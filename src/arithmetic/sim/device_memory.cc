// SPDX-License-Identifier: Apache-2.0
#include "sim/device_memory.h"

#include <cstdlib>
#include <cstring>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

namespace msprobe::sim {
namespace {

constexpr auto kType = c10::DeviceType::PrivateUse1;
constexpr std::size_t kAlignment = 64;

thread_local c10::DeviceIndex current_device = 0;

void free_memory(void* memory) { std::free(memory); }

class SimAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) override {
    void* memory = nullptr;
    if (bytes > 0) {
      memory = std::aligned_alloc(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment);
      TORCH_CHECK(memory != nullptr, "sim: out of memory: ", bytes, " bytes");
    }
    return {memory, memory, &free_memory, c10::Device(kType, current_device)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &free_memory; }
  void copy_data(void* to, const void* from, std::size_t count) const override {
    std::memcpy(to, from, count);
  }
};

SimAllocator the_allocator;
REGISTER_ALLOCATOR(kType, &the_allocator);

class SimGuard final : public c10::impl::DeviceGuardImplInterface {
 public:
  SimGuard() = default;
  explicit SimGuard(c10::DeviceType /*type*/) {}
  c10::DeviceType type() const override { return kType; }
  c10::Device exchangeDevice(c10::Device device) const override {
    const c10::Device old = getDevice();
    setDevice(device);
    return old;
  }
  c10::Device getDevice() const override { return {kType, current_device}; }
  void setDevice(c10::Device device) const override {
    TORCH_CHECK(device.index() < kDevices, "sim has devices 0 to ", kDevices - 1);
    if (device.has_index()) current_device = device.index();
  }
  void uncheckedSetDevice(c10::Device device) const noexcept override {
    if (device.has_index()) current_device = device.index();
  }
  c10::Stream getStream(c10::Device device) const override {
    return c10::Stream(c10::Stream::DEFAULT, device);
  }
  c10::Stream getDefaultStream(c10::Device device) const override { return getStream(device); }
  c10::Stream getNewStream(c10::Device device, int /*priority*/) const override {
    return getStream(device);
  }
  c10::Stream exchangeStream(c10::Stream stream) const override {
    return getStream(stream.device());
  }
  c10::DeviceIndex deviceCount() const noexcept override { return kDevices; }
  // Every operator has ended when it returns: streams and events have nothing to wait for.
  void record(void** /*event*/, const c10::Stream& /*stream*/, c10::DeviceIndex /*device*/,
              c10::EventFlag /*flag*/) const override {}
  void block(void* /*event*/, const c10::Stream& /*stream*/) const override {}
  bool queryEvent(void* /*event*/) const override { return true; }
  void destroyEvent(void* /*event*/, c10::DeviceIndex /*device*/) const noexcept override {}
  bool queryStream(const c10::Stream& /*stream*/) const override { return true; }
  void synchronizeStream(const c10::Stream& /*stream*/) const override {}
};
C10_REGISTER_GUARD_IMPL(PrivateUse1, SimGuard);

// Random numbers come from the CPU's generator: its kernels draw them.
class SimHooks final : public at::PrivateUse1HooksInterface {
 public:
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return true; }
  bool hasPrimaryContext(c10::DeviceIndex /*device*/) const override { return true; }
  c10::DeviceIndex deviceCount() const override { return kDevices; }
  c10::DeviceIndex getCurrentDevice() const override { return current_device; }
  void setCurrentDevice(c10::DeviceIndex device) const override { current_device = device; }
  c10::DeviceIndex exchangeDevice(c10::DeviceIndex device) const override {
    return std::exchange(current_device, device);
  }
  c10::DeviceIndex maybeExchangeDevice(c10::DeviceIndex device) const override {
    return exchangeDevice(device);
  }
  const at::Generator& getDefaultGenerator(c10::DeviceIndex /*device*/) const override {
    return at::detail::getDefaultCPUGenerator();
  }
  at::Generator getNewGenerator(c10::DeviceIndex /*device*/) const override {
    return at::detail::createCPUGenerator();
  }
  c10::Allocator* getPinnedMemoryAllocator() const override {
    return c10::GetAllocator(c10::DeviceType::CPU);
  }
  c10::Device getDeviceFromPtr(void* /*data*/) const override { return {kType, current_device}; }
  void resizePrivateUse1Bytes(const c10::Storage& storage, std::size_t bytes) const override {
    const c10::DeviceGuard guard(storage.device());
    c10::DataPtr fresh = the_allocator.allocate(bytes);
    const std::size_t kept = std::min(bytes, storage.nbytes());
    if (kept > 0) std::memcpy(fresh.mutable_get(), storage.data(), kept);
    storage.unsafeGetStorageImpl()->set_data_ptr(std::move(fresh));
    storage.unsafeGetStorageImpl()->set_nbytes(bytes);
  }
};

const bool kRegistered = [] {
  // A script may have named it before.
  if (!c10::is_privateuse1_backend_registered()) c10::register_privateuse1_backend("sim");
  static SimHooks hooks;
  at::RegisterPrivateUse1HooksInterface(&hooks);
  return true;
}();

}  // namespace

c10::Allocator* allocator() { return &the_allocator; }

at::Tensor seen_by_cpu(const at::Tensor& tensor) {
  if (tensor.device().is_cpu()) return tensor;
  at::Tensor seen = at::from_blob(tensor.data_ptr(), tensor.sizes(), tensor.strides(),
                                  at::TensorOptions(tensor.scalar_type()));
  if (tensor.is_conj()) seen = at::_conj(seen);
  if (tensor.is_neg()) seen = at::_neg_view(seen);
  return seen;
}

at::Tensor view_like(const at::Tensor& tensor, const at::Tensor& on_cpu) {
  const std::int64_t before = tensor.storage_offset() *
                              static_cast<std::int64_t>(tensor.element_size()) /
                              static_cast<std::int64_t>(on_cpu.element_size());
  at::Tensor view = at::detail::make_tensor<c10::TensorImpl>(
      c10::TensorImpl::VIEW, c10::Storage(tensor.storage()), tensor.key_set(), on_cpu.dtype());
  view.unsafeGetTensorImpl()->set_sizes_and_strides(on_cpu.sizes(), on_cpu.strides(),
                                                    before + on_cpu.storage_offset());
  return view;
}

}  // namespace msprobe::sim
