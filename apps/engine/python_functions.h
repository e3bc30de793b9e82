// SPDX-License-Identifier: Apache-2.0
// Functions of the user's Python, seen from the engine that this Python hosts.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "engine.h"
#include "execute/api.h"
#include "execute/user_functions.h"

namespace msprobe::engine {

// What the engine's library was given by its host; null: no functions.
const execute::UserFunctions* user_functions();
// The APIs that the user has kernels for; "*": for every one.
std::vector<std::string> user_kernels();

// An argument or a result as JSON; tensors are named by their place in `tensors`.
std::string json_of(const execute::PyValue& value, std::vector<at::Tensor>& tensors);
// The other way; throws execute::UserError where the text is of another form.
execute::PyValue value_of_json(std::string_view json, const std::vector<at::Tensor>& tensors);
execute::PyCall call_of_json(std::string_view json, const std::vector<at::Tensor>& tensors);

// Shares the tensors of the host. REQUIRES: each is an at::TensorImpl that lives meanwhile.
std::vector<at::Tensor> shared_tensors(const void* const* implementations, int count);

}  // namespace msprobe::engine
