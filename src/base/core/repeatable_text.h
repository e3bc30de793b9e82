// SPDX-License-Identifier: Apache-2.0
// Error messages of a device's software tell when and where they were made. In a result they must
// be the same for every run, worker, process and machine.
#pragma once

#include <string>
#include <string_view>

namespace msprobe {

// `text` without what differs from run to run: dates and times, numbers of processes, threads,
// tasks and devices, addresses, and the directories of absolute paths.
std::string repeatable_text(std::string_view text);

}  // namespace msprobe
