// SPDX-License-Identifier: Apache-2.0
#include "divergence/candidates.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <tuple>
#include <utility>

#include "divergence/difference.h"

namespace msprobe::divergence {

NumberIndex::NumberIndex(std::vector<Row> rows) {
  std::ranges::sort(rows, {},
                    [](const Row& row) { return std::tuple(row.key, row.number, row.call); });
  numbers_.reserve(rows.size());
  calls_.reserve(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    numbers_.push_back(rows[i].number);
    calls_.push_back(rows[i].call);
    if (i == 0 || rows[i].key != rows[i - 1].key) ranges_[rows[i].key].begin = i;
    if (i + 1 == rows.size() || rows[i].key != rows[i + 1].key) ranges_[rows[i].key].end = i + 1;
  }
}

NumberIndex::Range NumberIndex::range_of(std::uint64_t key) const {
  const auto found = ranges_.find(key);
  return found == ranges_.end() ? Range() : found->second;
}

void NumberIndex::near(std::uint64_t key, double number, double reach, std::size_t most,
                       std::vector<std::uint32_t>& out) const {
  out.clear();
  const Range range = range_of(key);
  const double* const begin = numbers_.data() + range.begin;
  const double* const end = numbers_.data() + range.end;
  const double* right = std::lower_bound(begin, end, number);
  const double* left = right;
  while (out.size() < most) {
    const bool has_left = left != begin && left[-1] >= number - reach;
    const bool has_right = right != end && *right <= number + reach;
    if (!has_left && !has_right) return;
    const bool take_left = !has_right || (has_left && number - left[-1] <= *right - number);
    const double* const taken = take_left ? --left : right++;
    out.push_back(calls_[static_cast<std::size_t>(taken - numbers_.data())]);
  }
}

void NumberIndex::from(std::uint64_t key, std::uint32_t first, std::size_t most,
                       std::vector<std::uint32_t>& out) const {
  const Range range = range_of(key);
  const auto begin = numbers_.begin() + static_cast<std::ptrdiff_t>(range.begin);
  const auto end = numbers_.begin() + static_cast<std::ptrdiff_t>(range.end);
  const auto at = std::lower_bound(begin, end, static_cast<double>(first)) - numbers_.begin();
  const std::size_t count = std::min(most, range.end - static_cast<std::size_t>(at));
  out.assign(calls_.begin() + at, calls_.begin() + at + static_cast<std::ptrdiff_t>(count));
}

CallShape shape_of(const Trace& run, const Call& call) {
  const std::uint64_t inputs = form_of(run.inputs(call));
  const std::uint64_t outputs = form_of(run.outputs(call));
  const auto direction = static_cast<std::uint64_t>(call.direction);
  return {.whole = mix(mix(direction, inputs), outputs),
          .outputs = mix(direction + 7, outputs),
          .named = mix(mix(direction + 11, call.name), inputs),
          .named_whole = mix(mix(mix(direction + 13, call.name), inputs), outputs)};
}

double values_number(double inputs, double outputs) {
  return inputs + 1.2360679774997898 * outputs;
}

CallIndex::CallIndex(const Trace& run, bool exact) {
  using Rows = std::vector<NumberIndex::Row>;
  Rows values, inputs, names, outputs, places;
  for (Rows* const rows : {&values, &inputs, &names, &outputs, &places}) {
    rows->reserve(run.calls.size());
  }
  shapes.reserve(run.calls.size());
  for (std::size_t i = 0; i < run.calls.size(); ++i) {
    const Call& call = run.calls[i];
    const auto number = static_cast<std::uint32_t>(i);
    const CallShape& shape = shapes.emplace_back(shape_of(run, call));
    const double of_inputs = fingerprint(run.inputs(call), exact);
    const double of_outputs = fingerprint(run.outputs(call), exact);
    values.push_back({shape.whole, values_number(of_inputs, of_outputs), number});
    inputs.push_back({shape.whole, of_inputs, number});
    names.push_back({shape.named, of_inputs, number});
    outputs.push_back({shape.outputs, of_outputs, number});
    places.push_back({shape.named_whole, static_cast<double>(i), number});
  }
  by_values = NumberIndex(std::move(values));
  by_inputs = NumberIndex(std::move(inputs));
  by_name = NumberIndex(std::move(names));
  by_outputs = NumberIndex(std::move(outputs));
  by_place = NumberIndex(std::move(places));
}

}  // namespace msprobe::divergence
