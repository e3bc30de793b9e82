// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "divergence/recorded_run.h"
#include "dump_compare/item_row.h"

namespace msprobe::dump_compare {
namespace {

using Kind = Difference::Kind;

// Calls whose results are not computed from their inputs.
// MindSpore's astype is PyTorch's to.
constexpr std::array<std::string_view, 10> kUnjudged{
    "empty",     "empty_like",        "numpy",         "to",    "__setitem__", "empty_with_format",
    "new_empty", "new_empty_strided", "empty_strided", "astype"};
// Calls that fill a buffer given as input: only what they return can be judged.
constexpr std::array<std::string_view, 4> kOutputsOnly{"_reduce_scatter_base", "_all_gather_base",
                                                       "all_to_all_single", "batch_isend_irecv"};

// Limits of the public comparison.
constexpr double kSmallInputError = 0.1;   // of norms: what counts as an input in order
constexpr double kLargeOutputError = 0.5;  // of norms
constexpr double kVisibleError = 0.1;      // of norms, from equal inputs
constexpr double kErrorGrowth = 10;
constexpr double kGoodShare = 0.9;  // of elements within a thousandth, and of cosines
constexpr double kPoorShare = 0.1;
constexpr double kPromisedShare = 0.6;  // what the public tool says instead of 0.1
constexpr double kCosineDrop = 0.1;

std::string_view api_word(std::string_view entry) {
  const std::size_t first = entry.find('.');
  if (first == std::string_view::npos) return {};
  const std::size_t second = entry.find('.', first + 1);
  return entry.substr(first + 1, second - first - 1);
}

void worsen(ItemRow& row, Outcome outcome, std::string message) {
  row.outcome = std::max(row.outcome, outcome);
  row.messages.push_back(fmt::format("{}: {}", name(outcome), message));
}

void note(ItemRow& row, std::string message) {
  row.messages.push_back("note: " + std::move(message));
}

// Rows that take part in the rules.
bool judged(const ItemRow& row) {
  return row.is_matched() && row.outcome != Outcome::kUnmatched && row.outcome != Outcome::kSkipped;
}

ItemRow* first_output(std::span<ItemRow> rows) {
  const auto found =
      std::ranges::find_if(rows, [](const ItemRow& row) { return judged(row) && row.is_output(); });
  return found == rows.end() ? nullptr : &*found;
}

// NaN or an infinity on one side, or infinities of other signs.
void judge_classes(ItemRow& row) {
  constexpr std::array<std::string_view, kStatisticCount> kNames{"max", "min", "mean", "norm"};
  std::string found;
  for (std::size_t i = 0; i < kStatisticCount; ++i) {
    const Difference& difference = row.differences[i];
    if (difference.kind != Kind::kNan && difference.kind != Kind::kInfinite) continue;
    const auto statistic = static_cast<ItemStatistic>(i);
    std::string target;
    std::string golden;
    append_cell(target, statistic_of(row.target, statistic));
    append_cell(golden, statistic_of(row.golden, statistic));
    if (!found.empty()) found += ", ";
    found +=
        fmt::format("{} {} against {}", kNames[i], target.substr(target.find_first_not_of(' ')),
                    golden.substr(golden.find_first_not_of(' ')));
  }
  if (!found.empty()) worsen(row, Outcome::kError, "NaN or infinity on one side: " + found);
}

// What is wrong with a row by itself.
void judge_alone(ItemRow& row, bool compares_values) {
  judge_classes(row);
  if (!lacks_requires_grad(row) &&
      requires_grad_text(row.target) != requires_grad_text(row.golden)) {
    worsen(row, Outcome::kError,
           fmt::format("requires_grad {} against {}", requires_grad_text(row.target),
                       requires_grad_text(row.golden)));
  }
  if (compares_values && !row.is_output() && is_scalar(*row.target) && is_scalar(*row.golden) &&
      row.difference(ItemStatistic::kMax).kind != Kind::kNone &&
      row.difference(ItemStatistic::kMax).kind != Kind::kMissing) {
    std::string target;
    std::string golden;
    append_cell(target, statistic_of(row.target, ItemStatistic::kMax));
    append_cell(golden, statistic_of(row.golden, ItemStatistic::kMax));
    worsen(row, Outcome::kError, fmt::format("argument {} against {}", target, golden));
  }
  if (!same_dtype(*row.target, *row.golden, row.across)) {
    worsen(row, Outcome::kError,
           fmt::format("dtype {} against {}", dtype_text(*row.target), dtype_text(*row.golden)));
  }
  const std::string target_shape = shape_text(*row.target);
  const std::string golden_shape = shape_text(*row.golden);
  if (target_shape != golden_shape) {
    worsen(row, Outcome::kError, fmt::format("shape {} against {}", target_shape, golden_shape));
  }
}

// ", that of the inputs by 0 %"; a saved value has no inputs.
std::string beside_inputs(const ItemRow& row, double input) {
  if (row.target_entry->parts.kind == dump::EntryKind::kDebug) return {};
  return fmt::format(", that of the inputs by {:.6g} %", 100 * input);
}

void judge_norms(std::span<ItemRow> rows) {
  double input = 0;
  double output = 0;
  const ItemRow* worst = nullptr;
  for (const ItemRow& row : rows) {
    if (!judged(row)) continue;
    const double error = row.difference(ItemStatistic::kNorm).relative_or_none();
    if (!row.is_output()) {
      if (std::isfinite(error)) input = std::max(input, error);
    } else if (error > output) {
      output = error;
      worst = &row;
    }
  }
  for (ItemRow& row : rows) {
    if (!judged(row) || !row.is_output() || input >= kSmallInputError) continue;
    const double error = row.difference(ItemStatistic::kNorm).relative_or_none();
    if (error > kLargeOutputError) {
      worsen(row, Outcome::kError,
             fmt::format("the norm differs by {:.6g} %{}", 100 * error, beside_inputs(row, input)));
    }
  }
  ItemRow* const first = first_output(rows);
  const bool grows = input == 0 ? output > kVisibleError : output / input > kErrorGrowth;
  if (first != nullptr && grows) {
    worsen(*first, Outcome::kWarning,
           fmt::format("the norm of {} differs by {:.6g} %{}",
                       worst->target->place.empty() ? "the value" : worst->target->place,
                       100 * output, beside_inputs(*first, input)));
  }
}

bool has_all_numbers(const ItemRow& row) {
  return judged(row) && row.real.state == RealNumbers::State::kAll;
}

// The smallest value of a metric over inputs or outputs; 1 if there is none.
struct Smallest {
  double value = 1;
  const ItemRow* row = nullptr;
};
Smallest smallest(std::span<const ItemRow> rows, bool of_outputs, double RealNumbers::* metric) {
  Smallest found;
  for (const ItemRow& row : rows) {
    if (!has_all_numbers(row) || row.is_output() != of_outputs) continue;
    const double value = row.real.*metric;
    if (std::isnan(value) || (found.row != nullptr && value >= found.value)) continue;
    if (found.row == nullptr || value < found.value) found = {value, &row};
  }
  return found;
}

void judge_shares(std::span<ItemRow> rows) {
  ItemRow* const first = first_output(rows);
  if (first == nullptr) return;
  const double input = smallest(rows, false, &RealNumbers::within_1000).value;
  const Smallest output = smallest(rows, true, &RealNumbers::within_1000);
  if (input > kGoodShare && output.value < kPromisedShare) {
    const std::string text =
        fmt::format("{:.4g} % of {} are within a thousandth, of the inputs {:.4g} %",
                    100 * output.value, output.row->target->place, 100 * input);
    if (output.value < kPoorShare) {
      worsen(*first, Outcome::kError, text);
    } else {
      note(*first, text);
    }
  }
}

void judge_cosines(std::span<ItemRow> rows) {
  ItemRow* const first = first_output(rows);
  if (first == nullptr) return;
  const double input = smallest(rows, false, &RealNumbers::cosine).value;
  const Smallest output = smallest(rows, true, &RealNumbers::cosine);
  if (input > kGoodShare && input - output.value > kCosineDrop) {
    worsen(*first, Outcome::kWarning,
           fmt::format("the cosine falls from {:.6g} of the inputs to {:.6g} of {}", input,
                       output.value, output.row->target->place));
  }
}

// MindSpore's checksum of a type that numpy lacks is that of the values as float32.
bool has_other_checksum(const ItemRow& row) {
  return row.across && row.target->kind == dump::ItemKind::kTensor &&
         divergence::is_unknown_to_numpy(row.target->dtype);
}

void judge_checksums(std::span<ItemRow> rows, bool outputs_only) {
  for (ItemRow& row : rows) {
    if (!judged(row) || (outputs_only && !row.is_output())) continue;
    if (row.across && same_dtype_argument(*row.target, *row.golden)) continue;
    if (has_other_checksum(row)) {
      worsen(row, Outcome::kWarning,
             fmt::format("not compared: MindSpore takes the checksum of {} as Float32",
                         dtype_text(*row.target)));
      continue;
    }
    const std::string target = md5_text(row.target);
    const std::string golden = md5_text(row.golden);
    if (target == golden) continue;
    if (target == kNotKnown || golden == kNotKnown) {
      worsen(row, Outcome::kWarning, "a checksum on one side only");
    } else {
      worsen(row, Outcome::kError, fmt::format("checksum {} against {}", target, golden));
    }
  }
}

void judge_real(ItemRow& row) {
  if (row.real.state == RealNumbers::State::kClasses) {
    worsen(row, Outcome::kError, "NaN or infinities are not at the same places");
  }
  // Other shapes on record are an error of their own.
  if (row.real.state == RealNumbers::State::kShapes && row.target->shape == row.golden->shape) {
    worsen(row, Outcome::kError,
           "the tensor files have different shapes, although the recorded shapes are equal");
  }
}

}  // namespace

void judge(std::span<ItemRow> rows, DataMode mode) {
  if (rows.empty() || rows.front().target_entry == nullptr) return;
  const dump::Entry& entry = *rows.front().target_entry;
  const std::string_view word = entry.parts.is_module ? std::string_view() : api_word(entry.name);
  if (std::ranges::find(kUnjudged, word) != kUnjudged.end()) return;
  const bool outputs_only = std::ranges::find(kOutputsOnly, word) != kOutputsOnly.end();
  if (mode == DataMode::kMd5) return judge_checksums(rows, outputs_only);
  if (mode == DataMode::kStatistics && !outputs_only) judge_norms(rows);
  if (mode == DataMode::kReal && !outputs_only) judge_shares(rows);
  for (ItemRow& row : rows) {
    if (!judged(row) || (outputs_only && !row.is_output())) continue;
    judge_alone(row, !outputs_only);
    if (mode == DataMode::kReal) judge_real(row);
  }
  if (mode == DataMode::kReal && !outputs_only) judge_cosines(rows);
}

}  // namespace msprobe::dump_compare
