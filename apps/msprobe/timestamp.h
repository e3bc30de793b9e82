// SPDX-License-Identifier: Apache-2.0
// The time stamp in file names: local time, YYYYMMDDhhmmss, taken once at the start of a job.
#pragma once

#include <string>

namespace msprobe::app {

std::string local_timestamp();

}  // namespace msprobe::app
