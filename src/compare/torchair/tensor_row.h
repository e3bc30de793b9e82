// SPDX-License-Identifier: Apache-2.0
// A row of the comparison: one tensor of the compared dump, its counterpart, and how they differ.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "comparison/outcome.h"
#include "core/tensor.h"
#include "measure/similarity.h"
#include "torchair/tensor_data.h"

namespace msprobe::torchair {

namespace fs = std::filesystem;

// The documented modes; which columns there are and what PASS means depends on it.
enum class GraphMode : std::uint8_t { kReal, kStatistics, kMd5 };

using comparison::is_paired;
using comparison::Outcome;
std::string_view status_text(Outcome outcome);   // "paired", "unmatched", "unreadable"
std::string_view verdict_text(Outcome outcome);  // "N/A", "PASS", "FAIL"

// How a counterpart was found.
enum class MatchRule : std::uint8_t {
  kNone,
  kFxName,      // the graph text names the FX tensor
  kEdge,        // the producer of the input does
  kValue,       // by position, shape and value
  kName,        // the same operator of the other GE dump
  kMember,      // an edge of a member of a fused operator
  kOriginalOp,  // the dump's header names the operator before fusion
};
std::string_view name(MatchRule rule);

// Where the counterpart is: an FX array, or a tensor of a GE file.
struct BenchTensor {
  std::string shown;     // "add-aten.add.Tensor.OUTPUT.0.2025.npy", "Add.Add.5.6.17,input,0"
  fs::path array;        // of FX
  bool is_info = false;  // an FX array that was converted
  std::shared_ptr<const GeData> data;  // of GE
  DumpSide side = DumpSide::kInput;
  std::uint32_t index = 0;
};

// One statistic on both sides; nothing if a file does not have it.
struct StatisticPair {
  std::optional<double> device;
  std::optional<double> bench;
  bool shared_nan = false;  // NaN in a file of statistics, for NaN elements of both sides
};
enum class TensorStatistic : std::uint8_t { kMax, kMin, kMean, kL2 };
inline constexpr std::size_t kStatistics = 4;
using Statistics = std::array<StatisticPair, kStatistics>;

struct TensorNumbers {
  measure::Similarity similarity;
  measure::SimilarityTally tally;
  std::optional<std::uint64_t> max_abs_at;  // where the largest error is, where it was looked for
};

struct Md5Numbers {
  std::string device_crc;
  std::string bench_crc;
  bool same_type = true;
  bool equal_values = false;
};

struct TensorRow {
  std::int64_t rank = 0;
  std::int64_t graph = 0;
  std::int64_t token = 0;
  std::string op;
  std::string type;
  std::string file;
  DumpSide side = DumpSide::kInput;
  std::uint32_t index = 0;
  std::string dtype;
  std::optional<Shape> shape;
  std::string format;
  std::string stack;

  Outcome outcome = Outcome::kUnmatched;
  std::string reason;  // of a row without counterpart or without data
  MatchRule rule = MatchRule::kNone;
  std::optional<BenchTensor> bench;
  std::string bench_dtype;
  std::optional<Shape> bench_shape;

  // Filled as the mode asks.
  std::optional<TensorNumbers> real;
  std::optional<Statistics> statistics;
  StatisticPair nan_counts;  // beside the statistics, which leave NaN out
  std::optional<Md5Numbers> md5;
  std::string problem;  // why a pair has no numbers: "empty", "shapes differ"

  bool differs = false;  // counts for the first difference
  bool reached = false;  // Accuracy Reached or Not
  std::string message;   // Err_message
};

// Why a tensor that can be read has no counterpart.
void set_unmatched(TensorRow& row, std::string reason);

// A dump file and its rows, measured together.
struct OpRows {
  std::shared_ptr<const GeData> data;  // of the compared side; null: it cannot be read
  std::vector<TensorRow> rows;
  std::vector<std::uint32_t> sources;  // operators of the same unit whose results it reads
  std::uint64_t bytes = 0;             // of both sides, roughly: what progress counts
};

}  // namespace msprobe::torchair
