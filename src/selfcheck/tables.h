// The scores as tables of text, for a terminal and for a page.
#pragma once

#include <string>
#include <vector>

#include "selfcheck/run.h"

namespace msprobe::selfcheck {

struct Table {
  std::vector<std::string> titles;
  std::vector<std::vector<std::string>> rows;
};

// Fault or profile against verdict.
Table score_table(const Outcome& outcome);
// Injected class against named class, over all graded injections.
Table cause_table(const Outcome& outcome);
// What escaped and what was a false alarm, a line each.
std::vector<std::string> exceptions(const Outcome& outcome);

std::string markdown(const Table& table);
// The whole page's figures: both tables and the exceptions.
std::string markdown(const Outcome& outcome);
std::string json(const Outcome& outcome);

}  // namespace msprobe::selfcheck
