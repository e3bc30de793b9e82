// Api: what a recorded name stands for: an adapter row, or the overloads of an ATen operator.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "execute/adapter.h"
#include "execute/overload.h"

namespace msprobe::execute {

class Api {
 public:
  explicit Api(const ApiRow& row) : signature_(row.signature), adapter_(row.run) {}
  explicit Api(OverloadSet overloads) : signature_(""), overloads_(std::move(overloads)) {}

  // Throws BindError, and whatever the operator throws.
  PyValue operator()(const PyCall& call) const;

 private:
  Signature signature_;
  Adapter adapter_ = nullptr;
  OverloadSet overloads_;
};

// By type ("Functional", "Tensor", "Torch", "VF", "Aten", "NPU") and bare name ("conv2d",
// "linalg.norm"). Null where the linked PyTorch has no such API. Looked up once per name.
const Api* find_api(std::string_view type, std::string_view bare_name);

// An ATen operator by its Python binding, for adapters that change arguments and hand on.
PyValue call_aten(std::string_view name, const PyCall& call, Style style = Style::kFunction);

// The rows, one function per family.
std::span<const ApiRow> operator_rows();
std::span<const ApiRow> index_rows();

}  // namespace msprobe::execute
