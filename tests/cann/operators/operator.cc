// SPDX-License-Identifier: Apache-2.0
#include "operator.h"

#include <cmath>
#include <csignal>

#include <ATen/Parallel.h>
#include <ATen/record_function.h>
#include <dlfcn.h>
#include <unistd.h>

// What both phases of a call share.
struct aclOpExecutor {
  std::string name;
  cann::Fault fault;
  cann::Compute compute;
  std::vector<std::shared_ptr<Handle>> keeps;
};

namespace cann {
namespace {

// The handles made by this thread since its last plan: the arguments of the next one.
thread_local std::vector<std::shared_ptr<Handle>> made_here;
thread_local const Fault* current_fault = nullptr;

template <class H>
H* made(std::shared_ptr<H> handle) {
  handle->owner = handle;
  made_here.push_back(handle);
  return handle.get();
}

int destroy(const Handle* handle) {
  if (handle != nullptr) const_cast<Handle*>(handle)->owner.reset();
  return 0;
}

constexpr std::pair<aclDataType, at::ScalarType> kTypes[] = {
    {ACL_FLOAT, at::kFloat},
    {ACL_FLOAT16, at::kHalf},
    {ACL_INT8, at::kChar},
    {ACL_INT32, at::kInt},
    {ACL_UINT8, at::kByte},
    {ACL_INT16, at::kShort},
    {ACL_UINT16, at::kUInt16},
    {ACL_UINT32, at::kUInt32},
    {ACL_INT64, at::kLong},
    {ACL_UINT64, at::kUInt64},
    {ACL_DOUBLE, at::kDouble},
    {ACL_BOOL, at::kBool},
    {ACL_COMPLEX64, at::kComplexFloat},
    {ACL_COMPLEX128, at::kComplexDouble},
    {ACL_BF16, at::kBFloat16},
};

at::Tensor spoiled(const at::Tensor& view, const at::Tensor& value) {
  const Fault fault = current_fault == nullptr ? Fault{} : *current_fault;
  if (!value.is_floating_point() || value.numel() == 0) return value;
  switch (fault.kind) {
    case Fault::Kind::kScale:
      return value * fault.value;
    case Fault::Kind::kBfloat16:
      return value.to(at::kBFloat16).to(value.scalar_type());
    case Fault::Kind::kLastEighth: {
      at::Tensor flat = value.contiguous().clone().flatten();
      const int64_t first = flat.numel() - std::max<int64_t>(flat.numel() / 8, 1);
      flat.slice(0, first).copy_(view.reshape({-1}).slice(0, first));
      return flat.reshape(value.sizes());
    }
    default:
      return value;
  }
}

// One thread, so that the sums of a kernel do not depend on how many workers run.
void prepare_thread() {
  static thread_local const bool done = [] {
    at::init_num_threads();
    using Set = void (*)(int);
    if (const auto set = reinterpret_cast<Set>(::dlsym(RTLD_DEFAULT, "omp_set_num_threads")))
      set(1);
    return true;
  }();
  static_cast<void>(done);
}

}  // namespace

at::ScalarType scalar_type(aclDataType type) {
  for (const auto& [acl, torch] : kTypes) {
    if (acl == type) return torch;
  }
  throw std::runtime_error("unknown data type " + std::to_string(type));
}

at::Tensor view_of(const void* storage, at::ScalarType type, at::IntArrayRef sizes,
                   at::IntArrayRef strides, int64_t offset) {
  auto* first =
      static_cast<char*>(on_host(storage)) + offset * static_cast<int64_t>(c10::elementSize(type));
  return at::from_blob(first, sizes, strides, at::TensorOptions(type));
}

void write(const at::Tensor& view, const at::Tensor& value) {
  if (view.sizes() != value.sizes() && view.numel() != value.numel()) {
    throw std::runtime_error(
        c10::str("the caller made room for ", view.sizes(), ", the result is ", value.sizes()));
  }
  const at::Tensor shaped = value.sizes() == view.sizes() ? value : value.reshape(view.sizes());
  at::Tensor target = view;
  target.copy_(spoiled(view, shaped));
}

void write_some(const T& out, const at::Tensor& value) {
  auto* tensor = const_cast<aclTensor*>(out.handle);
  TORCH_CHECK(value.numel() <= tensor->view.numel(), "the caller made room for ",
              tensor->view.numel(), " elements, the result has ", value.numel());
  tensor->view = view_of(tensor->storage, tensor->view.scalar_type(), value.sizes(),
                         value.contiguous().strides(), tensor->offset);
  write(tensor->view, value);
}

std::vector<at::Tensor> Tensors::operator*() const {
  std::vector<at::Tensor> all;
  for (const aclTensor* tensor : handle->tensors) all.push_back(tensor->view);
  return all;
}

void Tensors::operator=(const std::vector<at::Tensor>& values) const {
  for (std::size_t i = 0; i < values.size(); ++i) write(handle->tensors.at(i)->view, values[i]);
}

std::vector<at::Scalar> Scalars::operator*() const {
  std::vector<at::Scalar> all;
  for (const aclScalar* scalar : handle->scalars) all.push_back(scalar->value);
  return all;
}

int plan(const char* name, Compute compute, uint64_t* workspace, aclOpExecutor** executor) {
  const Fault fault = fault_of(name);
  note(name);
  auto keeps = std::exchange(made_here, {});
  if (fault.kind == Fault::Kind::kRefuse) {
    return fail(static_cast<aclError>(fault.value),
                std::string(name) + ": the stand-in was told to refuse");
  }
  *workspace = 0;
  *executor = new aclOpExecutor{name, fault, std::move(compute), std::move(keeps)};
  return 0;
}

void run(const std::string& name, const Fault& fault, const Compute& compute) {
  if (fault.kind == Fault::Kind::kCrash) std::raise(SIGSEGV);
  while (fault.kind == Fault::Kind::kHang) ::pause();
  if (fault.kind == Fault::Kind::kError || fault.kind == Fault::Kind::kSticky) {
    throw DeviceError{static_cast<aclError>(fault.value), fault.kind == Fault::Kind::kSticky,
                      name + ": the kernel failed"};
  }
  prepare_thread();
  const at::AutoDispatchBelowADInplaceOrView plain;
  const at::DisableRecordFunctionGuard
      silent;  // who watches the program's operators sees none of these
  current_fault = &fault;
  try {
    compute();
  } catch (const std::exception& error) {
    current_fault = nullptr;
    const std::string first_line =
        std::string(error.what()).substr(0, std::string_view(error.what()).find('\n'));
    note(name + " failed: " + first_line);
    throw DeviceError{kKernelFailed, false, name + ": " + first_line};
  }
  current_fault = nullptr;
}

int launch(aclOpExecutor* executor, aclrtStream stream) {
  const int device = device_of_stream(stream);
  const std::shared_ptr<aclOpExecutor> kept(executor);
  for (const std::shared_ptr<Handle>& handle : kept->keeps) {
    const auto* tensor = dynamic_cast<const aclTensor*>(handle.get());
    if (tensor == nullptr || tensor->view.numel() == 0) continue;
    if (!is_of_device(tensor->storage) || device_of(tensor->storage, 1) != device) {
      return fail(ACL_ERROR_INVALID_PARAM,
                  kept->name + ": an argument is not in the memory of this device");
    }
  }
  return submit(stream, [kept, device] {
    if (state_of(device) == ACL_SUCCESS) run(kept->name, kept->fault, kept->compute);
  });
}

at::Tensor hf32(const at::Tensor& tensor) {
  if (tensor.scalar_type() != at::kFloat) return tensor;
  at::Tensor rounded = tensor.contiguous().clone();
  auto* bits = reinterpret_cast<uint32_t*>(rounded.data_ptr<float>());
  for (int64_t i = 0; i < rounded.numel(); ++i) {  // 11 bits of the mantissa, half away from zero
    if (std::isfinite(rounded.data_ptr<float>()[i]))
      bits[i] = (bits[i] + (1U << 11)) & ~((1U << 12) - 1);
  }
  return rounded;
}

at::Tensor cube_input(const at::Tensor& tensor, int8_t cube_math_type) {
  constexpr int8_t kKeep = 0, kHalf = 2;
  if (!tensor.defined() || cube_math_type == kKeep) return tensor;
  if (cube_math_type == kHalf) return tensor.to(at::kHalf).to(tensor.scalar_type());
  return hf32(tensor);
}

}  // namespace cann

