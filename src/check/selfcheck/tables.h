// SPDX-License-Identifier: Apache-2.0
// The scores as tables of text, for a terminal and for a page.
#pragma once

#include <string>
#include <vector>

#include "selfcheck/self_check.h"

namespace msprobe::selfcheck {

struct Table {
  std::vector<std::string> titles;
  std::vector<std::vector<std::string>> rows;
};

// Fault or profile against verdict.
Table score_table(const SelfCheckOutcome& outcome);
// Injected class against named class, over all graded injections.
Table cause_table(const SelfCheckOutcome& outcome);
// What escaped and what was a false alarm, a line each.
std::vector<std::string> exceptions(const SelfCheckOutcome& outcome);

std::string markdown(const Table& table);
// The whole page's figures: both tables and the exceptions.
std::string markdown(const SelfCheckOutcome& outcome);
std::string json(const SelfCheckOutcome& outcome);

}  // namespace msprobe::selfcheck
