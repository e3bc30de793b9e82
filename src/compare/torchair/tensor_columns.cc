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

template <auto kText>
void cell(std::string& out, const TensorRow& row) {
  out += kText(row);
}

constexpr TensorColumn kFirst[] = {
    {"API Name", &cell<&api_name>, true},
    {"Stack Info", &cell<[](const TensorRow& row) { return or_not_known(row.stack); }>, true},
    {"Data Name", &cell<&data_name>, true},
};
constexpr TensorColumn kReal[] = {
    {"Cosine", &cell<&similarity<&Similarity::cosine>>},
    {"EucDist", &cell<&similarity<&Similarity::euclidean_distance>>},
    {"MaxAbsErr", &cell<&similarity<&Similarity::max_abs_error>>},
    {"MaxRelativeErr", &cell<&similarity<&Similarity::max_relative_error>>},
    {"One Thousandth Err Ratio", &cell<&share<&Similarity::within_1000>>},
    {"Five Thousandth Err Ratio", &cell<&share<&Similarity::within_200>>},
    // Inference dumps record no such flag.
    {"Requires_grad Consistent", &cell<[](const TensorRow&) { return std::string(kNotKnown); }>},
};
constexpr TensorColumn kStatisticColumns[] = {
    {"Max diff", &cell<&diff<TensorStatistic::kMax>>},
    {"Min diff", &cell<&diff<TensorStatistic::kMin>>},
    {"Mean diff", &cell<&diff<TensorStatistic::kMean>>},
    {"L2norm diff", &cell<&diff<TensorStatistic::kL2>>},
    {"MaxRelativeErr", &cell<&relative<TensorStatistic::kMax>>},
    {"MinRelativeErr", &cell<&relative<TensorStatistic::kMin>>},
    {"MeanRelativeErr", &cell<&relative<TensorStatistic::kMean>>},
    {"NormRelativeErr", &cell<&relative<TensorStatistic::kL2>>},
};
constexpr TensorColumn kMd5[] = {
    {"NPU MD5",
     &cell<[](const TensorRow& row) { return row.md5 ? row.md5->device_crc : kNotKnown; }>, true},
    {"BENCH MD5",
     &cell<[](const TensorRow& row) { return row.md5 ? row.md5->bench_crc : kNotKnown; }>, true},
};
constexpr TensorColumn kLast[] = {
    {"Result", &cell<[](const TensorRow& row) { return std::string(verdict_text(row.outcome)); }>},
    {"Accuracy Reached or Not",
     &cell<[](const TensorRow& row) { return std::string(row.reached ? "Yes" : "No"); }>},
    {"Err_message", &cell<[](const TensorRow& row) { return row.message; }>, true},
    {"rank", &cell<[](const TensorRow& row) { return fmt::format("{}", row.rank); }>},
    {"graph_id", &cell<[](const TensorRow& row) { return fmt::format("{}", row.graph); }>},
    {"token_id", &cell<[](const TensorRow& row) { return fmt::format("{}", row.token); }>},
    {"Op Type", &cell<[](const TensorRow& row) { return or_not_known(row.type); }>, true},
    {"Match", &cell<[](const TensorRow& row) {
       return is_paired(row.outcome) ? std::string(name(row.rule))
                                     : std::string(status_text(row.outcome));
     }>},
    {"NPU Dtype", &cell<[](const TensorRow& row) { return or_not_known(row.dtype); }>},
    {"Bench Dtype", &cell<[](const TensorRow& row) { return or_not_known(row.bench_dtype); }>},
    {"NPU Shape", &cell<[](const TensorRow& row) { return shape_text(row.shape); }>},
    {"Bench Shape", &cell<[](const TensorRow& row) { return shape_text(row.bench_shape); }>},
};
constexpr TensorColumn kRealSides[] = {
    {"NPU max", &cell<&side_value<&SimilarityTally::device, &SideTally::max>>},
    {"NPU min", &cell<&side_value<&SimilarityTally::device, &SideTally::min>>},
    {"NPU mean", &cell<&side_mean<&SimilarityTally::device>>},
    {"Bench max", &cell<&side_value<&SimilarityTally::bench, &SideTally::max>>},
    {"Bench min", &cell<&side_value<&SimilarityTally::bench, &SideTally::min>>},
    {"Bench mean", &cell<&side_mean<&SimilarityTally::bench>>},
};
constexpr TensorColumn kStatisticSides[] = {
    {"NPU max", &cell<&statistic<TensorStatistic::kMax, true>>},
    {"NPU min", &cell<&statistic<TensorStatistic::kMin, true>>},
    {"NPU mean", &cell<&statistic<TensorStatistic::kMean, true>>},
    {"NPU l2norm", &cell<&statistic<TensorStatistic::kL2, true>>},
    {"Bench max", &cell<&statistic<TensorStatistic::kMax, false>>},
    {"Bench min", &cell<&statistic<TensorStatistic::kMin, false>>},
    {"Bench mean", &cell<&statistic<TensorStatistic::kMean, false>>},
    {"Bench l2norm", &cell<&statistic<TensorStatistic::kL2, false>>},
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
