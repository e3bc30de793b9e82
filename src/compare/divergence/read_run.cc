// SPDX-License-Identifier: Apache-2.0
#include "divergence/read_run.h"

#include <cmath>
#include <functional>
#include <utility>

namespace msprobe::divergence {
namespace {

using dump::Item;
using dump::ItemKind;
using dump::ItemPart;

bool is_communication(std::string_view entry) {
  return entry.starts_with("Distributed.") || entry.starts_with("MintDistributed.");
}

constexpr std::int64_t kMostRanks = 1'000'000;

// "[0, 1, 2]"
std::vector<int> ranks_of(std::string_view text) {
  std::vector<int> ranks;
  std::int64_t number = -1;
  for (const char c : text) {
    if (c >= '0' && c <= '9') {
      number = std::min<std::int64_t>((number < 0 ? 0 : number) * 10 + (c - '0'), kMostRanks);
    } else if (number >= 0) {
      ranks.push_back(static_cast<int>(std::exchange(number, -1)));
    }
  }
  return ranks;
}

void note_partners(const Item& item, Communication& communication) {
  if (item.kind == ItemKind::kGroup) communication.ranks = ranks_of(item.value.text);
  if (item.peer >= 0) {
    const bool sends = item.transfer.find("send") != std::string_view::npos;
    (sends ? communication.receivers : communication.senders).push_back(item.peer);
  }
  if (item.kind != ItemKind::kValue || !item.value.is_number()) return;
  if (!(item.value.real >= 0 && item.value.real <= kMostRanks)) return;
  const int rank = static_cast<int>(item.value.real);
  const std::string_view name = std::string_view(item.place).substr(item.place.rfind('.') + 1);
  if (name == "dst" || name == "group_dst") communication.receivers.push_back(rank);
  if (name == "src" || name == "group_src") communication.senders.push_back(rank);
  if (communication.first_number < 0) communication.first_number = rank;
}

void add_argument(const Item& item, Call& call, Trace& run) {
  const dump::ItemValue& value = item.value;
  Argument argument{.path = run.paths.add(item.place), .text = run.texts.add(value.text)};
  argument.is_number = value.is_number();
  argument.number = value.real;
  if (argument.is_number && !std::isfinite(argument.number)) call.nonfinite_argument = true;
  const std::hash<std::string_view> hash;
  call.arguments = mix(mix(call.arguments, hash(item.place)), hash(value.text));
  run.arguments.push_back(argument);
}

bool is_output(ItemPart part) { return part == ItemPart::kOutput || part == ItemPart::kGradient; }

}  // namespace

void add_entry(const dump::Entry& entry, Trace& run, const EntryOptions& options) {
  Call call;
  call.entry = run.names.emplace_back(entry.name);
  call.at = entry.at;
  name_call(call, options.known_as);
  if (!options.known_as.empty()) {
    const auto other = dump::parse_entry_name(options.known_as);
    if (other) call.known_as = run.names.emplace_back(other->owner);
  }
  call.first = static_cast<std::uint32_t>(run.tensors.size());
  call.first_argument = static_cast<std::uint32_t>(run.arguments.size());
  Communication communication;
  std::size_t left_out = 0;
  for (std::uint32_t i = 0; i < entry.items.size(); ++i) {  // inputs come before outputs
    const Item& item = entry.items[i];
    if (left_out < options.without.size() && options.without[left_out] == i) {
      ++left_out;
      continue;
    }
    const bool output = is_output(item.part);
    if (item.kind == ItemKind::kTensor) {
      RunTensor& tensor = run.tensors.emplace_back(describe(item, run.paths.add(item.place)));
      if (!options.float_checksums && is_unknown_to_numpy(item.dtype)) tensor.checksum = 0;
      run.has_checksums = run.has_checksums || tensor.checksum != 0;
      ++(output ? call.outputs : call.inputs);
    } else if (!output && item.kind != ItemKind::kGroup) {
      add_argument(item, call, run);
    }
    if (!output) note_partners(item, communication);
  }
  call.argument_count = static_cast<std::uint32_t>(run.arguments.size()) - call.first_argument;
  if (is_communication(call.entry)) {
    call.communication = static_cast<std::int32_t>(run.communications.size());
    run.communications.push_back(std::move(communication));
  }
  run.calls.push_back(call);
}

RecordedRun read_run(const dump::EntryIndex& index, std::string_view place,
                     std::span<const std::string> names) {
  RecordedRun recorded;
  dump::EntryReader reader;
  dump::Entry entry;
  for (std::size_t i = 0; i < index.entries.size(); ++i) {
    const Result<void> read = reader.read(index.entries[i], place, entry);
    if (read) {
      EntryOptions options;
      if (!names.empty()) options.known_as = names[i];
      add_entry(entry, recorded.run, options);
    } else if (recorded.broken++ == 0) {
      recorded.first_fault = read.error().message;
    }
  }
  finish(recorded.run);
  return recorded;
}

}  // namespace msprobe::divergence
