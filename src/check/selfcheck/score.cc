// SPDX-License-Identifier: Apache-2.0
#include "selfcheck/score.h"

#include <algorithm>

#include <fmt/format.h>

namespace msprobe::selfcheck {
namespace {

using sim::CauseClass;

// Below it a region or a ratio says too little.
constexpr std::int64_t kGradedElements = 256;

struct ClassRow {
  std::string_view begins;
  CauseClass cause;
};
constexpr ClassRow kClasses[] = {
    {"NaN or Inf", CauseClass::kSpecialValues},
    {"flushed subnormals", CauseClass::kSpecialValues},
    {"saturation", CauseClass::kSpecialValues},
    {"wrong scale", CauseClass::kScale},
    {"wrong offset", CauseClass::kScale},
    {"the scale", CauseClass::kScale},
    {"scales ", CauseClass::kScale},
    {"swizzled scales", CauseClass::kScale},
    {"the exponent of the scale", CauseClass::kScale},
    {"the reciprocal of the scale", CauseClass::kScale},
    {"half of every number", CauseClass::kScale},
    {"twice every number", CauseClass::kScale},
    {"the padding", CauseClass::kScale},
    {"the halves of packed bytes", CauseClass::kData},
    {"sums of ", CauseClass::kAccumulation},
    {"infinity or NaN in place", CauseClass::kSpecialValues},
    {"TF32 inputs", CauseClass::kRounding},
    {"HF32 inputs", CauseClass::kRounding},
    {"bfloat16 inputs", CauseClass::kRounding},
    {"coarse rounding", CauseClass::kRounding},
    {"low-precision accumulation", CauseClass::kAccumulation},
    {"swapped outputs", CauseClass::kData},
    {"lost", CauseClass::kData},
    {"shifted", CauseClass::kData},
    {"transposed", CauseClass::kData},
    {"reversed", CauseClass::kData},
    {"wrong mask", CauseClass::kData},
    {"unrelated data", CauseClass::kData},
    {"one bad element", CauseClass::kData},
    {"bad ", CauseClass::kData},
    {"wrong shape", CauseClass::kKind},
    {"wrong dtype", CauseClass::kKind},
    {"missing output", CauseClass::kKind},
    {"gradient only", CauseClass::kGradientOnly},
};

std::string row_name(const Pass& pass, std::string_view leaf) {
  return fmt::format("{}.{}.output.{}", pass.call, pass.backward ? "backward" : "forward", leaf);
}

// The leaves of a pass that are not what the exact device gave.
std::set<std::string> changed_leaves(const Pass& pass, const Evidence& evidence,
                                     const Evidence& exact) {
  std::set<std::string> changed;
  const auto right = exact.log.results.find(pass);
  const auto given = evidence.log.results.find(pass);
  if (right == exact.log.results.end()) return changed;
  for (const auto& [leaf, digest] : right->second) {
    const bool missing = given == evidence.log.results.end() || !given->second.contains(leaf);
    if (missing || given->second.at(leaf) != digest) changed.insert(leaf);
  }
  return changed;
}

class Scoring {
 public:
  Scoring(const Scenario& scenario, const Evidence& evidence, const Evidence& exact)
      : evidence_(evidence), exact_(exact) {
    score_.scenario = scenario;
  }

  Score run() {
    for (const auto& [pass, digests] : exact_.log.results) add_pass(pass);
    for (const auto& [pass, fault] : evidence_.log.faults) add_lost(pass);
    return std::move(score_);
  }

 private:
  void add_pass(const Pass& pass) {
    const auto said = evidence_.details.find(pass);
    const bool lost = score_.scenario.cause == CauseClass::kLostCall;
    if (lost || said == evidence_.details.end()) return;
    const std::set<std::string> changed = changed_leaves(pass, evidence_, exact_);
    add_unchanged(pass, said->second, changed);
    if (changed.empty()) return;
    if (score_.scenario.rounded_once && !is_rounded_once(pass, changed)) return;
    if (score_.scenario.may_hide && is_hidden(said->second, changed)) return;
    ++score_.injections;
    const auto verdict = evidence_.compared.find(pass);
    if (verdict != evidence_.compared.end() && is_alarm(verdict->second)) ++score_.compared;
    bool documented = false;
    const Said* alarmed = nullptr;
    const Said* silent = nullptr;
    for (const Said& row : said->second) {
      if (!changed.contains(row.leaf)) continue;
      documented = documented || is_alarm(row.documented);
      if (is_alarm(row.strict) && alarmed == nullptr) alarmed = &row;
      if (!is_alarm(row.strict) && silent == nullptr) silent = &row;
    }
    if (documented) ++score_.documented;
    if (alarmed != nullptr) {
      ++score_.strict;
      grade(pass, *alarmed);
    } else {
      score_.escapes.push_back({row_name(pass, silent == nullptr ? "?" : silent->leaf),
                                silent == nullptr ? "no row" : silent->strict_reason});
    }
  }

