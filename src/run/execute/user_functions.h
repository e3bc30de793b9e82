// SPDX-License-Identifier: Apache-2.0
// Functions of the user's Python: references, which stand for the benchmark of recorded calls, and
// kernels, which stand for the device.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include "arguments/py_value.h"
#include "core/skip.h"

namespace msprobe::execute {

class Api;

// What such a function did instead of giving a result, or what is wrong with what it gave.
class UserError : public std::runtime_error {
 public:
  UserError(SkipReason reason, const std::string& text)
      : std::runtime_error(text), reason_(reason) {}
  SkipReason reason() const { return reason_; }

 private:
  SkipReason reason_;
};

class UserFunctions {
 public:
  UserFunctions() = default;
  UserFunctions(const UserFunctions&) = delete;
  UserFunctions& operator=(const UserFunctions&) = delete;
  virtual ~UserFunctions() = default;

  // `api`: "Custom.my_ns.my_op", as api_of() gives it. Null: the user has none for it.
  virtual const Api* reference(std::string_view api) const = 0;
  virtual const Api* kernel(std::string_view api) const = 0;
  // The outputs as they are compared: without those that do not count, and after what the user does
  // to both sides. `call`: the arguments as recorded. Throws UserError.
  virtual arguments::PyValue compared(std::string_view api, const arguments::PyValue& output,
                                      const arguments::PyCall& call) const = 0;
};

}  // namespace msprobe::execute
