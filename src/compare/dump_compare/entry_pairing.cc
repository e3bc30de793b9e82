// SPDX-License-Identifier: Apache-2.0
#include "dump_compare/entry_pairing.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "divergence/align.h"
#include "divergence/read_run.h"
#include "dump/entry_name.h"

namespace msprobe::dump_compare {
namespace {

using dump::EntryIndex;
using dump::EntryKind;

// The backward entries of one API or module on both sides, in file order.
struct BackwardCalls {
  struct Call {
    std::uint32_t entry;
    std::string_view number;
  };
  std::vector<Call> target;
  std::vector<Call> golden;
};

// Takes the calls that both sides have under one number.
void pair_equal_numbers(BackwardCalls& calls, std::vector<EntryPair>& pairs) {
  std::unordered_map<std::string_view, std::uint32_t> by_number;
  for (const auto& call : calls.golden) by_number.emplace(call.number, call.entry);
  std::vector<std::uint32_t> taken;
  std::erase_if(calls.target, [&](const BackwardCalls::Call& call) {
    const auto found = by_number.find(call.number);
    if (found == by_number.end()) return false;
    pairs[call.entry] = {found->second, EntryMatch::kName};
    taken.push_back(found->second);
    return true;
  });
  std::ranges::sort(taken);
  std::erase_if(calls.golden, [&](const BackwardCalls::Call& call) {
    return std::ranges::binary_search(taken, call.entry);
  });
}

void list_golden_only(const EntryIndex& golden, EntryPairing& pairing) {
  std::vector<bool> used(golden.entries.size());
  for (const EntryPair& pair : pairing.pairs) {
    if (pair.golden != kNoEntry) used[pair.golden] = true;
  }
  for (std::uint32_t i = 0; i < used.size(); ++i) {
    if (!used[i]) pairing.golden_only.push_back(i);
  }
}

// Where the entry of a name is.
class EntryNumbers {
 public:
  explicit EntryNumbers(const EntryIndex& index) {
    numbers_.reserve(index.entries.size());
    for (std::uint32_t i = 0; i < index.entries.size(); ++i) {
      numbers_.emplace(index.entries[i].name, i);
    }
  }
  std::uint32_t of(std::string_view name) const { return numbers_.at(name); }

 private:
  std::unordered_map<std::string_view, std::uint32_t> numbers_;
};

}  // namespace

EntryPairing pair_by_name(const EntryIndex& target, const EntryIndex& golden,
                          std::span<const std::string> names) {
  EntryPairing pairing;
  pairing.pairs.resize(target.entries.size());
  std::unordered_map<std::string_view, std::uint32_t> by_name;
  by_name.reserve(golden.entries.size());
  std::map<std::string, BackwardCalls, std::less<>> backward;
  const auto calls_of = [&](std::string_view owner) -> BackwardCalls& {
    const auto known = backward.find(owner);
    return known != backward.end()
               ? known->second
               : backward.emplace(std::string(owner), BackwardCalls{}).first->second;
  };
  for (std::uint32_t i = 0; i < golden.entries.size(); ++i) {
    const auto name = dump::parse_entry_name(golden.entries[i].name);
    if (name->kind == EntryKind::kBackward) {
      calls_of(name->owner).golden.push_back({i, name->number});
    } else {
      by_name.emplace(golden.entries[i].name, i);
    }
  }
  for (std::uint32_t i = 0; i < target.entries.size(); ++i) {
    const std::string_view wanted = names.empty() ? target.entries[i].name : names[i];
    const auto name = dump::parse_entry_name(wanted);
    if (name && name->kind == EntryKind::kBackward) {
      calls_of(name->owner).target.push_back({i, name->number});
      continue;
    }
    const auto found = by_name.find(wanted);
    if (found != by_name.end()) pairing.pairs[i] = {found->second, EntryMatch::kName};
  }
  for (auto& [owner, calls] : backward) {
    pair_equal_numbers(calls, pairing.pairs);
    if (calls.target.size() != calls.golden.size()) continue;
    for (std::size_t i = 0; i < calls.target.size(); ++i) {
      pairing.pairs[calls.target[i].entry] = {calls.golden[i].entry, EntryMatch::kOrder};
    }
  }
  for (std::uint32_t i = 0; i < target.entries.size(); ++i) {
    EntryPair& pair = pairing.pairs[i];
    if (pair.match == EntryMatch::kName &&
        golden.entries[pair.golden].name != target.entries[i].name) {
      pair.match = EntryMatch::kMapping;
    }
  }
  list_golden_only(golden, pairing);
  return pairing;
}

EntryPairing pair_by_sequence(const EntryIndex& target, const EntryIndex& golden, bool exact,
                              std::span<const std::string> names) {
  EntryPairing pairing;
  pairing.pairs.resize(target.entries.size());
  const divergence::RecordedRun of_target = divergence::read_run(target, {}, names);
  const divergence::RecordedRun of_golden = divergence::read_run(golden, {});
  const divergence::Alignment aligned = divergence::align(of_target.run, of_golden.run, exact);
  const EntryNumbers target_numbers(target);
  const EntryNumbers golden_numbers(golden);
  for (std::size_t i = 0; i < aligned.partners.size(); ++i) {
    const divergence::Partner& partner = aligned.partners[i];
    // A call that was computed again has a golden call that is taken already.
    if (partner.golden == divergence::kNoCall || partner.again) continue;
    const std::uint32_t t = target_numbers.of(of_target.run.calls[i].entry);
    const std::uint32_t g = golden_numbers.of(of_golden.run.calls[partner.golden].entry);
    const bool same = target.entries[t].name == golden.entries[g].name;
    pairing.pairs[t] = {g, same ? EntryMatch::kName : EntryMatch::kFuzzy};
  }
  list_golden_only(golden, pairing);
  return pairing;
}

}  // namespace msprobe::dump_compare
