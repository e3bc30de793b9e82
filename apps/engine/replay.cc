#include "replay.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "agreement.h"
#include "core/json_writer.h"
#include "dump/dump_json.h"
#include "execute/caught.h"

namespace msprobe::engine {
namespace {

using execute::CallOutcome;
using execute::LeafPair;

constexpr double kUlpLimit = 2;
constexpr std::size_t kShown = 40;

// What became of one direction of one call.
struct Verdict {
  std::string state;  // "equal", "2 ulp", "differs", "skip", "" (nothing recorded)
  std::string text;
};

Verdict judge(const std::vector<LeafPair>& pairs) {
  Verdict verdict{"equal", ""};
  for (const LeafPair& pair : pairs) {
    // Recorded gradients list what is positional.
    if (pair.of_keyword && pair.device.is_none()) continue;
    const Agreement agreement = compare(pair);
    if (!agreement.comparable || agreement.max_ulp > kUlpLimit) {
      return {"differs", fmt::format("{}: {}", pair.path, agreement.text)};
    }
    if (agreement.max_ulp > 0) verdict = {"2 ulp", agreement.text};
  }
  return verdict;
}

struct Tally {
  std::map<std::string, std::size_t> states;
  std::map<std::string, std::vector<std::string>> reasons;  // text without digits -> calls

  void add(const std::string& call, const Verdict& verdict) {
    if (verdict.state.empty()) return;
    ++states[verdict.state];
    if (verdict.state != "skip" && verdict.state != "differs") return;
    std::string reason = verdict.state + ": " + verdict.text.substr(0, verdict.text.find('\n'));
    reasons[reason.substr(0, 110)].push_back(call);
  }

  void print(std::string_view direction) const {
    for (const auto& [state, count] : states) fmt::print("{} {}: {}\n", direction, state, count);
    std::vector<const std::pair<const std::string, std::vector<std::string>>*> sorted;
    for (const auto& item : reasons) sorted.push_back(&item);
    std::ranges::stable_sort(sorted, std::greater{},
                             [](const auto* item) { return item->second.size(); });
    for (const auto* item : std::vector(
             sorted.begin(),
             sorted.begin() + static_cast<std::ptrdiff_t>(std::min(kShown, sorted.size())))) {
      fmt::print("  {} x {}  ({})\n", item->second.size(), item->first,
                 fmt::join(item->second.begin(),
                           item->second.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(
                                                      3, item->second.size())),
                           " "));
    }
  }
};

void print_call(const std::string& call, const Verdict& forward, const Verdict& backward) {
  JsonWriter json;
  json.begin_object().key("call").value(call);
  json.key("forward").value(forward.state).key("forward_text").value(forward.text);
  json.key("backward").value(backward.state).key("backward_text").value(backward.text).end_object();
  std::string line = json.text();
  std::ranges::replace(line, '\n', ' ');
  fmt::print("{}\n", line);
}

std::pair<Verdict, Verdict> replay_call(const dump::CallSlice& slice,
                                        const ReplayOptions& options) {
  const Result<dump::CallRecord> record = dump::parse_call(slice, options.dump.string());
  if (!record) return {{"skip", record.error().message}, {}};
  const OrSkip<CallOutcome> outcome = execute::execute_call(*record, options.execute);
  if (!outcome) {
    const Verdict verdict{
        "skip", fmt::format("{}: {}", name(outcome.error().reason), outcome.error().text)};
    return {verdict, record->backward ? verdict : Verdict{}};
  }
  const bool judged = options.execute.recorded && !options.execute.raise;
  const auto verdict = [&](const std::vector<LeafPair>& pairs) {
    if (!judged) return Verdict{"ran", ""};
    const OrSkip<Verdict> found =
        execute::caught(SkipReason::kDeviceFailed, [&] { return judge(pairs); });
    return found ? *found : Verdict{"skip", found.error().text};
  };
  Verdict backward;
  if (outcome->backward_skip) {
    backward = {"skip", fmt::format("{}: {}", name(outcome->backward_skip->reason),
                                    outcome->backward_skip->text)};
  } else if (record->backward) {
    backward = verdict(outcome->backward);
  }
  return {verdict(outcome->forward), backward};
}

}  // namespace

void compare_in_equal_precision(ReplayOptions& options) {
  options.execute.recorded = true;
  options.execute.raise = false;
  options.execute.arguments.adjust = false;
}

Result<bool> replay(const ReplayOptions& options) {
  const Result<dump::DumpIndex> index = dump::open_dump(options.dump);
  if (!index) return propagate(index);
  ReplayOptions run = options;
  Result<Directory> data = Directory::open(options.dump.parent_path() / "dump_tensor_data");
  if (data) run.execute.arguments.data = &*data;
  Tally forward;
  Tally backward;
  for (const dump::CallSlice& slice : index->calls) {
    if (!options.only.empty() && slice.full_name != options.only) continue;
    const std::string call(slice.full_name);
    const auto [ahead, back] = replay_call(slice, run);
    if (options.per_call) print_call(call, ahead, back);
    forward.add(call, ahead);
    backward.add(call, back);
  }
  if (!options.per_call) {
    forward.print("forward");
    backward.print("backward");
  }
  return forward.reasons.empty() && backward.reasons.empty();
}

}  // namespace msprobe::engine
