// SPDX-License-Identifier: Apache-2.0
#include "check/plan.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <unordered_set>

#include "check/call_selection.h"
#include "check/cost.h"
#include "check/structure.h"
#include "core/call_name.h"
#include "core/formula.h"

namespace msprobe::check {
namespace {

using Names = std::unordered_set<std::string_view>;

Names names_of(const std::vector<std::string>& list) { return {list.begin(), list.end()}; }

struct Lists {
  Names white;
  Names black;

  bool leave_out(std::string_view bare_name) const {
    return black.contains(bare_name) || (!white.empty() && !white.contains(bare_name));
  }
};

// A cast from or to 8 and 4 bits is the quantisation itself, unlike other conversions, which the
// documents leave out. MX scales and packed codes are uint8, too.
bool is_quantisation(std::string_view forward_json, const ops::NamedCall& call) {
  constexpr std::string_view kCodes[] = {"torch.float8_", "torch.float4_", "HiFloat8",
                                         "\"torch.uint8\"", "\"torch.int8\""};
  return call.api == "to" && std::ranges::any_of(kCodes, [&](std::string_view dtype) {
           return forward_json.find(dtype) != forward_json.npos;
         });
}

SkipReason reason_to_skip(const ops::NamedCall& call, std::string_view forward_json,
                          const Lists& lists, const Dialect& dialect) {
  if (unsafe_name(call.full_name)) return SkipReason::kHostile;
  const SkipReason skip = dialect.reason_to_skip(call);
  const bool runs_anyway = skip == SkipReason::kFiltered && is_quantisation(forward_json, call);
  if (skip != SkipReason::kNone && !runs_anyway) return skip;
  return call.name && lists.leave_out(call.api) ? SkipReason::kFiltered : SkipReason::kNone;
}

// Remembers the structures met so far, per API ("Type.name"). An entry that cannot be parsed is
// never a repeat: its row has to say what is wrong with it.
class RepeatFinder {
 public:
  bool is_repeat(const dump::CallSlice& slice) {
    const Result<dump::CallRecord> call = parser_.parse(slice, "");
    if (!call) return false;
    const std::string_view api = api_of(slice.full_name);
    const Hash128 structure = structure_hash(*call);
    const Hash128 key = StableHash().add(api).add(structure.high).add(structure.low).value();
    return !seen_.insert(key).second;
  }

 private:
  dump::CallParser parser_;
  std::set<Hash128> seen_;
};

// Calls that no engine runs cost nothing.
void keep_shard(const dump::DumpIndex& dump, const journal::Shard& shard, Plan& plan) {
  std::vector<double> costs;
  costs.reserve(plan.calls.size());
  for (const PlannedCall& call : plan.calls) {
    const bool runs = call.skip == SkipReason::kNone;
    costs.push_back(runs ? estimate_cost(dump.calls[call.index]) : 0);
  }
  const journal::Positions kept = journal::positions_of(shard, costs);
  plan.other_shards = plan.calls.size() - (kept.end - kept.first);
  plan.calls.erase(plan.calls.begin() + static_cast<std::ptrdiff_t>(kept.end), plan.calls.end());
  plan.calls.erase(plan.calls.begin(),
                   plan.calls.begin() + static_cast<std::ptrdiff_t>(kept.first));
}

}  // namespace

Result<Plan> plan_calls(const dump::DumpIndex& dump, const PlanOptions& options) {
  const CallSelection selection(options.only);
  if (const Result<void> found = selection.check(dump); !found) return propagate(found);
  const Lists lists{names_of(options.white_list), names_of(options.black_list)};
  RepeatFinder repeats;
  Plan plan;
  plan.recorded = dump.calls.size();
  for (std::uint32_t index = 0; index < dump.calls.size(); ++index) {
    const dump::CallSlice& call = dump.calls[index];
    if (!selection.contains(call.full_name)) {
      ++plan.not_selected;
      continue;
    }
    if (const auto group = options.dialect->left_out(call.full_name); !group.empty()) {
      ++plan.left_out[std::string(group)];
      continue;
    }
    const SkipReason skip =
        reason_to_skip(ops::NamedCall(call.full_name), call.forward_json, lists, *options.dialect);
    if (options.drop_repeats && skip == SkipReason::kNone && repeats.is_repeat(call)) {
      ++plan.repeats;
      continue;
    }
    plan.calls.push_back({index, skip});
  }
  if (!options.shard.whole()) keep_shard(dump, options.shard, plan);
  return plan;
}

}  // namespace msprobe::check
