#include "torchair/columns.h"

#include <array>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "torchair/verdict.h"

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

// Where a NaN or an infinity stands on one side only, what is computed from it is no number.
template <double measure::Similarity::* kField>
std::string similarity(const Row& row) {
  if (!row.real) return kNotKnown;
  return row.real->tally.mismatches > 0 ? "NaN" : number(row.real->similarity.*kField);
}

template <double measure::Similarity::* kField>
std::string share(const Row& row) {
  return row.real ? number(row.real->similarity.*kField) : kNotKnown;
}

template <Statistic kStatistic>
std::string diff(const Row& row) {
  if (!row.statistics) return kNotKnown;
  return optional_number(difference((*row.statistics)[static_cast<std::size_t>(kStatistic)]));
}

template <Statistic kStatistic>
std::string relative(const Row& row) {
  if (!row.statistics) return kNotKnown;
  const auto found = relative_difference((*row.statistics)[static_cast<std::size_t>(kStatistic)]);
  if (!found) return kNotKnown;
  return std::isfinite(*found) ? number(*found * 100) + "%" : number(*found);
}

std::string api_name(const Row& row) {
  return fmt::format("{}.{}.{}", row.op, name(row.side), row.index);
}

std::string data_name(const Row& row) {
  return fmt::format("[{}.{}.{}, {}]", row.file, name(row.side), row.index,
                     row.bench ? row.bench->shown : kNotKnown);
}

std::string shape_text(const std::optional<Shape>& shape) {
  return shape ? fmt::format("[{}]", fmt::join(*shape, ", ")) : kNotKnown;
}

std::string or_not_known(const std::string& text) { return text.empty() ? kNotKnown : text; }

template <measure::SideTally measure::SimilarityTally::* kSide, double measure::SideTally::* kField>
std::string side_value(const Row& row) {
  if (!row.real || (row.real->tally.*kSide).count == 0) return kNotKnown;
  return number(row.real->tally.*kSide.*kField);
}

template <measure::SideTally measure::SimilarityTally::* kSide>
std::string side_mean(const Row& row) {
  if (!row.real || (row.real->tally.*kSide).count == 0) return kNotKnown;
  return number((row.real->tally.*kSide).mean());
}

template <Statistic kStatistic, bool kOfDevice>
std::string statistic(const Row& row) {
  if (!row.statistics) return kNotKnown;
  const StatisticPair& pair = (*row.statistics)[static_cast<std::size_t>(kStatistic)];
  return optional_number(kOfDevice ? pair.device : pair.bench);
}

using measure::SideTally;
using measure::Similarity;
using measure::SimilarityTally;

constexpr Column kFirst[] = {
    {"API Name", &api_name, true},
    {"Stack Info", [](const Row& row) { return or_not_known(row.stack); }, true},
    {"Data Name", &data_name, true},
};
constexpr Column kReal[] = {
    {"Cosine", &similarity<&Similarity::cosine>},
    {"EucDist", &similarity<&Similarity::euclidean_distance>},
    {"MaxAbsErr", &similarity<&Similarity::max_abs_error>},
    {"MaxRelativeErr", &similarity<&Similarity::max_relative_error>},
    {"One Thousandth Err Ratio", &share<&Similarity::within_1000>},
    {"Five Thousandth Err Ratio", &share<&Similarity::within_200>},
    // Inference dumps record no such flag.
    {"Requires_grad Consistent", [](const Row&) { return std::string(kNotKnown); }},
};
constexpr Column kStatisticColumns[] = {
    {"Max diff", &diff<Statistic::kMax>},
    {"Min diff", &diff<Statistic::kMin>},
    {"Mean diff", &diff<Statistic::kMean>},
    {"L2norm diff", &diff<Statistic::kL2>},
    {"MaxRelativeErr", &relative<Statistic::kMax>},
    {"MinRelativeErr", &relative<Statistic::kMin>},
    {"MeanRelativeErr", &relative<Statistic::kMean>},
    {"NormRelativeErr", &relative<Statistic::kL2>},
};
constexpr Column kMd5[] = {
    {"NPU MD5", [](const Row& row) { return row.md5 ? row.md5->device_crc : kNotKnown; }, true},
    {"BENCH MD5", [](const Row& row) { return row.md5 ? row.md5->bench_crc : kNotKnown; }, true},
};
constexpr Column kLast[] = {
    {"Result", [](const Row& row) { return std::string(name(row.verdict)); }},
    {"Accuracy Reached or Not",
     [](const Row& row) { return std::string(row.reached ? "Yes" : "No"); }},
    {"Err_message", [](const Row& row) { return row.message; }, true},
    {"rank", [](const Row& row) { return fmt::format("{}", row.rank); }},
    {"graph_id", [](const Row& row) { return fmt::format("{}", row.graph); }},
    {"token_id", [](const Row& row) { return fmt::format("{}", row.token); }},
    {"Op Type", [](const Row& row) { return or_not_known(row.type); }, true},
    {"Match",
     [](const Row& row) {
       return row.status == Status::kPaired ? std::string(name(row.rule))
                                            : std::string(name(row.status));
     }},
    {"NPU Dtype", [](const Row& row) { return or_not_known(row.dtype); }},
    {"Bench Dtype", [](const Row& row) { return or_not_known(row.bench_dtype); }},
    {"NPU Shape", [](const Row& row) { return shape_text(row.shape); }},
    {"Bench Shape", [](const Row& row) { return shape_text(row.bench_shape); }},
};
constexpr Column kRealSides[] = {
    {"NPU max", &side_value<&SimilarityTally::device, &SideTally::max>},
    {"NPU min", &side_value<&SimilarityTally::device, &SideTally::min>},
    {"NPU mean", &side_mean<&SimilarityTally::device>},
    {"Bench max", &side_value<&SimilarityTally::bench, &SideTally::max>},
    {"Bench min", &side_value<&SimilarityTally::bench, &SideTally::min>},
    {"Bench mean", &side_mean<&SimilarityTally::bench>},
};
constexpr Column kStatisticSides[] = {
    {"NPU max", &statistic<Statistic::kMax, true>},
    {"NPU min", &statistic<Statistic::kMin, true>},
    {"NPU mean", &statistic<Statistic::kMean, true>},
    {"NPU l2norm", &statistic<Statistic::kL2, true>},
    {"Bench max", &statistic<Statistic::kMax, false>},
    {"Bench min", &statistic<Statistic::kMin, false>},
    {"Bench mean", &statistic<Statistic::kMean, false>},
    {"Bench l2norm", &statistic<Statistic::kL2, false>},
};

std::vector<Column> joined(std::span<const Column> middle, std::span<const Column> sides) {
  std::vector<Column> all;
  for (const std::span<const Column> part :
       {std::span<const Column>(kFirst), middle, std::span<const Column>(kLast), sides}) {
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

}  // namespace

std::span<const Column> columns_of(Mode mode) {
  static const std::vector<Column> kOfReal = joined(kReal, kRealSides);
  static const std::vector<Column> kOfStatistics = joined(kStatisticColumns, kStatisticSides);
  static const std::vector<Column> kOfMd5 = joined(kMd5, {});
  switch (mode) {
    case Mode::kStatistics:
      return kOfStatistics;
    case Mode::kMd5:
      return kOfMd5;
    case Mode::kReal:
      break;
  }
  return kOfReal;
}

}  // namespace msprobe::torchair
