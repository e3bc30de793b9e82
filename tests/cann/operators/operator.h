// SPDX-License-Identifier: Apache-2.0
// How an operator of the stand-in is written: its name, its arguments, and what it computes on the
// host with PyTorch.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <ATen/ATen.h>

#include "../stand_in.h"

// What the handles of CANN are here. The names are CANN's: they are seen in the types of its
// functions.
struct Handle {
  std::shared_ptr<Handle>
      owner;  // gone when the program destroys the handle; a plan keeps what it needs
  virtual ~Handle() = default;
};
struct aclTensor : Handle {
  at::Tensor view;      // of the device's memory, as the host sees it
  const void* storage;  // the device's pointer
  int64_t offset;       // of the first element, in elements
};
struct aclScalar : Handle {
  at::Scalar value;
};
struct aclIntArray : Handle {
  std::vector<int64_t> values;
};
struct aclFloatArray : Handle {
  std::vector<float> values;
};
struct aclBoolArray : Handle {
  std::vector<char> values;
};
struct aclTensorList : Handle {
  std::vector<const aclTensor*> tensors;
};
struct aclScalarList : Handle {
  std::vector<const aclScalar*> scalars;
};
struct aclOpExecutor;

namespace cann {

at::ScalarType scalar_type(aclDataType type);
at::Tensor view_of(const void* storage, at::ScalarType type, at::IntArrayRef sizes,
                   at::IntArrayRef strides, int64_t offset);

// Writes a result as the fault of the running operator wants it.
void write(const at::Tensor& view, const at::Tensor& value);

// The parameters of an operator. Each is passed as the pointer it holds, and may be null if the
// operator allows it.
struct T {
  const aclTensor* handle;
  bool defined() const { return handle != nullptr; }
  at::Tensor operator*() const { return handle == nullptr ? at::Tensor() : handle->view; }
  operator at::Tensor() const { return **this; }
  operator std::optional<at::Tensor>() const {
    return handle == nullptr ? std::nullopt : std::optional(handle->view);
  }
  std::optional<at::Tensor> maybe() const { return *this; }
  void operator=(const at::Tensor& value) const { write(handle->view, value); }
};
// A result whose size is known only now; the caller has made room for the largest.
void write_some(const T& out, const at::Tensor& value);

struct S {
  const aclScalar* handle;
  at::Scalar operator*() const { return handle->value; }
  operator at::Scalar() const { return handle->value; }
  std::optional<at::Scalar> maybe() const {
    return handle == nullptr ? std::nullopt : std::optional(handle->value);
  }
};
struct Ints {
  const aclIntArray* handle;
  at::IntArrayRef operator*() const {
    return handle == nullptr ? at::IntArrayRef() : at::IntArrayRef(handle->values);
  }
  operator at::IntArrayRef() const { return **this; }
  at::OptionalIntArrayRef maybe() const {
    return handle == nullptr ? at::OptionalIntArrayRef() : at::OptionalIntArrayRef(**this);
  }
};
struct Bools {
  const aclBoolArray* handle;
  template <std::size_t N>
  std::array<bool, N> first() const {
    std::array<bool, N> values{};
    for (std::size_t i = 0; i < N; ++i) values[i] = handle->values.at(i) != 0;
    return values;
  }
};
struct Tensors {
  const aclTensorList* handle;
  std::vector<at::Tensor> operator*() const;
  void operator=(const std::vector<at::Tensor>& values) const;
};
struct Scalars {
  const aclScalarList* handle;
  std::vector<at::Scalar> operator*() const;
};
using Type = aclDataType;

// The two phases of every operator.
using Compute = std::function<void()>;
int plan(const char* name, Compute compute, uint64_t* workspace, aclOpExecutor** executor);
int launch(aclOpExecutor* executor, aclrtStream stream);
// Runs on the thread of the stream.
void run(const std::string& name, const Fault& fault, const Compute& compute);

// float32 as the matrix unit reads it if the caller allows less precision.
at::Tensor hf32(const at::Tensor& tensor);
// What a mask of dropout, one bit for each element, keeps: true.
at::Tensor kept_by(const at::Tensor& mask, at::IntArrayRef sizes);
at::Tensor cube_input(const at::Tensor& tensor, int8_t cube_math_type);

}  // namespace cann

#define SPLICE(...) __VA_ARGS__

// OPERATOR(Add, (T self, T other, S alpha, T out), out = at::add(self, other, alpha)): aclnnAdd.
#define OPERATOR(name, parameters, ...)                                              \
  extern "C" STAND_IN_API int aclnn##name##GetWorkspaceSize(                         \
      SPLICE parameters, uint64_t* workspace_, aclOpExecutor** executor_) {          \
    return cann::plan("aclnn" #name, [=] { __VA_ARGS__; }, workspace_, executor_);   \
  }                                                                                  \
  extern "C" STAND_IN_API int aclnn##name(void*, uint64_t, aclOpExecutor* executor_, \
                                          aclrtStream stream_) {                     \
    return cann::launch(executor_, stream_);                                         \
  }
// The same with a parameter `text`, const char*, that may be gone when the operator runs.
#define OPERATOR_WITH_TEXT(name, parameters, ...)                                             \
  extern "C" STAND_IN_API int aclnn##name##GetWorkspaceSize(                                  \
      SPLICE parameters, uint64_t* workspace_, aclOpExecutor** executor_) {                   \
    return cann::plan(                                                                        \
        "aclnn" #name, [=, text = std::string(text == nullptr ? "" : text)] { __VA_ARGS__; }, \
        workspace_, executor_);                                                               \
  }                                                                                           \
  extern "C" STAND_IN_API int aclnn##name(void*, uint64_t, aclOpExecutor* executor_,          \
                                          aclrtStream stream_) {                              \
    return cann::launch(executor_, stream_);                                                  \
  }
