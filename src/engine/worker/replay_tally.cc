// SPDX-License-Identifier: Apache-2.0
#include "worker/replay_tally.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace msprobe::worker {
namespace {

constexpr std::size_t kCallsShown = 8;

std::string_view first_line(std::string_view text) { return text.substr(0, text.find('\n')); }

void append_reasons(std::string& out, std::string_view title,
                    const std::map<std::string, std::vector<std::string>>& reasons) {
  for (const auto& [reason, calls] : reasons) {
    const std::size_t shown = std::min(kCallsShown, calls.size());
    out += fmt::format(
        "  {}: {} x {} ({}{})\n", title, calls.size(), reason,
        fmt::join(calls.begin(), calls.begin() + static_cast<std::ptrdiff_t>(shown), " "),
        shown < calls.size() ? " ..." : "");
  }
}

}  // namespace

void Replayed::add(std::string_view path, const Agreement& agreement) {
  state = State::kCompared;
  ++leaves[std::to_underlying(agreement.likeness)];
  if (agreement.likeness <= worst) return;
  worst = agreement.likeness;
  text = worst == Likeness::kNotComparable ? agreement.text
                                           : fmt::format("{}: {}", path, agreement.text);
}

std::string_view name(const Replayed& replayed) {
  constexpr std::array<std::string_view, 4> kLikenesses = {"equal", "2 ulp", "not comparable",
                                                           "differs"};
  switch (replayed.state) {
    case Replayed::State::kNothing:
      return "";
    case Replayed::State::kRan:
      return "ran";
    case Replayed::State::kCompared:
      return kLikenesses[std::to_underlying(replayed.worst)];
    case Replayed::State::kNotRun:
      return "skip";
  }
  return "";
}

void ReplayTally::add(const std::string& call, const Replayed& replayed) {
  if (replayed.state == Replayed::State::kNothing) return;
  ++calls_;
  ran_ += replayed.state == Replayed::State::kRan ? 1 : 0;
  const std::string_view text = first_line(replayed.text);
  if (replayed.state == Replayed::State::kNotRun) {
    not_run_[std::string(text)].push_back(call);
    return;
  }
  for (std::size_t i = 0; i < leaves_.size(); ++i) leaves_[i] += replayed.leaves[i];
  if (replayed.worst == Likeness::kBeyond) beyond_.push_back(fmt::format("{} {}", call, text));
  if (replayed.worst == Likeness::kNotComparable) {
    not_comparable_[std::string(text)].push_back(call);
  }
}

std::string ReplayTally::text() const {
  const auto count = [&](Likeness likeness) { return leaves_[std::to_underlying(likeness)]; };
  std::size_t lost = 0;
  for (const auto& [reason, calls] : not_run_) lost += calls.size();
  std::string out = fmt::format("{}: {} calls, {} did not run", of_, calls_, lost);
  if (ran_ > 0) {
    out += fmt::format(", {} ran\n", ran_);
  } else {
    out += fmt::format("; {} equal, {} within 2 ulp, {} beyond, {} not comparable\n",
                       count(Likeness::kEqual), count(Likeness::kClose), count(Likeness::kBeyond),
                       count(Likeness::kNotComparable));
  }
  for (const std::string& line : beyond_) out += fmt::format("  beyond: {}\n", line);
  append_reasons(out, "not comparable", not_comparable_);
  append_reasons(out, "did not run", not_run_);
  return out;
}

}  // namespace msprobe::worker
