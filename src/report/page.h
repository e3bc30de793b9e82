// SPDX-License-Identifier: Apache-2.0
// The built page of web/dist, embedded at build time.
#pragma once

#include <string_view>

namespace msprobe::report {

extern const std::string_view kPageScript;
extern const std::string_view kPageStyle;

}  // namespace msprobe::report
