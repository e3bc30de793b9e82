#include "divergence_search.h"

#include <limits>
#include <utility>

#include "measure/chunks.h"

namespace msprobe::app {
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

}  // namespace

void DivergenceSearch::start(const dump_compare::DumpPair& pair, std::string target_as_given,
                             std::shared_ptr<const dump_compare::OpenDumps> dumps, int threads) {
  if (pair.step != current_) finish();
  current_ = pair.step;
  if (report_ && report_->first) return;
  auto rank = std::make_unique<Rank>();
  rank->number = static_cast<int>(pair.rank);
  rank->target_dump = std::move(target_as_given);
  measure::spread(2, threads, [&](std::size_t side) {
    (side == 0 ? rank->target : rank->golden) =
        divergence::read_run(side == 0 ? dumps->target : dumps->golden, {});
  });
  rank->dumps = std::move(dumps);
  ranks_.push_back(std::move(rank));
}

void DivergenceSearch::add(const dump_compare::EntryRows& rows) {
  using State = dump_compare::RealNumbers::State;
  if (ranks_.empty()) return;
  for (const dump_compare::Row& row : rows.rows) {
    if (!row.is_matched() || row.outcome == dump_compare::Outcome::kSkipped) continue;
    const State state = row.real.state;
    if (state == State::kUnsupported || state == State::kShapes) continue;
    const double distance = state == State::kClasses ? std::numeric_limits<double>::infinity()
                                                     : row.real.relative_distance;
    ranks_.back()->measured.emplace(key_of(row.target_entry->name, row.target->place,
                                           row.golden_entry->name, row.golden->place),
                                    distance);
  }
}

std::optional<double> DivergenceSearch::measured(const Rank& rank, std::uint32_t target_call,
                                                 const divergence::Tensor& target,
                                                 std::uint32_t golden_call,
                                                 const divergence::Tensor& golden) const {
  const auto found = rank.measured.find(
      key_of(rank.target.run.calls[target_call].entry, rank.target.run.paths[target.path],
             rank.golden.run.calls[golden_call].entry, rank.golden.run.paths[golden.path]));
  if (found == rank.measured.end()) return std::nullopt;
  return found->second;
}

void DivergenceSearch::finish() {
  if (ranks_.empty()) return;
  std::vector<divergence::RankPair> pairs;
  for (const auto& rank : ranks_) {
    divergence::RankPair& pair = pairs.emplace_back();
    pair.rank = rank->number;
    pair.target = &rank->target.run;
    pair.golden = &rank->golden.run;
    pair.target_dump = rank->target_dump;
    if (rank->measured.empty()) continue;
    // Files have a tolerance; checksums beside them would make every last bit a difference.
    rank->target.run.has_checksums = rank->golden.run.has_checksums = false;
    pair.measure = [this, r = rank.get()](std::uint32_t target_call, const divergence::Tensor& t,
                                          std::uint32_t golden_call, const divergence::Tensor& g) {
      return measured(*r, target_call, t, golden_call, g);
    };
  }
  report_ = divergence::find_divergence(pairs);
  step_ = current_;
  ranks_.clear();
}

}  // namespace msprobe::app