  // Whether the exact device is within one unit of the benchmark in all that was changed.
  bool is_rounded_once(const Pass& pass, const std::set<std::string>& changed) const {
    const auto said = exact_.details.find(pass);
    return said != exact_.details.end() && std::ranges::all_of(said->second, [&](const Said& row) {
             return !changed.contains(row.leaf) || (row.units && *row.units <= 1);
           });
  }

  static bool is_hidden(const std::vector<Said>& said, const std::set<std::string>& changed) {
    return std::ranges::all_of(said, [&](const Said& row) {
      const bool half = row.dtype.ends_with("float16");  // and bfloat16
      return !changed.contains(row.leaf) || (half && row.units && *row.units <= 1);
    });
  }

  // What is as on the exact device must raise no alarm. Where nothing that was changed is an error,
  // that holds for all of it.
  void add_unchanged(const Pass& pass, const std::vector<Said>& said,
                     const std::set<std::string>& changed) {
    for (const Said& row : said) {
      if (changed.contains(row.leaf) && score_.scenario.promise != Promise::kSilence) continue;
      if (!row.strict || row.strict == Verdict::kSkip) continue;
      // Factors are judged by their product: where one is wrong, so is that.
      if (!changed.empty() && row.strict_reason.starts_with("not unique")) continue;
      ++score_.rows;
      if (is_alarm(row.documented)) ++score_.documented_alarms;
      if (!is_alarm(row.strict)) continue;
      ++score_.alarms;
      score_.false_alarms.push_back({row_name(pass, row.leaf), row.strict_reason});
    }
  }

  void grade(const Pass& pass, const Said& row) {
    if (row.elements < kGradedElements || !score_.scenario.cause) return;
    ++score_.graded;
    const CauseClass wanted = *score_.scenario.cause;
    const bool also =
        wanted == CauseClass::kGradientOnly && row.cause.find("gradient only") != std::string::npos;
    std::string found = also ? std::string(name(wanted)) : class_of(row.cause);
    if (names_other_sums(row.cause, score_.scenario.sums_in)) found += ", wrong type";
    ++score_.named[found];
    if (found == name(wanted)) {
      ++score_.right;
    } else {
      score_.misnamed.push_back(
          {row_name(pass, row.leaf), fmt::format("'{}' ({})", row.cause, row.strict_reason)});
    }
  }

  // Faults that leave no result are caught when the check says that the call was lost.
  void add_lost(const Pass& pass) {
    if (score_.scenario.cause != CauseClass::kLostCall) return;
    ++score_.injections;
    if (!evidence_.lost.contains(pass.call)) {
      score_.escapes.push_back({pass.call, "not reported as lost"});
      return;
    }
    ++score_.documented;
    ++score_.compared;
    ++score_.strict;
  }

  const Evidence& evidence_;
  const Evidence& exact_;
  Score score_;
};

double share(std::size_t part, std::size_t whole) {
  return whole == 0 ? 1 : static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

double Score::strict_share() const { return share(strict, injections); }
double Score::right_share() const { return share(right, graded); }

bool Score::as_promised() const {
  if (alarms > 0) return false;
  if (scenario.promise != Promise::kAlarm) return true;
  return injections > 0 && strict_share() >= scenario.least_share;
}

std::string class_of(std::string_view cause) {
  for (const ClassRow& row : kClasses) {
    if (cause.starts_with(row.begins)) return std::string(name(row.cause));
  }
  return cause.empty() ? "none" : "other";
}

bool names_other_sums(std::string_view cause, std::string_view wanted) {
  constexpr std::string_view kSums = "sums kept in torch.";
  const std::size_t place = cause.find(kSums);
  if (wanted.empty() || place == std::string_view::npos) return false;
  const std::string_view named =
      cause.substr(place + kSums.size() - std::string_view("torch.").size());
  return named.substr(0, named.find(' ')) != wanted;
}

Score score(const Scenario& scenario, const Evidence& evidence, const Evidence& exact) {
  return Scoring(scenario, evidence, exact).run();
}

}  // namespace msprobe::selfcheck
