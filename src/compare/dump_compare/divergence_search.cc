// SPDX-License-Identifier: Apache-2.0
#include "dump_compare/divergence_search.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "measure/chunks.h"

namespace msprobe::dump_compare {
namespace {

std::uint64_t key_of(std::string_view target_entry, std::string_view target_place,
                     std::string_view golden_entry, std::string_view golden_place) {
  const std::hash<std::string_view> hash;
  std::uint64_t key = 0;
  for (const std::string_view text : {target_entry, target_place, golden_entry, golden_place}) {
    key = divergence::mix(key, hash(text));
  }
  return key;
}

// So that what grows is not copied again and again. Memory that is not needed is never touched.
void make_room(divergence::Trace& run, std::uint64_t entries) {
  constexpr std::uint64_t kMostEntries = 1'000'000;
  constexpr std::size_t kTensorsOfAnEntry = 4;
  const std::size_t count = std::min(entries, kMostEntries);
  run.calls.reserve(count);
  run.tensors.reserve(count * kTensorsOfAnEntry);
}

divergence::EntryOptions options_of(const EntryRows& rows, std::string_view known_as,
                                    std::span<const std::uint32_t> without) {
  return {.known_as = known_as, .without = without, .float_checksums = !rows.across};
}

std::string_view name_of(divergence::Role role) {
  switch (role) {
    case divergence::Role::kIntroduces:
      return "introduces";
    case divergence::Role::kInherits:
      return "inherits";
    case divergence::Role::kTargetOnly:
      return "target only";
    case divergence::Role::kAgrees:
      break;
  }
  return "agrees";
}

}  // namespace

void DivergenceSearch::start(const DumpPair& pair, std::string target_as_given,
                             const CompareStart& start) {
  if (pair.step != current_) finish();
  current_ = pair.step;
  if (report_ && report_->first) return;
  auto rank = std::make_unique<Rank>();
  rank->number = static_cast<int>(pair.rank);
  rank->target_dump = std::move(target_as_given);
  rank->open = start.open;
  make_room(rank->target, start.target_entries);
  make_room(rank->golden, start.golden_entries);
  ranks_.push_back(std::move(rank));
}

void DivergenceSearch::add(std::span<const EntryRows> block, DataMode mode, int threads) {
  if (ranks_.empty()) return;
  Rank& rank = *ranks_.back();
  measure::spread(2, threads, [&](std::size_t side) {
    for (const EntryRows& rows : block) {
      if (side == 0) {
        if (rows.target && !rows.target->is_broken) {
          add_entry(*rows.target, rank.target,
                    options_of(rows, rows.known_as, rows.target_gradients));
        }
        continue;
      }
      for (const std::unique_ptr<dump::Entry>& golden : rows.golden) {
        if (golden->is_broken) continue;
        const bool is_partner = golden == rows.golden.front();
        add_entry(*golden, rank.golden,
                  options_of(rows, {},
                             is_partner ? std::span(rows.golden_gradients)
                                        : std::span<const std::uint32_t>()));
      }
    }
  });
  if (mode != DataMode::kReal) return;
  for (const EntryRows& rows : block) add_files(rows, rank);
}

void DivergenceSearch::add_files(const EntryRows& rows, Rank& rank) {
  using State = RealNumbers::State;
  for (const ItemRow& row : rows.rows) {
    if (!row.is_matched() || row.outcome == Outcome::kSkipped) continue;
    const State state = row.real.state;
    if (state == State::kUnsupported || state == State::kShapes) continue;
    const double distance = state == State::kClasses ? std::numeric_limits<double>::infinity()
                                                     : row.real.relative_distance;
    rank.measured.emplace(key_of(row.target_entry->name, row.target->place, row.golden_entry->name,
                                 row.golden->place),
                          distance);
  }
}

std::optional<double> DivergenceSearch::measured(const Rank& rank, std::uint32_t target_call,
                                                 const divergence::RunTensor& target,
                                                 std::uint32_t golden_call,
                                                 const divergence::RunTensor& golden) const {
  const auto found = rank.measured.find(
      key_of(rank.target.calls[target_call].entry, rank.target.paths[target.path],
             rank.golden.calls[golden_call].entry, rank.golden.paths[golden.path]));
  if (found == rank.measured.end()) return std::nullopt;
  return found->second;
}

void DivergenceSearch::keep_roles(const Rank& rank, const divergence::RankResult& result) {
  Roles& kept = roles_[{current_, rank.number}];
  for (std::size_t i = 0; i < result.classified.roles.size(); ++i) {
    const divergence::CallRole& role = result.classified.roles[i];
    if (role.role == divergence::Role::kAgrees && !role.doubtful) continue;
    kept.emplace(rank.target.calls[i].entry, role.doubtful ? kNotKnown : name_of(role.role));
  }
}

void DivergenceSearch::keep_flow_of(const Rank& rank) {
  Flow& flow = flows_[{current_, rank.number}];
  for (const divergence::Call& call : rank.target.calls) flow.entries.emplace_back(call.entry);
  flow.edges = divergence::find_flow(rank.target);
}

const DivergenceSearch::Flow* DivergenceSearch::flow(std::int64_t step, std::int64_t rank) const {
  const auto found = flows_.find({step, rank});
  return found == flows_.end() ? nullptr : &found->second;
}

std::string_view DivergenceSearch::role(const DumpPair& pair, std::string_view entry) const {
  const auto rank = roles_.find({pair.step, pair.rank});
  if (rank == roles_.end()) return kNotKnown;
  const auto found = rank->second.find(entry);
  return found == rank->second.end() ? name_of(divergence::Role::kAgrees) : found->second;
}

void DivergenceSearch::finish() {
  if (ranks_.empty()) return;
  std::vector<divergence::RankPair> pairs;
  for (const auto& rank : ranks_) {
    divergence::finish(rank->target);
    divergence::finish(rank->golden);
    divergence::RankPair& pair = pairs.emplace_back();
    pair.rank = rank->number;
    pair.target = &rank->target;
    pair.golden = &rank->golden;
    pair.target_dump = rank->target_dump;
    pair.open = rank->open;
    if (rank->measured.empty()) continue;
    // Files have a tolerance; checksums beside them would make every last bit a difference.
    rank->target.has_checksums = rank->golden.has_checksums = false;
    pair.measure = [this, r = rank.get()](std::uint32_t target_call, const divergence::RunTensor& t,
                                          std::uint32_t golden_call,
                                          const divergence::RunTensor& g) {
      return measured(*r, target_call, t, golden_call, g);
    };
  }
  report_ = divergence::find_divergence(pairs);
  step_ = current_;
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    keep_roles(*ranks_[r], report_->per_rank[r]);
    if (keeps_flow_) keep_flow_of(*ranks_[r]);
  }
  ranks_.clear();
}

}  // namespace msprobe::dump_compare
