// SPDX-License-Identifier: Apache-2.0
#include "final_verdict/details_name.h"

#include <algorithm>

#include "core/call_name.h"

namespace msprobe::final_verdict {

std::optional<DetailsName> parse_details_name(std::string_view name) {
  const std::optional<RowName> row = parse_row_name(name);
  if (!row || std::ranges::count(row->part, '.') != 1) return std::nullopt;
  const std::optional<CallName> call = parse_call_name(row->call);
  if (!call) return std::nullopt;
  return DetailsName{.call = row->call, .api = call->bare_name, .forward = row->forward};
}

}  // namespace msprobe::final_verdict
