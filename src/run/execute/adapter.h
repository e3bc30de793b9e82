// SPDX-License-Identifier: Apache-2.0
// Adapter: an API that Python composes itself, written over ATen. It sees its arguments bound to
// the signature its row gives, as Python would bind them.
#pragma once

#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "arguments/py_value.h"
#include "libtorch/aten.h"

namespace msprobe::execute {

using arguments::PyCall;
using arguments::PyDict;
using arguments::PyList;
using arguments::PyValue;

// The arguments do not fit: what Python would report as a TypeError. Caught, with LibTorch's own
// exceptions, in one place (caught.h).
class BindError : public std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

// A Python parameter list, written as Python writes it:
//   "input, target, weight=None, reduction='mean', *, out=None"   "equation, *operands"
// Defaults are literals: None, True, False, numbers, 'text', (1, 2), [].
// "self|x" is the parameter self, which callers may also name x.
// NumPy's spellings (axis, keepdims, x, x2) are taken for dim, keepdim, input and other.
class Signature {
 public:
  struct Parameter {
    std::string name;
    std::vector<std::string> other_names;
    c10::optional<PyValue> default_value;
    bool keyword_only = false;
    bool rest = false;  // *name: all further positional arguments, as a list
  };

  explicit Signature(std::string_view text);
  const std::vector<Parameter>& parameters() const { return parameters_; }

 private:
  std::vector<Parameter> parameters_;
};

// A call bound to a signature. Readers convert as Python's argument parser does and throw BindError
// where it would raise; an opt_ reader gives nothing for None.
class Bound {
 public:
  // REQUIRES: signature and call outlive this. Throws BindError.
  Bound(const Signature& signature, const PyCall& call);

  const PyValue& value(std::string_view name) const;
  bool has(std::string_view name) const;    // the signature does
  bool given(std::string_view name) const;  // by the caller, not by default
  bool is_none(std::string_view name) const { return value(name).is_none(); }
  const PyCall& call() const { return *call_; }

  const at::Tensor& tensor(std::string_view name) const;
  c10::optional<at::Tensor> opt_tensor(std::string_view name) const;
  at::Tensor tensor_or_undefined(std::string_view name) const;
  std::vector<at::Tensor> tensors(std::string_view name) const;  // of a list or a tuple
  at::Scalar scalar(std::string_view name) const;
  c10::optional<at::Scalar> opt_scalar(std::string_view name) const;
  std::int64_t integer(std::string_view name) const;
  c10::optional<std::int64_t> opt_integer(std::string_view name) const;
  double real(std::string_view name) const;
  c10::optional<double> opt_real(std::string_view name) const;
  bool boolean(std::string_view name) const;
  c10::optional<bool> opt_boolean(std::string_view name) const;
  const std::string& text(std::string_view name) const;
  c10::optional<std::string> opt_text(std::string_view name) const;
  c10::optional<at::ScalarType> opt_dtype(std::string_view name) const;
  // One number stands for `count` equal ones where `count` is not 0.
  std::vector<std::int64_t> integers(std::string_view name, std::size_t count = 0) const;
  c10::optional<std::vector<std::int64_t>> opt_integers(std::string_view name,
                                                        std::size_t count = 0) const;
  std::vector<double> reals(std::string_view name) const;

 private:
  std::size_t index(std::string_view name) const;
  const Signature* signature_;
  const PyCall* call_;
  std::vector<const PyValue*> values_;  // one per parameter, defaults filled in
  std::vector<bool> given_;
  std::vector<PyValue> rest_;  // what *name collected, at most one
};

using Adapter = PyValue (*)(const Bound&);

// One row of the table of APIs.
struct ApiRow {
  std::string_view api;        // "Functional.cross_entropy", "NPU.npu_swiglu"
  std::string_view signature;  // Python's
  Adapter run;
};

// Results of several values.
PyValue tuple_of(std::initializer_list<at::Tensor> tensors);
PyValue list_of(std::vector<at::Tensor> tensors);

// Readers of plain values, for adapters that look inside lists. Nothing if the value is of
// another kind.
c10::optional<std::int64_t> as_integer(const PyValue& value);  // int, or an integer tensor of one
                                                               // element without dimensions
c10::optional<double> as_real(const PyValue& value);
c10::optional<at::Scalar> as_scalar(const PyValue& value);
c10::optional<std::vector<std::int64_t>> as_integers(const PyValue& value);

}  // namespace msprobe::execute
