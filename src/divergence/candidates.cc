// SPDX-License-Identifier: Apache-2.0
#include "divergence/candidates.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "divergence/difference.h"

namespace msprobe::divergence {

void NumberIndex::sort() {
  std::ranges::sort(rows_, {},
                    [](const Row& row) { return std::tuple(row.key, row.number, row.call); });
}

void NumberIndex::near(std::uint64_t key, double number, double reach, std::size_t most,
                       std::vector<std::uint32_t>& out) const {
  out.clear();
  const auto order = [](const Row& row) { return std::pair(row.key, row.number); };
  const auto begin = std::ranges::lower_bound(rows_, std::pair(key, number - reach), {}, order);
  const auto end =
      std::ranges::upper_bound(begin, rows_.end(), std::pair(key, number + reach), {}, order);
  auto right = std::ranges::lower_bound(begin, end, std::pair(key, number), {}, order);
  auto left = right;
  while (out.size() < most && (left != begin || right != end)) {
    const bool take_left = right == end || (left != begin && number - std::prev(left)->number <=
                                                                 right->number - number);
    out.push_back(take_left ? (--left)->call : (right++)->call);
  }
}

void NumberIndex::from(std::uint64_t key, std::uint32_t first, std::size_t most,
                       std::vector<std::uint32_t>& out) const {
  out.clear();
  const auto order = [](const Row& row) { return std::pair(row.key, row.number); };
  auto row = std::ranges::lower_bound(rows_, std::pair(key, static_cast<double>(first)), {}, order);
  for (; row != rows_.end() && row->key == key && out.size() < most; ++row) {
    out.push_back(row->call);
  }
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
  shapes.reserve(run.calls.size());
  for (std::size_t i = 0; i < run.calls.size(); ++i) {
    const Call& call = run.calls[i];
    const auto number = static_cast<std::uint32_t>(i);
    const CallShape& shape = shapes.emplace_back(shape_of(run, call));
    const double inputs = fingerprint(run.inputs(call), exact);
    const double outputs = fingerprint(run.outputs(call), exact);
    by_values.add(shape.whole, values_number(inputs, outputs), number);
    by_inputs.add(shape.whole, inputs, number);
    by_name.add(shape.named, inputs, number);
    by_outputs.add(shape.outputs, outputs, number);
    by_place.add(shape.named_whole, static_cast<double>(i), number);
  }
  for (NumberIndex* index : {&by_values, &by_inputs, &by_name, &by_outputs, &by_place}) {
    index->sort();
  }
}

}  // namespace msprobe::divergence
