// SPDX-License-Identifier: Apache-2.0
#include "torchair/tensor_columns.h"

#include <array>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "torchair/criteria.h"

namespace msprobe::torchair {
namespace {

constexpr const char* kNotKnown = "N/A";

std::string number(double value) {
  if (std::isnan(value)) return "NaN";
  return fmt::format("{}", value);
}

std::string optional_number(const std::optional<double>& value) {
  return value ? number(*value) : kNotKnown;
}

// NaN if one side alone has a NaN or an infinity.
template <double measure::Similarity::* kField>
std::string similarity(const TensorRow& row) {
  if (!row.real) return kNotKnown;
  return row.real->tally.mismatches > 0 ? "NaN" : number(row.real->similarity.*kField);
}

template <double measure::Similarity::* kField>
std::string share(const TensorRow& row) {
  return row.real ? number(row.real->similarity.*kField) : kNotKnown;
}

template <TensorStatistic kStatistic>
std::string diff(const TensorRow& row) {
  if (!row.statistics) return kNotKnown;
  return optional_number(difference((*row.statistics)[static_cast<std::size_t>(kStatistic)]));
}

template <TensorStatistic kStatistic>
std::string relative(const TensorRow& row) {
  if (!row.statistics) return kNotKnown;
  const auto found = relative_difference((*row.statistics)[static_cast<std::size_t>(kStatistic)]);
  if (!found) return kNotKnown;
  return std::isfinite(*found) ? number(*found * 100) + "%" : number(*found);
}

std::string api_name(const TensorRow& row) {
  return fmt::format("{}.{}.{}", row.op, name(row.side), row.index);
}

std::string data_name(const TensorRow& row) {
  return fmt::format("[{}.{}.{}, {}]", row.file, name(row.side), row.index,
                     row.bench ? row.bench->shown : kNotKnown);
}

std::string shape_text(const std::optional<Shape>& shape) {
  return shape ? fmt::format("[{}]", fmt::join(*shape, ", ")) : kNotKnown;
}

std::string or_not_known(const std::string& text) { return text.empty() ? kNotKnown : text; }

template <measure::SideTally measure::SimilarityTally::* kSide, double measure::SideTally::* kField>
std::string side_value(const TensorRow& row) {
  if (!row.real || (row.real->tally.*kSide).count == 0) return kNotKnown;
  return number(row.real->tally.*kSide.*kField);
}

template <measure::SideTally measure::SimilarityTally::* kSide>
std::string side_mean(const TensorRow& row) {
  if (!row.real || (row.real->tally.*kSide).count == 0) return kNotKnown;
  return number((row.real->tally.*kSide).mean());
}

template <TensorStatistic kStatistic, bool kOfDevice>
std::string statistic(const TensorRow& row) {
  if (!row.statistics) return kNotKnown;
  const StatisticPair& pair = (*row.statistics)[static_cast<std::size_t>(kStatistic)];
  return optional_number(kOfDevice ? pair.device : pair.bench);
}

using measure::SideTally;
using measure::Similarity;
using measure::SimilarityTally;

constexpr TensorColumn kFirst[] = {
    {"API Name", &api_name, true},
    {"Stack Info", [](const TensorRow& row) { return or_not_known(row.stack); }, true},
    {"Data Name", &data_name, true},
};
constexpr TensorColumn kReal[] = {
    {"Cosine", &similarity<&Similarity::cosine>},
    {"EucDist", &similarity<&Similarity::euclidean_distance>},
    {"MaxAbsErr", &similarity<&Similarity::max_abs_error>},
    {"MaxRelativeErr", &similarity<&Similarity::max_relative_error>},
    {"One Thousandth Err Ratio", &share<&Similarity::within_1000>},
    {"Five Thousandth Err Ratio", &share<&Similarity::within_200>},
    // Inference dumps record no such flag.
    {"Requires_grad Consistent", [](const TensorRow&) { return std::string(kNotKnown); }},
};
constexpr TensorColumn kStatisticColumns[] = {
    {"Max diff", &diff<TensorStatistic::kMax>},
    {"Min diff", &diff<TensorStatistic::kMin>},
    {"Mean diff", &diff<TensorStatistic::kMean>},
    {"L2norm diff", &diff<TensorStatistic::kL2>},
    {"MaxRelativeErr", &relative<TensorStatistic::kMax>},
    {"MinRelativeErr", &relative<TensorStatistic::kMin>},
    {"MeanRelativeErr", &relative<TensorStatistic::kMean>},
    {"NormRelativeErr", &relative<TensorStatistic::kL2>},
};
constexpr TensorColumn kMd5[] = {
    {"NPU MD5", [](const TensorRow& row) { return row.md5 ? row.md5->device_crc : kNotKnown; },
     true},
    {"BENCH MD5", [](const TensorRow& row) { return row.md5 ? row.md5->bench_crc : kNotKnown; },
     true},
};
constexpr TensorColumn kLast[] = {
    {"Result", [](const TensorRow& row) { return std::string(name(row.verdict)); }},
    {"Accuracy Reached or Not",
     [](const TensorRow& row) { return std::string(row.reached ? "Yes" : "No"); }},
    {"Err_message", [](const TensorRow& row) { return row.message; }, true},
    {"rank", [](const TensorRow& row) { return fmt::format("{}", row.rank); }},
    {"graph_id", [](const TensorRow& row) { return fmt::format("{}", row.graph); }},
    {"token_id", [](const TensorRow& row) { return fmt::format("{}", row.token); }},
    {"Op Type", [](const TensorRow& row) { return or_not_known(row.type); }, true},
    {"Match",
     [](const TensorRow& row) {
       return row.status == Status::kPaired ? std::string(name(row.rule))
                                            : std::string(name(row.status));
     }},
    {"NPU Dtype", [](const TensorRow& row) { return or_not_known(row.dtype); }},
    {"Bench Dtype", [](const TensorRow& row) { return or_not_known(row.bench_dtype); }},
    {"NPU Shape", [](const TensorRow& row) { return shape_text(row.shape); }},
    {"Bench Shape", [](const TensorRow& row) { return shape_text(row.bench_shape); }},
};
constexpr TensorColumn kRealSides[] = {
    {"NPU max", &side_value<&SimilarityTally::device, &SideTally::max>},
    {"NPU min", &side_value<&SimilarityTally::device, &SideTally::min>},
    {"NPU mean", &side_mean<&SimilarityTally::device>},
    {"Bench max", &side_value<&SimilarityTally::bench, &SideTally::max>},
    {"Bench min", &side_value<&SimilarityTally::bench, &SideTally::min>},
    {"Bench mean", &side_mean<&SimilarityTally::bench>},
};
constexpr TensorColumn kStatisticSides[] = {
    {"NPU max", &statistic<TensorStatistic::kMax, true>},
    {"NPU min", &statistic<TensorStatistic::kMin, true>},
    {"NPU mean", &statistic<TensorStatistic::kMean, true>},
    {"NPU l2norm", &statistic<TensorStatistic::kL2, true>},
    {"Bench max", &statistic<TensorStatistic::kMax, false>},
    {"Bench min", &statistic<TensorStatistic::kMin, false>},
    {"Bench mean", &statistic<TensorStatistic::kMean, false>},
    {"Bench l2norm", &statistic<TensorStatistic::kL2, false>},
};

std::vector<TensorColumn> joined(std::span<const TensorColumn> middle,
                                 std::span<const TensorColumn> sides) {
  std::vector<TensorColumn> all;
  for (const std::span<const TensorColumn> part : {std::span<const TensorColumn>(kFirst), middle,
                                                   std::span<const TensorColumn>(kLast), sides}) {
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

}  // namespace

std::span<const TensorColumn> columns_of(GraphMode mode) {
  static const std::vector<TensorColumn> kOfReal = joined(kReal, kRealSides);
  static const std::vector<TensorColumn> kOfStatistics = joined(kStatisticColumns, kStatisticSides);
  static const std::vector<TensorColumn> kOfMd5 = joined(kMd5, {});
  switch (mode) {
    case GraphMode::kStatistics:
      return kOfStatistics;
    case GraphMode::kMd5:
      return kOfMd5;
    case GraphMode::kReal:
      break;
  }
  return kOfReal;
}

}  // namespace msprobe::torchair
