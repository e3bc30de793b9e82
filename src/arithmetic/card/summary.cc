// SPDX-License-Identifier: Apache-2.0
#include "card/summary.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace msprobe::card {
namespace {

// An error that a careful kernel of a half type stays below: its result rounded once, from float32.
constexpr double kManyUlp = 4;
constexpr std::size_t kMostNamed = 5;

std::vector<std::string> subjects_of(const Card& card, std::string_view section) {
  std::vector<std::string> found;
  for (const Line& line : card.lines) {
    if (line.section != section) continue;
    if (std::ranges::find(found, line.subject) == found.end()) found.push_back(line.subject);
  }
  return found;
}

std::string_view value_of(const Card& card, std::string_view section, std::string_view subject,
                          std::string_view field) {
  const Line* line = find(card, section, subject, field);
  return line == nullptr ? std::string_view() : line->value;
}

// "float32 products are added up in float32; float16 ..." with equal answers joined.
std::optional<std::string> about_products(const Card& card) {
  struct Answer {
    std::string text;
    std::vector<std::string> dtypes;
  };
  std::vector<Answer> answers;
  for (const std::string& dtype : subjects_of(card, "products")) {
    const std::string_view sums = value_of(card, "products", dtype, "accumulator");
    const std::string_view inputs = value_of(card, "products", dtype, "input rounding");
    std::string text =
        sums.empty() ? "in a way that could not be found" : fmt::format("in {}", sums);
    if (!inputs.empty() && inputs != "as_they_are") {
      text += fmt::format(" after their inputs are rounded to {}", inputs);
    }
    if (value_of(card, "products", dtype, "depends on run") == "yes") {
      text += ", in an order that changes from run to run";
    }
    const auto same = std::ranges::find(answers, text, &Answer::text);
    if (same == answers.end()) {
      answers.push_back({text, {dtype}});
    } else {
      same->dtypes.push_back(dtype);
    }
  }
  if (answers.empty()) return std::nullopt;
  std::vector<std::string> parts;
  for (const Answer& answer : answers) {
    parts.push_back(fmt::format("{}: {}", fmt::join(answer.dtypes, ", "), answer.text));
  }
  return fmt::format("Matrix products are added up as follows. {}.", fmt::join(parts, "; "));
}

// A cast to a number with a fraction rounds to nearest with ties to even and keeps subnormals.
std::optional<std::string> about_casts(const Card& card) {
  const std::vector<std::string> casts = subjects_of(card, "casts");
  if (casts.empty()) return std::nullopt;
  std::vector<std::string> odd;
  for (const std::string& cast : casts) {
    const bool to_integer = cast.find(" to int") != cast.npos || cast.find(" to uint") != cast.npos;
    const std::string_view rounding = value_of(card, "casts", cast, "rounding");
    if (!to_integer && !rounding.empty() && rounding.find("to nearest, ties to even") != 0) {
      odd.push_back(fmt::format("{} rounds {}", cast, rounding));
    }
    for (const std::string_view field : {"subnormal results", "subnormals", "subnormal inputs"}) {
      const std::string_view kept = value_of(card, "casts", cast, field);
      if (!kept.empty() && kept != "kept")
        odd.push_back(fmt::format("{}: {} {}", cast, field, kept));
    }
  }
  if (odd.empty()) return "Casts round to nearest, with ties to even, and keep subnormal numbers.";
  if (odd.size() > kMostNamed) {
    odd[kMostNamed] = fmt::format("and {} more", odd.size() - kMostNamed);
    odd.resize(kMostNamed + 1);
  }
  return fmt::format("Look at the casts: {}.", fmt::join(odd, "; "));
}

// "16.5 ulp"
double ulp_of(std::string_view text) {
  double ulp = 0;
  (void)std::from_chars(text.data(), text.data() + text.size(), ulp);
  return ulp;
}

std::optional<std::string> about_functions(const Card& card) {
  struct Off {
    std::string text;
    double ulp;
  };
  const std::vector<std::string> functions = subjects_of(card, "functions");
  if (functions.empty()) return std::nullopt;
  std::vector<Off> off;
  for (const std::string& function : functions) {
    const std::string_view error = value_of(card, "functions", function, "largest error");
    const bool special = value_of(card, "functions", function, "infinities and NaN") == "wrong";
    const double ulp = ulp_of(error);
    if (ulp <= kManyUlp && !special) continue;
    off.push_back(
        {fmt::format("{} ({}{})", function, error, special ? ", wrong at infinity or NaN" : ""),
         ulp});
  }
  if (off.empty()) {
    return fmt::format("All {} functions are within {} ulp of the exact value.", functions.size(),
                       kManyUlp);
  }
  std::ranges::stable_sort(off, std::ranges::greater{}, &Off::ulp);
  std::vector<std::string> worst;
  for (std::size_t i = 0; i < std::min(off.size(), kMostNamed); ++i) worst.push_back(off[i].text);
  if (off.size() > worst.size()) {
    worst.push_back(fmt::format("and {} more", off.size() - worst.size()));
  }
  return fmt::format(
      "Look at {} of {} functions, which are off by more than {} ulp or wrong at "
      "infinity or NaN: {}.",
      off.size(), functions.size(), kManyUlp, fmt::join(worst, ", "));
}

}  // namespace

std::vector<std::string> summary(const Card& card) {
  std::vector<std::string> sentences;
  for (const auto& about : {about_products, about_casts, about_functions}) {
    if (std::optional<std::string> sentence = about(card)) {
      sentences.push_back(*std::move(sentence));
    }
  }
  return sentences;
}

}  // namespace msprobe::card
