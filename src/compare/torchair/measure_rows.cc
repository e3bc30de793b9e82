// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <complex>

#include <fmt/format.h>

#include "comparison/tensor_pass.h"
#include "core/crc32.h"
#include "core/shrunken_file.h"
#include "measure/chunks.h"
#include "measure/widen.h"
#include "torchair/criteria.h"
#include "torchair/graph_compare.h"
#include "torchair/tensor_data.h"

namespace msprobe::torchair {
namespace {

using comparison::bench_buffer;
using comparison::device_buffer;
using comparison::view_of;
using measure::SideTally;
using measure::SimilarityTally;

// The tally of a part, and the part that holds the largest error.
struct Part {
  SimilarityTally tally;
  std::uint64_t largest_at = 0;  // its first element
};
void merge(Part& total, const Part& part) {
  if (part.tally.max_abs_error > total.tally.max_abs_error) total.largest_at = part.largest_at;
  measure::merge(total.tally, part.tally);
}

template <class T>
std::optional<std::uint64_t> find_error(const TensorView& device, const TensorView& bench,
                                        double error) {
  constexpr std::size_t kBlock = 1024;
  std::array<T, kBlock> device_block;
  std::array<T, kBlock> bench_block;
  const std::size_t count = device.numel();
  for (std::size_t done = 0; done < count; done += kBlock) {
    const std::size_t n = std::min(kBlock, count - done);
    measure::widen(device, done, std::span(device_block).first(n));
    measure::widen(bench, done, std::span(bench_block).first(n));
    for (std::size_t i = 0; i < n; ++i) {
      if (std::abs(device_block[i] - bench_block[i]) == error) return done + i;
    }
  }
  return std::nullopt;
}

// Where in its chunk the largest error is.
std::uint64_t place_of_largest(const ge::Elements& device, const ge::Elements& bench,
                               const Part& total) {
  const double error = total.tally.max_abs_error;
  const std::uint64_t n = std::min<std::uint64_t>(measure::kChunk, device.count - total.largest_at);
  const TensorView d = view_of(device, total.largest_at, n, device_buffer());
  const TensorView b = view_of(bench, total.largest_at, n, bench_buffer());
  const bool complex_pair = is_complex(device.dtype) || is_complex(bench.dtype);
  const auto found = complex_pair ? find_error<std::complex<double>>(d, b, error)
                                  : find_error<double>(d, b, error);
  return total.largest_at + found.value_or(0);
}

// Merges tally_of(device, bench, first) of every chunk of the pair, in order.
template <class TallyOf>
Part tally_pair(const ge::Elements& device, const ge::Elements& bench, int threads,
                const TallyOf& tally_of) {
  return comparison::pass<Part>(device, bench, device.count, threads,
                                [&](Part& part, const TensorView& d, const TensorView& b,
                                    std::uint64_t at) { merge(part, {tally_of(d, b, at), at}); });
}

double largest_magnitude(const SideTally& side) {
  return std::max(std::abs(side.max), std::abs(side.min));
}

TensorNumbers measure_real(const ge::Elements& device, const ge::Elements& bench,
                           const OpMeasureOptions& options) {
  const int threads = options.threads;
  const Part total = tally_pair(device, bench, threads, &measure::tally_similarity);
  const bool complex_pair = is_complex(device.dtype) || is_complex(bench.dtype);
  SimilarityTally tally = total.tally;
  if (!complex_pair && measure::needs_scaled_products(tally)) {
    const auto scale_of = [](const SideTally& side) {
      return largest_magnitude(side) > 0 ? largest_magnitude(side) : 1;
    };
    const Part scaled = tally_pair(
        device, bench, threads, [&](const TensorView& d, const TensorView& b, std::uint64_t) {
          return measure::scaled_products(d, b, scale_of(tally.device), scale_of(tally.bench));
        });
    tally.dot = scaled.tally.dot;
    tally.device_squares = scaled.tally.device_squares;
    tally.bench_squares = scaled.tally.bench_squares;
  }
  TensorNumbers numbers{measure::finish(tally, complex_pair), tally, std::nullopt};
  // Worth a second look at one part only where somebody will want to look there.
  if (options.places || numbers.similarity.max_relative_error >= kMaxRelativeError) {
    numbers.max_abs_at = place_of_largest(device, bench, total);
  }
  return numbers;
}

SideTally measure_side(const ge::Elements& elements, int threads) {
  return measure::reduce_in_windows<SideTally>(
      elements.count, threads, [&](std::uint64_t first, std::uint64_t n) {
        const comparison::Window window(elements, first, n);
        SideTally side;
        for (std::uint64_t at = first; at < first + n; at += measure::kChunk) {
          const std::uint64_t size = std::min<std::uint64_t>(measure::kChunk, first + n - at);
          measure::merge(side, measure::tally_side(view_of(elements, at, size, device_buffer())));
        }
        return side;
      });
}

// The four statistics of one side; nothing if it does not have them. NaN elements are left out,
// but beside a converted file, whose minimum and maximum are then NaN, as numpy has them.
struct KnownStatistics {
  std::array<std::optional<double>, kStatistics> values;
  std::optional<double> nan_count;
  bool is_written = false;  // in a statistics file
  bool begins_with_nan = false;
};

bool begins_with_nan(const ge::Elements& elements) {
  double first = 0;
  measure::widen(view_of(elements, 0, 1, device_buffer()), 0, std::span(&first, 1));
  return std::isnan(first);
}

KnownStatistics statistics_of(const TensorData& data, const TensorData& other, int threads) {
  KnownStatistics known;
  if (data.info) {
    if (is_range(*data.info) && !is_empty_range(*data.info)) {
      known.values[0] = (*data.info)[1];
      known.values[1] = (*data.info)[0];
    }
  } else if (data.statistics) {
    known.values = {data.statistics->max, data.statistics->min, data.statistics->mean,
                    data.statistics->l2_norm};
    known.nan_count = data.statistics->nan_count;
    known.is_written = true;
  } else if (!data.elements->opaque() && !is_complex(data.elements->dtype)) {
    const SideTally side = measure_side(*data.elements, threads);
    known.nan_count = static_cast<double>(side.nans);
    known.begins_with_nan = side.nans > 0 && begins_with_nan(*data.elements);
    if (side.count > 0) {
      known.values = {side.max, side.min, side.mean(), std::sqrt(side.squares)};
      if (other.info && side.nans > 0) known.values[0] = known.values[1] = std::nan("");
    } else if (side.nans > 0) {
      known.values.fill(std::nan(""));
    }
  }
  return known;
}

// Writers of statistics begin with the first element: where it is NaN, maximum and minimum are. A
// mean or a norm may be NaN where any element is.
bool shares_nan(const KnownStatistics& written, const KnownStatistics& counted, std::size_t i) {
  if (!written.is_written || !written.values[i] || !std::isnan(*written.values[i])) return false;
  const bool is_extreme = i <= static_cast<std::size_t>(TensorStatistic::kMin);
  return is_extreme ? counted.begins_with_nan : !counted.is_written && counted.nan_count > 0.0;
}

void measure_statistics(TensorRow& row, const TensorData& device, const TensorData& bench,
                        int threads) {
  const KnownStatistics of_device = statistics_of(device, bench, threads);
  const KnownStatistics of_bench = statistics_of(bench, device, threads);
  Statistics& statistics = row.statistics.emplace();
  for (std::size_t i = 0; i < kStatistics; ++i) {
    statistics[i] = {of_device.values[i], of_bench.values[i],
                     shares_nan(of_device, of_bench, i) || shares_nan(of_bench, of_device, i)};
  }
  row.nan_counts = {of_device.nan_count, of_bench.nan_count};
}

// The type a checksum is taken in: the FX side has bfloat16 as float32 only.
DType hashed_type(DType dtype) { return dtype == DType::kBFloat16 ? DType::kFloat32 : dtype; }

std::string crc_of(const ge::Elements& elements) {
  std::uint32_t crc = 0;
  std::vector<double> values;
  std::vector<float> widened;
  std::vector<std::byte> truths;
  comparison::for_each_chunk(elements, [&](const TensorView& view, std::uint64_t) {
    std::span<const std::byte> bytes = view.bytes;
    if (elements.dtype == DType::kBFloat16) {
      values.resize(view.numel());
      measure::widen(view, 0, std::span<double>(values));
      widened.assign(values.begin(), values.end());
      bytes = std::as_bytes(std::span(widened));
    } else if (elements.dtype == DType::kBool) {
      truths.assign(bytes.begin(), bytes.end());
      for (std::byte& truth : truths) truth = std::byte{truth != std::byte{0}};
      bytes = truths;
    }
    crc = crc32(crc, bytes);
  });
  return fmt::format("{:08x}", crc);
}

Md5Numbers measure_md5(const ge::Elements& device, const ge::Elements& bench,
                       const OpMeasureOptions& options) {
  Md5Numbers numbers;
  numbers.device_crc = crc_of(device);
  numbers.bench_crc = crc_of(bench);
  numbers.same_type = hashed_type(device.dtype) == hashed_type(bench.dtype);
  numbers.equal_values = numbers.device_crc == numbers.bench_crc && numbers.same_type;
  // Doubles do not tell all integers apart; equal ones of one type have equal bytes.
  if (!numbers.equal_values && !(numbers.same_type && is_integer_or_bool(device.dtype))) {
    const SimilarityTally tally = measure_real(device, bench, options).tally;
    numbers.equal_values = tally.max_abs_error == 0 && tally.mismatches == 0;
  }
  return numbers;
}

std::string shape_text(const Shape& shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

// A few values as a tensor of their own.
ge::Elements elements_of_values(const InfoValues& values) {
  ge::Elements elements;
  elements.dtype = DType::kFloat64;
  elements.shape = {static_cast<std::int64_t>(values.size())};
  elements.count = values.size();
  elements.type_text = "float64";
  elements.bits = 64;
  elements.bytes = std::as_bytes(std::span(values));
  return elements;
}

bool counts_differ(TensorRow& row, const ge::Elements& device, const ge::Elements& bench) {
  if (device.count == bench.count) return false;
  row.problem = "shapes differ";
  row.message = fmt::format("shape {} against {} of the reference", shape_text(device.shape),
                            shape_text(bench.shape));
  return true;
}

void compare_elements(TensorRow& row, const ge::Elements& device, const ge::Elements& bench,
                      const OpMeasureOptions& options) {
  if (counts_differ(row, device, bench)) return;
  if (device.shape != bench.shape) {
    row.message = fmt::format("shape {} against {} of the reference, as many elements",
                              shape_text(device.shape), shape_text(bench.shape));
  }
  if (device.count == 0) {
    row.problem = "empty";
    return;
  }
  if (options.mode == GraphMode::kMd5) {
    row.md5 = measure_md5(device, bench, options);
  } else {
    row.real = measure_real(device, bench, options);
  }
}

void note_form(TensorRow& row, const TensorData& device, const TensorData& bench) {
  if (device.elements && !device.elements->note.empty()) row.message = device.elements->note;
  if (!bench.elements) return;
  row.bench_dtype = bench.elements->type_text;
  row.bench_shape = bench.elements->shape;
}

void compare(TensorRow& row, const TensorData& device, const TensorData& bench,
             const OpMeasureOptions& options) {
  note_form(row, device, bench);
  if (options.mode == GraphMode::kStatistics) {
    const bool both = device.elements && bench.elements;
    if (both && counts_differ(row, *device.elements, *bench.elements)) return;
    return measure_statistics(row, device, bench, options.threads);
  }
  if (device.elements && bench.elements) {
    return compare_elements(row, *device.elements, *bench.elements, options);
  }
  if (device.info && bench.info) {
    return compare_elements(row, elements_of_values(*device.info), elements_of_values(*bench.info),
                            options);
  }
  row.problem = "no data: a side has statistics or converted values only";
}

void refuse(TensorRow& row, std::string_view reason, std::string_view side = "") {
  row.outcome = Outcome::kSkipped;
  row.reason = fmt::format("{}{}", side, reason);
}

constexpr std::string_view kOfBench = "reference: ";
constexpr std::string_view kShrank = "the file shrank while it was read";

// Discards the numbers of a file that was not whole.
void withdraw(TensorRow& row, std::string_view side) {
  refuse(row, kShrank, side);
  row.real.reset();
  row.statistics.reset();
  row.md5.reset();
  row.problem.clear();
  row.message.clear();
}

Result<TensorData> open_bench(const BenchTensor& from, DumpFiles& files) {
  if (from.data == nullptr) return open_array(from.array, from.is_info, files);
  return from.data->tensor(from.side, from.index);
}

bool has_shrunk(const BenchTensor& from, const TensorData& data) {
  if (from.data != nullptr) return from.data->has_shrunk();
  return data.elements && msprobe::has_shrunk(from.array, data.elements->file);
}

}  // namespace

void measure_op(OpRows& op, const OpMeasureOptions& options, DumpFiles& files) {
  for (TensorRow& row : op.rows) {
    if (!is_paired(row.outcome)) continue;
    const Result<TensorData> device = op.data->tensor(row.side, row.index);
    if (!device) {
      refuse(row, device.error().message);
      continue;
    }
    const Result<TensorData> bench = open_bench(*row.bench, files);
    if (!bench) {
      refuse(row, bench.error().message, kOfBench);
      continue;
    }
    compare(row, *device, *bench, options);
    if (op.data->has_shrunk()) withdraw(row, "");
    if (has_shrunk(*row.bench, *bench)) withdraw(row, kOfBench);
  }
}

}  // namespace msprobe::torchair
