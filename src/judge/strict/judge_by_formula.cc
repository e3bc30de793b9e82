// SPDX-License-Identifier: Apache-2.0
#include "strict/judge_by_formula.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include <fmt/format.h>

#include "execute/caught.h"
#include "libtorch/dtypes.h"
#include "strict/error_map.h"
#include "strict/wording.h"

namespace msprobe::strict {
namespace {

using execute::LeafPair;
using execute::npu::FormulaResult;
using execute::npu::FormulaRow;
using execute::npu::Packing;
using execute::npu::unpacked;

// The numbers of a result as the formula gives them.
struct FormulaNumbers {
  at::Tensor device, right, lowest, highest;
};

// Scales of eight bits may be recorded as bytes or as a dtype of their own.
at::Tensor comparable(const at::Tensor& device, const at::Tensor& value) {
  const bool bytes = value.scalar_type() == at::kByte && device.scalar_type() != at::kByte;
  return bytes && device.element_size() == 1 ? device.contiguous().view(at::kByte) : device;
}

FormulaNumbers formula_numbers(const FormulaResult& result, const at::Tensor& device) {
  FormulaNumbers numbers;
  numbers.device = unpacked(comparable(device, result.value), result.packing);
  numbers.right = unpacked(result.value, result.packing);
  numbers.lowest = result.lowest.defined() ? result.lowest : numbers.right;
  numbers.highest = result.highest.defined() ? result.highest : numbers.right;
  return numbers;
}

// True where a right device may not be. Where the formula itself has no number all may be.
at::Tensor outside(const FormulaNumbers& numbers) {
  const at::Tensor known = numbers.lowest.isnan().logical_or(numbers.highest.isnan()).logical_not();
  const at::Tensor inside =
      numbers.device.ge(numbers.lowest).logical_and(numbers.device.le(numbers.highest));
  return known.logical_and(inside.logical_not());
}

// The error in units of what is allowed; infinite where nothing is.
at::Tensor over_allowed(const FormulaNumbers& numbers) {
  const at::Tensor error = (numbers.device - numbers.right).abs();
  const at::Tensor up = numbers.device.gt(numbers.right);
  const at::Tensor room =
      at::where(up, numbers.highest - numbers.right, numbers.right - numbers.lowest);
  const at::Tensor over =
      (error / room)
          .nan_to_num(0, std::numeric_limits<double>::max(), std::numeric_limits<double>::max());
  const at::Tensor beyond = outside(numbers);
  return at::where(beyond, over.clamp_min(1.001), over.clamp_max(1.0));
}

// Faults that users know: rows that nobody computed, rows in another place.
std::string cause_of(const FormulaNumbers& numbers, const at::Tensor& wrong) {
  if (wrong.dim() < 2 || wrong.numel() == 0) return "";
  const at::Tensor rows = wrong.flatten(1).any(1);
  const std::int64_t count = rows.size(0);
  const std::int64_t bad = rows.sum().item<std::int64_t>();
  if (bad == count) return "all rows are wrong";
  const at::Tensor last = rows.narrow(0, count - bad, bad);
  if (last.all().item<bool>()) return fmt::format("the last {} of {} rows are wrong", bad, count);
  if (bad == 2) {
    const at::Tensor which = rows.nonzero().squeeze(1);
    const at::Tensor right = numbers.right.index_select(0, which);
    const at::Tensor device = numbers.device.index_select(0, which);
    if (at::allclose(device[0], right[1], 0.05) && at::allclose(device[1], right[0], 0.05)) {
      return "two rows are exchanged";
    }
  }
  return fmt::format("{} of {} rows are wrong", bad, count);
}

StrictFinding formula_failed(const FormulaNumbers& numbers, const at::Tensor& wrong,
                             std::string reason) {
  const at::Tensor over = over_allowed(numbers).contiguous();
  const at::Tensor device = numbers.device.contiguous();
  const at::Tensor right = numbers.right.contiguous();
  const auto worst = over.flatten().argmax().item<std::int64_t>();
  const auto at_worst = [&](const at::Tensor& all) {
    return number_text(all.expand_as(device).contiguous().flatten()[worst].item<double>());
  };
  StrictFinding finding = strict::wrong(
      fmt::format("{} of {} elements are not what the operator gives, worst at {}: "
                  "device {}, right {}, allowed {} to {}{}",
                  wrong.sum().item<std::int64_t>(), wrong.numel(),
                  place_text(device.sizes(), worst), at_worst(device), at_worst(right),
                  at_worst(numbers.lowest), at_worst(numbers.highest), reason),
      cause_of(numbers, wrong));
  finding.map = error_map(device, right, over);
  const double most = over.flatten()[worst].item<double>();
  finding.error_over_bound =
      most < 1e300 ? three_digits(most) : std::numeric_limits<double>::infinity();
  return finding;
}

std::optional<std::size_t> number_in(std::string_view text) {
  std::size_t number = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (fault != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// The parameter that "2" or "kwargs.out" names.
std::string parameter_at(const FormulaRow& row, std::string_view place) {
  constexpr std::string_view kKeyword = "kwargs.";
  if (place.starts_with(kKeyword)) return std::string(place.substr(kKeyword.size()));
  const auto index = number_in(place);
  const execute::Signature signature(row.signature);
  if (!index || *index >= signature.parameters().size()) return "";
  return signature.parameters()[*index].name;
}

}  // namespace

FormulaJudge::FormulaJudge(CallContext& context)
    : context_(context), row_(execute::npu::find_formula(api_of(context.record.full_name))) {
  if (row_ == nullptr) return;
  results_.resize(std::max<std::size_t>(row_->readings.size(), 1));
  for (const LeafPair& leaf : context.outcome.forward) {
    const auto* tensor = leaf.device.as<at::Tensor>();
    device_.push_back(tensor == nullptr ? at::Tensor() : libtorch::plain(*tensor));
  }
}

bool FormulaJudge::says(bool (*about)(const execute::Bound&)) const {
  const auto call = context_.rerun.arguments();
  if (!call) return false;
  const auto found = execute::caught(SkipReason::kBenchFailed, [&] {
    const execute::Signature signature(row_->signature);
    return about(execute::Bound(signature, **call));
  });
  return found && *found;
}

bool FormulaJudge::applies() {
  if (applies_) return *applies_;
  applies_ = row_ != nullptr && context_.rerun.arguments() &&
             (row_->applies == nullptr || says(row_->applies));
  return *applies_;
}

std::size_t FormulaJudge::readings() {
  if (count_) return *count_;
  count_ = row_->readings.size();
  if (row_->is_open != nullptr && !says(row_->is_open)) count_ = 0;
  return *count_;
}

const FormulaJudge::Results& FormulaJudge::results(std::size_t reading) {
  if (results_[reading]) return *results_[reading];
  results_[reading].emplace();
  const auto call = context_.rerun.arguments();
  auto found = execute::caught(SkipReason::kBenchFailed, [&] {
    return execute::npu::expected_results(*row_, **call,
                                          {.bounds = true, .reading = reading, .device = &device_});
  });
  if (found) *results_[reading] = *std::move(found);
  return *results_[reading];
}

const FormulaResult* FormulaJudge::result_of(std::size_t reading, const LeafPair& leaf) {
  const Results& all = results(reading);
  if (!all) return nullptr;
  const auto index = number_in(leaf.path);
  if (!index) return nullptr;
  const std::size_t returned = row_->nothing ? 1 : row_->single ? 1 : all->size();
  if (*index < returned) return row_->nothing ? nullptr : &(*all)[*index];
  const dump::Dict& mutated = context_.record.forward.mutated;
  if (*index - returned >= mutated.size()) return nullptr;
  const std::string name = parameter_at(*row_, mutated[*index - returned].first);
  const auto found = std::ranges::find(*all, name, &FormulaResult::argument);
  return found == all->end() || name.empty() ? nullptr : &*found;
}

bool FormulaJudge::fits(std::size_t reading) {
  return std::ranges::all_of(context_.outcome.forward, [&](const LeafPair& leaf) {
    const FormulaResult* result = result_of(reading, leaf);
    const auto* device = leaf.device.as<at::Tensor>();
    if (result == nullptr || device == nullptr || !result->value.defined()) return true;
    if (device->sizes() != result->value.sizes()) return true;
    return !outside(formula_numbers(*result, libtorch::plain(*device))).any().item<bool>();
  });
}

std::size_t FormulaJudge::reading() {
  if (reading_) return *reading_;
  reading_ = 0;
  if (readings() < 2) return *reading_;
  for (std::size_t i = 0; i < readings(); ++i) {
    if (fits(i)) return *(reading_ = i);
  }
  return *reading_;
}

bool FormulaJudge::is_only(std::size_t reading) {
  if (only_) return *only_;
  only_ = fits(reading);
  for (std::size_t i = 0; i < readings() && *only_; ++i) {
    if (i != reading && fits(i)) only_ = false;
  }
  return *only_;
}

std::string FormulaJudge::how(std::size_t reading) {
  if (readings() < 2 || !is_only(reading)) return "";
  return fmt::format(" (the device {})", row_->readings[reading]);
}

std::optional<StrictFinding> FormulaJudge::judge(const Pair& pair) {
  if (pair.direction != Direction::kForward || !applies()) return std::nullopt;
  const auto found =
      execute::caught(SkipReason::kBenchFailed, [&]() -> std::optional<StrictFinding> {
        const std::size_t chosen = reading();
        const FormulaResult* result = result_of(chosen, pair.leaf);
        if (result == nullptr || !result->value.defined() ||
            result->value.sizes() != pair.device.sizes()) {
          return std::nullopt;
        }
        const FormulaNumbers numbers = formula_numbers(*result, pair.device);
        const at::Tensor wrong = outside(numbers);
        if (wrong.any().item<bool>()) return formula_failed(numbers, wrong, "");
        const std::string said = how(chosen);
        if (!numbers.device.ne(numbers.right).any().item<bool>()) return equal("equal" + said);
        StrictFinding finding = passed("within what the operator may give" + said);
        finding.error_over_bound = three_digits(over_allowed(numbers).max().item<double>());
        return finding;
      });
  return found ? *found : std::nullopt;
}

}  // namespace msprobe::strict
