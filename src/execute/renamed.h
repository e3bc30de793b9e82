// SPDX-License-Identifier: Apache-2.0
// An API of another framework that is one of PyTorch's under another name, or with its arguments in
// another order.
#pragma once

#include <string_view>

#include "execute/adapter.h"

namespace msprobe::execute {

struct RenamedRow {
  std::string_view api;        // as recorded: "MintFunctional.mse_loss"
  std::string_view torch;      // "Functional.mse_loss"
  std::string_view signature;  // its own parameters; empty: those of PyTorch
  // How they are passed on: "input target reduction=reduction". Keywords that the caller did not
  // give, or gave as None, are left to PyTorch's defaults.
  std::string_view arguments;
};

PyCall handed_on(const RenamedRow& row, const Bound& a);

}  // namespace msprobe::execute
