// SPDX-License-Identifier: Apache-2.0
#include "divergence/meetings.h"

#include <algorithm>
#include <functional>
#include <string_view>
#include <unordered_map>

namespace msprobe::divergence {
namespace {

// One occasion: the calls that take part in it so far.
struct Occasion {
  std::vector<RankCall> senders;    // whose inputs count
  std::vector<RankCall> receivers;  // who waits for them
  std::size_t arrived = 0;          // senders that were reached in the walk
};

class MeetingFinder {
 public:
  explicit MeetingFinder(std::span<const RankRun> ranks) : ranks_(ranks) {}

  Meetings find() {
    occasions_of_.resize(ranks_.size());
    result_.sources.resize(ranks_.size());
    result_.times.resize(ranks_.size());
    for (std::uint32_t r = 0; r < ranks_.size(); ++r) join(r);
    for (std::uint32_t r = 0; r < ranks_.size(); ++r) collect_sources(r);
    order();
    return std::move(result_);
  }

 private:
  static constexpr std::uint64_t kBetweenTwo = 0x7e2eU;

  void join(std::uint32_t r) {
    const Trace& run = *ranks_[r].run;
    occasions_of_[r].resize(run.communications.size());
    std::unordered_map<std::uint64_t, std::uint64_t> turns;
    for (std::uint32_t c = 0; c < run.calls.size(); ++c) {
      const Call& call = run.calls[c];
      if (call.communication < 0) continue;
      const Communication& partners =
          run.communications[static_cast<std::size_t>(call.communication)];
      const std::string_view name = call.api.substr(call.api.rfind('.') + 1);
      const RankCall here{r, c};
      if (name == "batch_isend_irecv") {
        for (const int to : partners.receivers) send(here, to, turns);
        for (const int from : partners.senders) receive(here, from, turns);
      } else if (name.starts_with("send") || name.starts_with("isend")) {
        send(here, one_of(partners.receivers, partners.first_number), turns);
      } else if (name.starts_with("recv") || name.starts_with("irecv")) {
        receive(here, one_of(partners.senders, partners.first_number), turns);
      } else {
        std::uint64_t key = mix(std::hash<std::string_view>{}(name), 31);
        for (const int rank : partners.ranks) key = mix(key, static_cast<std::uint64_t>(rank));
        enter(here, key, true, true, turns);
      }
    }
  }

  static int one_of(const std::vector<int>& ranks, int otherwise) {
    return ranks.empty() ? otherwise : ranks.front();
  }

  void send(RankCall here, int to, std::unordered_map<std::uint64_t, std::uint64_t>& turns) {
    enter(here, between(ranks_[here.rank].rank, to), true, false, turns);
  }
  void receive(RankCall here, int from, std::unordered_map<std::uint64_t, std::uint64_t>& turns) {
    enter(here, between(from, ranks_[here.rank].rank), false, true, turns);
  }
  static std::uint64_t between(int from, int to) {
    return mix(mix(kBetweenTwo, static_cast<std::uint64_t>(from)), static_cast<std::uint64_t>(to));
  }

  // The n-th call of a kind meets the n-th calls of that kind on the other ranks.
  void enter(RankCall here, std::uint64_t key, bool sends, bool receives,
             std::unordered_map<std::uint64_t, std::uint64_t>& turns) {
    const std::uint64_t occasion_key = mix(key, turns[key]++);
    const auto [known, is_new] =
        numbers_.try_emplace(occasion_key, static_cast<std::uint32_t>(occasions_.size()));
    if (is_new) occasions_.emplace_back();
    Occasion& occasion = occasions_[known->second];
    if (sends) occasion.senders.push_back(here);
    if (receives) occasion.receivers.push_back(here);
    const Call& call = ranks_[here.rank].run->calls[here.call];
    occasions_of_[here.rank][static_cast<std::size_t>(call.communication)].push_back(
        {known->second, sends, receives});
  }

  void collect_sources(std::uint32_t r) {
    result_.sources[r].resize(occasions_of_[r].size());
    for (std::size_t i = 0; i < occasions_of_[r].size(); ++i) {
      for (const Part& part : occasions_of_[r][i]) {
        if (!part.receives) continue;
        const Occasion& occasion = occasions_[part.occasion];
        result_.sources[r][i].insert(result_.sources[r][i].end(), occasion.senders.begin(),
                                     occasion.senders.end());
      }
    }
  }

  // Walks all ranks side by side. A call that waits holds its rank up until all it waits for were
  // reached; where recordings are incomplete and everybody waits, the rank that is furthest behind
  // goes on.
  void order() {
    std::vector<std::uint32_t> at(ranks_.size(), 0);
    std::vector<std::uint64_t> clock(ranks_.size(), 0);
    std::vector<bool> announced(ranks_.size(), false);
    for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
      result_.times[r].resize(ranks_[r].run->calls.size());
    }
    while (true) {
      bool moved = false;
      std::uint32_t behind = 0;
      bool waiting = false;
      for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
        while (at[r] < result_.times[r].size()) {
          if (!announced[r]) announce({r, at[r]}, clock[r]);
          announced[r] = true;
          if (!may_pass({r, at[r]})) break;
          pass(r, at[r], clock[r]);
          announced[r] = false;
          moved = true;
        }
        if (at[r] == result_.times[r].size()) continue;
        if (!waiting || clock[r] < clock[behind]) behind = r;
        waiting = true;
      }
      if (!waiting) return;
      if (moved) continue;
      pass(behind, at[behind], clock[behind]);
      announced[behind] = false;
    }
  }

  void announce(RankCall here, std::uint64_t clock) {
    for (const Part& part : parts_of(here)) {
      if (!part.sends) continue;
      Occasion& occasion = occasions_[part.occasion];
      ++occasion.arrived;
      auto& time = reached_[part.occasion];
      time = std::max(time, clock + 1);
    }
  }

  bool may_pass(RankCall here) {
    return std::ranges::all_of(parts_of(here), [this](const Part& part) {
      const Occasion& occasion = occasions_[part.occasion];
      return !part.receives || occasion.arrived == occasion.senders.size();
    });
  }

  void pass(std::uint32_t r, std::uint32_t& at, std::uint64_t& clock) {
    ++clock;
    for (const Part& part : parts_of({r, at})) {
      if (part.receives) clock = std::max(clock, reached_[part.occasion]);
    }
    result_.times[r][at++] = clock;
  }

  struct Part {
    std::uint32_t occasion;
    bool sends, receives;
  };

  std::span<const Part> parts_of(RankCall here) const {
    const Call& call = ranks_[here.rank].run->calls[here.call];
    if (call.communication < 0) return {};
    return occasions_of_[here.rank][static_cast<std::size_t>(call.communication)];
  }

  std::span<const RankRun> ranks_;
  std::vector<Occasion> occasions_;
  std::unordered_map<std::uint64_t, std::uint32_t> numbers_;  // key -> occasion
  std::vector<std::vector<std::vector<Part>>> occasions_of_;  // per rank and communication
  std::unordered_map<std::uint32_t, std::uint64_t> reached_;  // time of the last arrival
  Meetings result_;
};

}  // namespace

Meetings find_meetings(std::span<const RankRun> ranks) { return MeetingFinder(ranks).find(); }

}  // namespace msprobe::divergence
