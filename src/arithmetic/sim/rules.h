// SPDX-License-Identifier: Apache-2.0
// The configuration of the simulated device: which fault hits which calls or operators.
//
//   seed: 7
//   faults:
//     - fault: wrong_tile
//       operators: [mm, addmm]     # their results; without it, the results of whole calls
//       apis: [Functional.linear, matmul]
//       dtypes: [float32]
//       shape: [512, 512]
//       min_elements: 256
//       direction: forward         # backward, both (default)
//       rate: 0.5
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "sim/faults.h"

namespace msprobe::sim {

struct FaultRule {
  Fault fault = Fault::kZeros;
  std::vector<std::string> operators = {};  // "mm"; empty: whole calls
  std::vector<std::string> apis = {};       // "Functional.linear" or "linear"; empty: all
  std::vector<std::string> dtypes = {};     // "float16"
  std::vector<std::int64_t> shape = {};
  std::int64_t min_elements = 0;
  bool forward = true;
  bool backward = true;
  double rate = 1;
  std::size_t number = 0;  // its place in the file, from 1
};

struct FaultRules {
  std::uint64_t seed = 0;
  std::vector<FaultRule> rules;
};

// `shown` opens messages. An unknown key, fault or value is an error.
Result<FaultRules> parse_rules(std::string_view yaml, const std::string& shown);

// Where something is about to come out.
struct FaultPlace {
  std::string_view call;       // "Functional.linear.3"; empty: not known
  std::string_view operator_;  // "mm"; empty: a whole call
  bool backward = false;
  std::uint64_t number = 0;  // of the operator within its call
};

// Whether the rule is about this place, and whether it strikes there: the same place is struck in
// every run.
bool strikes(const FaultRule& rule, std::uint64_t seed, const FaultPlace& place);

bool fits(const FaultRule& rule, std::string_view dtype, const std::vector<std::int64_t>& shape);

}  // namespace msprobe::sim
