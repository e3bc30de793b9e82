// SPDX-License-Identifier: Apache-2.0
#include "divergence/first_divergence.h"

#include <algorithm>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "divergence/meetings.h"
#include "divergence/place.h"

namespace msprobe::divergence {
namespace {

struct RankEvent {
  std::uint32_t rank;  // index of the pair
  std::uint64_t time;
  const Event* event;
};

class Search {
 public:
  explicit Search(std::span<const RankPair> pairs) : pairs_(pairs) {}

  DivergenceReport run() {
    report_.rank_count = pairs_.size();
    report_.per_rank.resize(pairs_.size());
    report_.exact = std::ranges::all_of(pairs_, [](const RankPair& pair) {
      return pair.target->has_checksums && pair.golden->has_checksums;
    });
    for (std::size_t i = 0; i < pairs_.size(); ++i) {
      RankResult& result = report_.per_rank[i];
      const RankPair& pair = pairs_[i];
      result.alignment = align(*pair.target, *pair.golden, report_.exact);
      result.classified =
          classify(*pair.target, *pair.golden, result.alignment, report_.exact, pair.measure);
    }
    gather();
    for (std::uint32_t r = 0; r < pairs_.size(); ++r) {
      count(report_.per_rank[r]);
      list_calls(r);
    }
    return std::move(report_);
  }

 private:
  void gather() {
    std::vector<RankRun> ranks;
    for (const RankPair& pair : pairs_) ranks.push_back({pair.rank, pair.target});
    const Meetings meetings = find_meetings(ranks);
    std::vector<RankEvent> events;
    for (std::uint32_t r = 0; r < pairs_.size(); ++r) {
      Classified& classified = report_.per_rank[r].classified;
      for (const Event& event : classified.events) {
        if (event.doubtful) continue;
        if (came_from_elsewhere(r, event, meetings)) {
          classified.roles[event.call].role = Role::kInherits;
          --classified.introducing;
          ++classified.inheriting;
          continue;
        }
        events.push_back({r, meetings.times[r][event.seen], &event});
      }
    }
    std::ranges::stable_sort(
        events, {}, [](const RankEvent& event) { return std::tuple(event.time, event.rank); });
    report_.origin_count = events.size();
    std::map<std::uint32_t, PlaceFinder> places;
    for (const RankEvent& event : events) {
      if (report_.origins.size() == DivergenceReport::kMostOrigins) break;
      const RankPair& pair = pairs_[event.rank];
      PlaceFinder& finder =
          places.try_emplace(event.rank, pair.target_dump, pair.open).first->second;
      report_.origins.push_back(in_words(event, finder));
    }
    if (!report_.origins.empty()) report_.first = report_.origins.front();
  }

  // A communication call whose own inputs agree, while another rank sent something that differs.
  bool came_from_elsewhere(std::uint32_t r, const Event& event, const Meetings& meetings) const {
    const Call& call = pairs_[r].target->calls[event.call];
    if (event.cause != Cause::kCall || call.communication < 0) return false;
    const auto& sources = meetings.sources[r][static_cast<std::size_t>(call.communication)];
    return std::ranges::any_of(sources, [&](const RankCall& source) {
      const Partner& partner = report_.per_rank[source.rank].alignment.partners[source.call];
      if (partner.golden == kNoCall) return true;
      const Trace& target = *pairs_[source.rank].target;
      const Trace& golden = *pairs_[source.rank].golden;
      return !agree(target.inputs(target.calls[source.call]),
                    golden.inputs(golden.calls[partner.golden]), report_.exact);
    });
  }

  Divergence in_words(const RankEvent& found, PlaceFinder& finder) const {
    const RankPair& pair = pairs_[found.rank];
    const Event& event = *found.event;
    const Trace& target = *pair.target;
    const Call& call = target.calls[event.call];
    const Call& seen = target.calls[event.seen];
    CallPlace place = finder.find(call.entry);
    Divergence divergence{
        .cause = event.cause,
        .rank = pair.rank,
        .target = std::string(call.entry),
        .golden = {},
        .item = fmt::format("{}.{}", seen.entry, target.paths[target.tensors[event.tensor].path]),
        .seen = event.seen == event.call ? "" : std::string(seen.entry),
        .input_difference = event.input_difference,
        .output_difference = event.output_difference,
        .arguments = {},
        .module = std::move(place.module),
        .source = std::move(place.source),
        .rerun = std::move(place.rerun),
        .stack = std::move(place.stack)};
    if (event.golden == kNoCall || event.seen != event.call) return divergence;
    const Call& other = pair.golden->calls[event.golden];
    divergence.golden = other.entry;
    if (event.other_arguments) divergence.arguments = compare_arguments(pair, call, other);
    return divergence;
  }

  // The first argument that is not a tensor and differs.
  static std::string compare_arguments(const RankPair& pair, const Call& call, const Call& other) {
    const Trace& target = *pair.target;
    const Trace& golden = *pair.golden;
    std::map<std::string_view, std::string_view> golden_texts;
    for (std::uint32_t i = 0; i < other.argument_count; ++i) {
      const Argument& argument = golden.arguments[other.first_argument + i];
      golden_texts[golden.paths[argument.path]] = golden.texts[argument.text];
    }
    for (std::uint32_t i = 0; i < call.argument_count; ++i) {
      const Argument& argument = target.arguments[call.first_argument + i];
      const std::string_view path = target.paths[argument.path];
      const std::string_view text = target.texts[argument.text];
      const auto found = golden_texts.find(path);
      if (found == golden_texts.end()) return fmt::format("{} is {}, golden has none", path, text);
      if (found->second != text) {
        return fmt::format("{} is {}, golden {}", path, text, found->second);
      }
    }
    return call.argument_count < other.argument_count ? "golden has more arguments" : "";
  }

  void count(const RankResult& result) {
    const Classified& classified = result.classified;
    report_.calls += classified.roles.size();
    report_.agreeing += classified.agreeing;
    report_.introducing += classified.introducing;
    report_.inheriting += classified.inheriting;
    report_.target_only += classified.target_only;
    report_.golden_only += classified.golden_only;
    report_.renamed += classified.renamed;
    report_.again += classified.again;
  }

  void list_calls(std::uint32_t r) {
    const RankResult& result = report_.per_rank[r];
    for (std::size_t i = 0; i < result.classified.roles.size(); ++i) {
      const CallRole& role = result.classified.roles[i];
      if (role.doubtful || (role.role != Role::kIntroduces && role.role != Role::kInherits)) {
        continue;
      }
      const std::uint32_t golden = result.alignment.partners[i].golden;
      report_.judged.push_back(
          {pairs_[r].rank, std::string(pairs_[r].target->calls[i].entry),
           golden == kNoCall ? "" : std::string(pairs_[r].golden->calls[golden].entry), role.role});
    }
  }

  std::span<const RankPair> pairs_;
  DivergenceReport report_;
};

}  // namespace

DivergenceReport find_divergence(std::span<const RankPair> pairs) { return Search(pairs).run(); }

}  // namespace msprobe::divergence
