// SPDX-License-Identifier: Apache-2.0
// Api: what a recorded name stands for: an adapter row, a hand-on row, or the overloads of an ATen
// operator.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string_view>

#include "execute/adapter.h"
#include "execute/hand_on.h"
#include "execute/overload.h"
#include "execute/renamed.h"

namespace msprobe::execute {

class Api {
 public:
  explicit Api(const ApiRow& row) : signature_(row.signature), adapter_(row.run) {}
  explicit Api(const HandOnRow& row) : signature_(row.signature), hand_on_(&row) {}
  // `torch`: the API that `row` names; it outlives this one.
  Api(const RenamedRow& row, const Api& torch)
      : signature_(row.signature), renamed_(&row), torch_(&torch) {}
  explicit Api(OverloadSet overloads) : signature_(""), overloads_(std::move(overloads)) {}
  // A vendor's operator, whose calls are recorded by `row`.
  Api(OverloadSet overloads, const ApiRow& row)
      : signature_(row.signature), overloads_(std::move(overloads)) {}

  // A function of the user's.
  explicit Api(std::function<PyValue(const PyCall&)> function)
      : signature_(""), function_(std::move(function)) {}

  // Which parameter of its row a keyword names; behind the last one if none.
  std::size_t place_of(std::string_view keyword) const;

  // Throws BindError, and whatever the operator throws.
  PyValue operator()(const PyCall& call) const;

 private:
  Signature signature_;
  Adapter adapter_ = nullptr;
  const HandOnRow* hand_on_ = nullptr;
  const RenamedRow* renamed_ = nullptr;
  const Api* torch_ = nullptr;
  OverloadSet overloads_;
  std::function<PyValue(const PyCall&)> function_;
};

// By type ("Functional", "Tensor", "Torch", "VF", "Aten", "NPU") and bare name ("conv2d",
// "linalg.norm"). Null if the linked PyTorch has no such API. Looked up once per name.
const Api* find_api(std::string_view type, std::string_view bare_name);

// The vendor's operator itself, where its back end is loaded and has a kernel for `device`: what a
// row of an NPU operator holds is the benchmark's definition of it. Null otherwise.
const Api* find_device_api(std::string_view type, std::string_view bare_name, at::Device device);

// An operator that a library registered with the dispatcher: "Custom", "my_ns.my_op". Null if there
// is none of this name.
const Api* find_registered_api(std::string_view type, std::string_view bare_name);

// An ATen operator by its Python binding, for adapters that change arguments and pass them on.
PyValue call_aten(std::string_view name, const PyCall& call,
                  OverloadStyle style = OverloadStyle::kFunction);

// The rows, one function per family.
std::span<const ApiRow> attention_rows();
std::span<const ApiRow> index_rows();
std::span<const ApiRow> loss_rows();
std::span<const ApiRow> nn_rows();
std::span<const ApiRow> operator_rows();
std::span<const ApiRow> pooling_rows();
std::span<const ApiRow> tensor_rows();
std::span<const ApiRow> torch_rows();
std::span<const ApiRow> vision_rows();

}  // namespace msprobe::execute
