// SPDX-License-Identifier: Apache-2.0
// What the name suggests about an API that has no row: a new operator of a family is most likely
// like the others.
#pragma once

#include "ops/op.h"

namespace msprobe::ops {

Traits traits_by_name(std::string_view bare_name);

}  // namespace msprobe::ops
