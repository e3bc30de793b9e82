// SPDX-License-Identifier: Apache-2.0
// The name of a recorded call with what is known of its API, found once for all who ask.
#pragma once

#include <optional>
#include <string_view>

#include "core/call_name.h"
#include "ops/op.h"

namespace msprobe::ops {

struct NamedCall {
  // `full_name` must outlive this.
  explicit NamedCall(std::string_view full)
      : full_name(full),
        name(parse_call_name(full)),
        api(name ? name->bare_name : full),
        traits(traits_of(api)) {}

  std::string_view full_name;    // "Functional.conv2d.0"
  std::optional<CallName> name;  // empty: the name has another form
  std::string_view api;          // "conv2d"; the whole name if it has another form
  Traits traits;
};

}  // namespace msprobe::ops
