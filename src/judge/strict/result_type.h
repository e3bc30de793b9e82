// SPDX-License-Identifier: Apache-2.0
// The dtype that a result should have, as recorded.
#pragma once

#include <optional>
#include <string_view>

#include "arguments/py_value.h"
#include "dump/call_record.h"

namespace msprobe::strict {

// Of the recorded output at `path`; nothing if there is no tensor.
std::optional<at::ScalarType> recorded_output_type(const dump::CallRecord& record,
                                                   std::string_view path);

// The input whose gradient is at `path`; undefined if there is none. Gradients are numbered as the
// tensors among the arguments are.
at::Tensor input_at(const arguments::PyCall& call, std::string_view path);

// Of a gradient: that of its input.
std::optional<at::ScalarType> input_type(const arguments::PyCall& call, std::string_view path);

// Whether a tensor of this type is among them.
bool has_type(const arguments::PyList& values, at::ScalarType type);

}  // namespace msprobe::strict
