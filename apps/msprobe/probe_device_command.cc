// SPDX-License-Identifier: Apache-2.0
// msprobe probe_device: how a device computes, found from its results; and what differs between two
// such cards.
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "card/card_json.h"
#include "card_output.h"
#include "card_readings.h"
#include "cli/parser.h"
#include "command.h"
#include "common_options.h"
#include "core/log.h"
#include "core/path_check.h"
#include "engines/device_session.h"
#include "identify/probe_device.h"
#include "own_files.h"
#include "report/card_page.h"
#include "tables/output_file.h"
#include "terminal/screen.h"
#include "version.h"

namespace msprobe::app {
namespace {

struct ProbeArguments {
  std::string device = "0";
  std::string out;
  std::vector<std::string> sections;
  std::vector<std::string> diff;  // an old card and a new one
  std::string read;               // a card that was made before
  std::string learn;              // details of a check
  std::string html;
  bool evidence = false;
  engines::EngineOptions engine;
  double timeout_seconds = 60;
};

Result<card::Card> read_card(const std::string& path) {
  const Result<std::filesystem::path> checked = check_input_file(path, {.suffix = ".json"});
  if (!checked) return propagate(checked);
  return card::load_card(*checked);
}

ExitStatus compare(const std::string& older, const std::string& newer) {
  const Result<card::Card> before = read_card(older);
  if (!before) return refuse(before.error());
  const Result<card::Card> after = read_card(newer);
  if (!after) return refuse(after.error());
  const std::vector<card::Change> changes = card::changes(*before, *after);
  fmt::print("{}", changes_text(changes));
  return changes.empty() ? kPassed : kFailed;
}

Result<card::Card> make_card(const ProbeArguments& arguments) {
  engines::EngineOptions options = arguments.engine;
  const Result<std::filesystem::path> engine = find_own_engine(options.program);
  if (!engine) return propagate(engine);
  options.program = engine->string();
  Result<engines::DeviceSession> session = engines::DeviceSession::open(
      engines::command_of(options, arguments.device), arguments.timeout_seconds);
  if (!session) return propagate(session);
  // Nothing would be on the card.
  const Result<Numbers> asked = session->compute({"copy", {{DType::kUInt8, {1}, "x"}}});
  if (!asked) return propagate(asked);
  card::Card card = identify::probe_device(
      [&](const Operation& operation) { return session->compute(operation); }, arguments.sections,
      [](const std::string& step) { log::info("probing {}", step); });
  card.device = session->hello().device;
  card.torch = session->hello().torch_version;
  card.msprobe = kVersion;
  return card;
}

Result<void> write_file(const std::string& path, std::string text) {
  Result<tables::OutputFile> file = tables::OutputFile::create(path);
  if (!file) return propagate(file);
  file->buffer() = std::move(text);
  return file->commit();
}

Result<void> write_card(const ProbeArguments& arguments, const card::Card& card) {
  if (!arguments.out.empty()) {
    if (auto done = write_file(arguments.out, card::to_json(card)); !done) return done;
  }
  if (arguments.html.empty()) return {};
  return write_file(arguments.html, report::card_page(card));
}

ExitStatus run(const ProbeArguments& arguments) {
  if (!arguments.diff.empty()) {
    if (arguments.diff.size() == 2) return compare(arguments.diff[0], arguments.diff[1]);
    return refuse({ErrorKind::kUsage, "--diff takes two cards: --diff old.json new.json"});
  }
  Result<card::Card> card =
      arguments.read.empty() ? make_card(arguments) : read_card(arguments.read);
  if (!card) return refuse(card.error());
  if (!arguments.learn.empty()) {
    if (auto done = learn_readings(arguments.learn, *card); !done) return refuse(done.error());
  }
  const Result<void> written = write_card(arguments, *card);
  if (!written) return refuse(written.error());
  fmt::print("{}",
             card_text(*card, arguments.evidence, terminal::screen_of(STDOUT_FILENO).columns));
  return kPassed;
}

}  // namespace

Run declare_probe_device(cli::Parser& command) {
  auto arguments = std::make_shared<ProbeArguments>();
  command.group("Device");
  command.value("-d,--device", arguments->device, "the device to probe")
      .named("DEVICE")
      .shows_default();
  declare_engine_options(command, arguments->engine);
  declare_timeout(command, arguments->timeout_seconds);
  command.value("--only", arguments->sections, "only this section of the card")
      .named("SECTION")
      .one_of(identify::section_names())
      .repeatable();
  command.group("Cards");
  command
      .value("--diff", arguments->diff,
             "compare two cards instead; exit status 1 if a claim differs")
      .named("OLD NEW");
  command.value("--read", arguments->read, "show this card instead of probing a device")
      .named("FILE");
  command
      .value("--learn", arguments->learn,
             "add what a check found out about operators whose documents leave a question open: "
             "its details CSV")
      .named("FILE");
  command.group("Output");
  command.value("-o,--out", arguments->out, "write the card to this file").named("FILE");
  command
      .value("--html", arguments->html,
             "write the card as a page: claims with their evidence, and the errors of every "
             "function over all 16-bit inputs")
      .named("FILE");
  command.flag("--evidence", arguments->evidence, "show the evidence for each claim");
  return [arguments] { return run(*arguments); };
}

}  // namespace msprobe::app