using namespace cann;

extern "C" {

STAND_IN_API aclTensor* aclCreateTensor(const int64_t* sizes, uint64_t dims, aclDataType type,
                                        const int64_t* strides, int64_t offset, aclFormat,
                                        const int64_t*, uint64_t, void* data) {
  auto tensor = std::make_shared<aclTensor>();
  tensor->storage = data;
  tensor->offset = offset;
  tensor->view = view_of(data, scalar_type(type), {sizes, dims}, {strides, dims}, offset);
  return made(std::move(tensor));
}
STAND_IN_API aclScalar* aclCreateScalar(void* value, aclDataType type) {
  auto scalar = std::make_shared<aclScalar>();
  scalar->value = at::from_blob(value, {}, at::TensorOptions(scalar_type(type))).item();
  return made(std::move(scalar));
}
STAND_IN_API aclIntArray* aclCreateIntArray(const int64_t* values, uint64_t count) {
  auto array = std::make_shared<aclIntArray>();
  array->values.assign(values, values + count);
  return made(std::move(array));
}
STAND_IN_API aclFloatArray* aclCreateFloatArray(const float* values, uint64_t count) {
  auto array = std::make_shared<aclFloatArray>();
  array->values.assign(values, values + count);
  return made(std::move(array));
}
STAND_IN_API aclBoolArray* aclCreateBoolArray(const bool* values, uint64_t count) {
  auto array = std::make_shared<aclBoolArray>();
  array->values.assign(values, values + count);
  return made(std::move(array));
}
STAND_IN_API aclTensorList* aclCreateTensorList(const aclTensor* const* values, uint64_t count) {
  auto list = std::make_shared<aclTensorList>();
  list->tensors.assign(values, values + count);
  return made(std::move(list));
}
STAND_IN_API aclScalarList* aclCreateScalarList(const aclScalar* const* values, uint64_t count) {
  auto list = std::make_shared<aclScalarList>();
  list->scalars.assign(values, values + count);
  return made(std::move(list));
}
STAND_IN_API int aclDestroyTensor(const aclTensor* handle) { return destroy(handle); }
STAND_IN_API int aclDestroyScalar(const aclScalar* handle) { return destroy(handle); }
STAND_IN_API int aclDestroyIntArray(const aclIntArray* handle) { return destroy(handle); }
STAND_IN_API int aclDestroyFloatArray(const aclFloatArray* handle) { return destroy(handle); }
STAND_IN_API int aclDestroyBoolArray(const aclBoolArray* handle) { return destroy(handle); }
STAND_IN_API int aclDestroyTensorList(const aclTensorList* list) {
  if (list != nullptr) {
    for (const aclTensor* tensor : list->tensors) destroy(tensor);
  }
  return destroy(list);
}
STAND_IN_API int aclDestroyScalarList(const aclScalarList* list) {
  if (list != nullptr) {
    for (const aclScalar* scalar : list->scalars) destroy(scalar);
  }
  return destroy(list);
}
STAND_IN_API int aclDestroyAclOpExecutor(aclOpExecutor* executor) {
  delete executor;
  return 0;
}
// Operators whose results are smaller than the room the caller has made: the sizes they have in the
// end.
STAND_IN_API int aclGetViewShape(const aclTensor* tensor, int64_t** sizes, uint64_t* dims) {
  *dims = static_cast<uint64_t>(tensor->view.dim());
  *sizes = new int64_t[*dims];
  std::copy(tensor->view.sizes().begin(), tensor->view.sizes().end(), *sizes);
  return 0;
}

}  // extern "C"
