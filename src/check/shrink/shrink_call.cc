// SPDX-License-Identifier: Apache-2.0
#include "shrink/shrink_call.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/call_command.h"
#include "core/shell_words.h"
#include "shrink/accepted_shapes.h"
#include "shrink/probe.h"
#include "shrink/recorded_call.h"
#include "shrink/reduce.h"
#include "shrink/reproduction.h"
#include "shrink/script_run.h"

namespace msprobe::shrink {
namespace {

namespace fs = std::filesystem;

void collect_shapes(const dump::Value& value, std::vector<std::string>& shapes) {
  if (const auto* tensor = value.as<dump::TensorRecord>()) {
    shapes.push_back(fmt::format("({})", fmt::join(tensor->shape, ", ")));
  }
  if (const auto* list = value.as<dump::List>()) {
    for (const dump::Value& item : *list) collect_shapes(item, shapes);
  }
}

// "(4, 64), (64)" of all tensors that go in; of many the first ones.
std::string shapes_of(const dump::CallRecord& call) {
  constexpr std::size_t kShown = 6;
  std::vector<std::string> shapes;
  for (const dump::Value& value : call.forward.input_args) collect_shapes(value, shapes);
  for (const auto& [key, value] : call.forward.input_kwargs) collect_shapes(value, shapes);
  const std::size_t more = shapes.size() - std::min(shapes.size(), kShown);
  shapes.resize(shapes.size() - more);
  return fmt::format("{}{}", fmt::join(shapes, ", "),
                     more > 0 ? fmt::format(" and {} more", more) : "");
}

// What was reached, as a sentence.
std::string reached_text(const std::string& name, const std::string& device,
                         const dump::CallRecord& recorded, const dump::CallRecord& form,
                         std::size_t tries) {
  const std::string from = shapes_of(recorded);
  const std::string to = shapes_of(form);
  if (from == to) {
    return fmt::format("{} fails on {} with inputs of no smaller shape: {}, after {} tries", name,
                       device, from, tries);
  }
  return fmt::format("{} still fails on {} with smaller inputs: {} -> {}, after {} tries", name,
                     device, from, to, tries);
}

std::string replay_command(const ShrinkOptions& options, const fs::path& dump) {
  engines::EngineOptions engine = options.engine;
  if (!engine.sim_config.empty()) engine.sim_config = (dump.parent_path() / "sim.yaml").string();
  CallCommand replay("acc_check");
  replay.add("-api_info", dump.string()).add("-d", options.device);
  engines::add_device(replay, engine);
  engines::add_run(replay, engine);
  return replay.text();
}

// Whether the script does what the call did.
bool fails_alike(const ProbeAnswer& answer, const ScriptRun& run) {
  using End = ScriptRun::End;
  if (answer.kind != ProbeAnswer::Kind::kLost) return run.end == End::kDisagrees;
  return run.end == End::kDied || run.end == End::kHung;
}

// The forms that are written until a script fails as the call does: the smallest, then some of the
// larger ones that it came from, at last the recorded one.
std::vector<const dump::CallRecord*> forms_of(const Reduced& reduced) {
  std::vector<const dump::CallRecord*> forms{&reduced.call};
  const std::size_t count = reduced.larger.size();
  for (const std::size_t place : {count / 4 * 3, count / 2, std::size_t{0}}) {
    if (place < count && forms.back() != &reduced.larger[place]) {
      forms.push_back(&reduced.larger[place]);
    }
  }
  return forms;
}

struct Written {
  Reproduction reproduction;
  ScriptRun run;
  const dump::CallRecord* form = nullptr;
};

// Writes the smallest form whose script fails as the call does. If none does, the smallest stays.
Result<Written> write_what_fails(const ShrinkOptions& options, const RecordedCall& recorded,
                                 const fs::path& out, Probe& probe, const Reduced& reduced) {
  const bool one_script = recorded.dialect->saves_npy;
  const auto write = [&](const dump::CallRecord* form) -> Result<Written> {
    Result<Reproduction> written = write_reproduction(options, recorded, out, probe, *form);
    if (!written) return propagate(written);
    return Written{*std::move(written), {}, form};
  };
  for (const dump::CallRecord* form : forms_of(reduced)) {
    Result<Written> written = write(form);
    if (!written) return propagate(written);
    for (const ScriptForm script :
         {ScriptForm::kShort, ScriptForm::kCareful, ScriptForm::kSavedBench}) {
      if (script != ScriptForm::kShort) {
        if (one_script) break;
        const Result<void> done =
            write_script(options, recorded, *form, written->reproduction, script);
        if (!done) return propagate(done);
      }
      written->run = run_script(written->reproduction.script, options.timeout_seconds);
      const bool hopeless = written->run.end == ScriptRun::End::kCannotRun;
      if (fails_alike(written->reproduction.answer, written->run)) return written;
      if (hopeless) break;
    }
    if (written->run.end == ScriptRun::End::kCannotRun) return written;
  }
  Result<Written> smallest = write(&reduced.call);
  if (!smallest) return propagate(smallest);
  smallest->run = run_script(smallest->reproduction.script, options.timeout_seconds);
  return smallest;
}

// How the script did, for a person.
std::string run_text(const Written& written) {
  using End = ScriptRun::End;
  const std::string& said = written.run.said;
  if (fails_alike(written.reproduction.answer, written.run)) {
    return fmt::format("reproduce.py fails as the call does: {}", said);
  }
  switch (written.run.end) {
    case End::kCannotRun:
      return fmt::format(
          "reproduce.py could not be tried here ({}); MSPROBE_PYTHON names the "
          "Python that runs it",
          said);
    case End::kAgrees:
      return "reproduce.py does not fail as the call does: the device and the CPU agree in it";
    case End::kRaised:
    case End::kDisagrees:
    case End::kDied:
    case End::kHung:
      break;
  }
  return fmt::format("reproduce.py does not fail as the call does: {}", said);
}

}  // namespace

Result<ShrinkOutcome> shrink_call(ShrinkOptions options) {
  const Result<RecordedCall> recorded = read_call(options.api_info, options.call, options.device);
  if (!recorded) return propagate(recorded);
  options.device = recorded->device;
  if (options.out.empty()) options.out = (fs::path("shrunk") / options.call).string();
  Probe probe(engines::command_of(options.engine, options.device),
              replay_settings(*recorded, options.api_info, options.engine.replay),
              options.timeout_seconds);
  const Result<ProbeAnswer> first = probe.ask(recorded->call);
  if (!first) return propagate(first);
  options.device = probe.device();  // the script cannot open a bare id
  if (!first->fails()) {
    return ShrinkOutcome{options.device,
                         first->text.empty() ? "the strict status passes" : first->text};
  }
  const Result<fs::path> out = claim_directory(options.out);
  if (!out) return propagate(out);
  const bool in_python = !recorded->dialect->saves_npy;
  std::size_t tries = 0;
  const auto fails = [&](const dump::CallRecord& call) -> Result<bool> {
    if (in_python && !python_accepts(call)) return false;
    ++tries;
    const Result<ProbeAnswer> answer = probe.ask(call);
    if (!answer) return propagate(answer);
    return answer->kind == first->kind && keeps_cause(first->cause, answer->cause);
  };
  const Result<Reduced> reduced =
      recorded->is_fixed() ? Reduced{recorded->call, 1} : reduce(recorded->call, fails);
  if (!reduced) return propagate(reduced);
  const Result<Written> written = write_what_fails(options, *recorded, *out, probe, *reduced);
  if (!written) return propagate(written);
  if (recorded->is_fixed()) {
    options.print(fmt::format("{} keeps its inputs {}: the recorded results belong to them\n",
                              options.call, shapes_of(recorded->call)));
  } else {
    options.print(
        reached_text(options.call, options.device, recorded->call, *written->form, tries) + "\n");
  }
  options.print(fmt::format("{}\n{}\n{}\npython3 {}\n", written->reproduction.answer.text,
                            run_text(*written), replay_command(options, *out / "dump.json"),
                            shell_path(written->reproduction.script)));
  return ShrinkOutcome{options.device, {}};
}

}  // namespace msprobe::shrink
