// SPDX-License-Identifier: Apache-2.0
// The exit status is a contract: docs/exit_status.md has the table.
#pragma once

namespace msprobe::app {

enum ExitStatus : int {
  kPassed = 0,  // every judged call passes or warns
  kFailed = 1,  // a verdict is error, or a call that should have been checked was lost
  kCannot = 2,  // usage, unreadable input, unwritable output, nothing checked
};

}  // namespace msprobe::app
