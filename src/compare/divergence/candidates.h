// SPDX-License-Identifier: Apache-2.0
// The calls of a run, found by the values of their tensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "divergence/recorded_run.h"

namespace msprobe::divergence {

// Calls under a key, in order of a number; near numbers are found by binary search.
class NumberIndex {
 public:
  struct Row {
    std::uint64_t key;
    double number;
    std::uint32_t call;
  };

  NumberIndex() = default;
  explicit NumberIndex(std::vector<Row> rows);

  // The calls under `key` whose number is within `reach` of `number`, nearest first, at most
  // `most`.
  void near(std::uint64_t key, double number, double reach, std::size_t most,
            std::vector<std::uint32_t>& out) const;

  // The calls under `key` from `first` on, in order; for an index whose numbers are call numbers.
  void from(std::uint64_t key, std::uint32_t first, std::size_t most,
            std::vector<std::uint32_t>& out) const;

 private:
  struct Range {
    std::size_t begin = 0;
    std::size_t end = 0;
  };
  Range range_of(std::uint64_t key) const;

  // Apart from each other, so that a search touches little memory: a run has few kinds of calls.
  std::vector<double> numbers_;
  std::vector<std::uint32_t> calls_;
  std::unordered_map<std::uint64_t, Range> ranges_;  // by key
};

// What a call looks like without its values.
struct CallShape {
  std::uint64_t whole = 0;    // direction, inputs, outputs
  std::uint64_t outputs = 0;  // direction, outputs
  std::uint64_t named = 0;    // direction, operation, inputs
  std::uint64_t named_whole = 0;
};
CallShape shape_of(const Trace& run, const Call& call);

struct CallIndex {
  CallIndex(const Trace& run, bool exact);

  std::vector<CallShape> shapes;
  NumberIndex by_values;   // Shape::whole, inputs and outputs
  NumberIndex by_inputs;   // Shape::whole, inputs
  NumberIndex by_name;     // Shape::named, inputs
  NumberIndex by_outputs;  // Shape::outputs, outputs
  NumberIndex by_place;    // Shape::named_whole, call number
};

// The number of by_values.
double values_number(double inputs, double outputs);

}  // namespace msprobe::divergence
