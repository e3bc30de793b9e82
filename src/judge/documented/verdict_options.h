// SPDX-License-Identifier: Apache-2.0
// The options of a verdict as a user names them.
#pragma once

#include <string>

#include "core/fail_on.h"
#include "documented/profile.h"

namespace msprobe::documented {

// By whose rules a verdict is made, and which verdicts count as failed.
struct VerdictOptions {
  Profile profile = Profile::kDocumented;
  std::string standards_file;
  std::string fail_on_name;  // empty: not given

  // Of commands with a strict status.
  FailOn fail_on() const { return parse_fail_on(fail_on_name); }
  // What a file without a strict status cannot answer.
  bool asks_for_strict() const { return !fail_on_name.empty() && !by_documents(fail_on()); }
  bool fail_on_warning() const { return fail_on_name == "warning"; }
};

}  // namespace msprobe::documented
