// SPDX-License-Identifier: Apache-2.0
#include "worker/replay_dump.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/call_name.h"
#include "core/json_writer.h"
#include "dump/dump_json.h"
#include "execute/caught.h"
#include "execute/replay_dialect.h"
#include "ops/op.h"
#include "worker/agreement.h"
#include "worker/replay_tally.h"

namespace msprobe::worker {
namespace {

using execute::CallOutcome;
using execute::LeafPair;
using State = Replayed::State;

struct ReplayedCall {
  Replayed forward, backward;
  bool other_order = false;  // gradients were not recorded in the order of the arguments
};

std::size_t count_leaves(const dump::List& values) {
  std::size_t count = 0;
  for (const dump::Value& value : values) {
    const auto* list = value.as<dump::List>();
    count += list == nullptr ? 1 : count_leaves(*list);
  }
  return count;
}

Replayed not_run(const Skip& skip) {
  return {
      State::kNotRun, {}, Likeness::kEqual, fmt::format("{}: {}", name(skip.reason), skip.text)};
}

Replayed compare_all(const std::vector<LeafPair>& pairs, std::string_view bare_name) {
  const OrSkip<Replayed> compared = execute::caught(SkipReason::kDeviceFailed, [&] {
    Replayed found{State::kCompared, {}, Likeness::kEqual, {}};
    for (const LeafPair& pair : pairs) {
      // Recorded gradients list what is positional.
      if (pair.of_keyword && pair.device.is_none()) continue;
      found.add(pair.path, compare(pair, bare_name));
    }
    return found;
  });
  return compared ? *compared : not_run(compared.error());
}

// Leaves beyond those of the benchmark have no partner in `pairs`.
void count_outputs(Replayed& forward, std::size_t pairs, std::size_t recorded) {
  if (pairs >= recorded || forward.state != State::kCompared) return;
  forward.add("", {Likeness::kBeyond, fmt::format("{} outputs, {} recorded", pairs, recorded)});
}

ReplayedCall replay_call(const dump::CallSlice& slice, const ReplayOptions& options) {
  const Result<dump::CallRecord> record =
      options.execute.dialect->parse(slice, options.dump.string());
  if (!record) return {not_run({SkipReason::kBrokenRecord, record.error().message}), {}};
  const OrSkip<CallOutcome> outcome = execute::execute_call(*record, options.execute);
  if (!outcome) {
    const Replayed lost = not_run(outcome.error());
    return {lost, record->backward ? lost : Replayed{}};
  }
  const bool compared = options.execute.recorded && !options.execute.raise;
  const std::string_view bare_name = parse_call_name(record->full_name)->bare_name;
  const auto found = [&](const std::vector<LeafPair>& pairs) {
    return compared ? compare_all(pairs, bare_name) : Replayed{State::kRan, {}, {}, {}};
  };
  ReplayedCall call{found(outcome->forward), {}, !outcome->backward_note.empty()};
  const bool first_only = ops::traits_of(bare_name).first_output_only;
  if (!first_only) {
    count_outputs(call.forward, outcome->forward.size(), count_leaves(record->forward.output));
  }
  if (outcome->backward_skip) {
    call.backward = not_run(*outcome->backward_skip);
  } else if (record->backward) {
    call.backward = found(outcome->backward);
  }
  return call;
}

std::string json_line(const std::string& call, const ReplayedCall& replayed) {
  JsonWriter json;
  json.begin_object().key("call").value(call);
  json.key("forward").value(name(replayed.forward));
  json.key("forward_text").value(replayed.forward.text);
  json.key("backward").value(name(replayed.backward));
  json.key("backward_text").value(replayed.backward.text).end_object();
  std::string line = json.text();
  std::ranges::replace(line, '\n', ' ');
  return line + '\n';
}

}  // namespace

void compare_in_equal_precision(ReplayOptions& options) {
  options.execute.recorded = true;
  options.execute.raise = false;
  options.execute.arguments.adjust = false;
  options.execute.arguments.replay.seed = 0;
}

Result<bool> replay_dump(const ReplayOptions& options,
                         const std::function<void(const std::string&)>& print) {
  const Result<dump::DumpIndex> index = dump::open_dump(options.dump);
  if (!index) return propagate(index);
  ReplayOptions run = options;
  Result<Directory> data = Directory::open(options.dump.parent_path() / dump::kDataDirectory);
  if (data) run.execute.arguments.data = &*data;
  ReplayTally outputs("outputs");
  ReplayTally gradients("gradients");
  std::vector<std::string> other_order;
  for (const dump::CallSlice& slice : index->calls) {
    if (!options.only.empty() && slice.full_name != options.only) continue;
    const std::string call(slice.full_name);
    const ReplayedCall replayed = replay_call(slice, run);
    if (options.per_call) print(json_line(call, replayed));
    outputs.add(call, replayed.forward);
    gradients.add(call, replayed.backward);
    if (replayed.other_order) other_order.push_back(call);
  }
  if (!options.per_call) {
    print(outputs.text());
    print(gradients.text());
    if (!other_order.empty()) {
      print(fmt::format("gradients recorded in another order than that of the arguments: {} ({})\n",
                        other_order.size(), fmt::join(other_order, " ")));
    }
  }
  return outputs.calls() > 0 && outputs.is_good() && gradients.is_good();
}

}  // namespace msprobe::worker
