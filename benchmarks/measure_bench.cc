// SPDX-License-Identifier: Apache-2.0
// Measures how fast a pair of tensors is measured, and how fast the machine reads their bytes:
// every metric of 64 M elements, two threads, nine times each and interleaved; ratios are of
// medians.
//
// usage: measure_bench [ELEMENTS]
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "bench_tools.h"
#include "core/vector_targets.h"
//
#include <hwy/targets.h>

#include "core/float_formats.h"
#include "measure/metrics.h"

namespace {

using namespace msprobe;

constexpr int kThreads = 2;
constexpr int kRepetitions = 9;
constexpr std::size_t kElements = std::size_t{64} << 20;

// What the elements are like. Bench is standard normal, so some are small by chance.
enum class Data {
  kOrdinary,  // device is bench, rounded
  kMixed,     // of ten elements, one is small, one is far off, and one in a hundred is NaN
  kRare,      // as mixed, but a hundred times rarer
};

struct Case {
  std::string_view name;
  DType device;
  DType bench;
  Data data;
  int target_percent;
};

constexpr Case kCases[] = {
    {"float32 / float64, ordinary", DType::kFloat32, DType::kFloat64, Data::kOrdinary, 45},
    {"float32 / float64, mixed", DType::kFloat32, DType::kFloat64, Data::kMixed, 25},
    {"float32 / float64, rare", DType::kFloat32, DType::kFloat64, Data::kRare, 25},
    {"bfloat16 / float32, ordinary", DType::kBFloat16, DType::kFloat32, Data::kOrdinary, 33},
    {"bfloat16 / float32, mixed", DType::kBFloat16, DType::kFloat32, Data::kMixed, 20},
    {"bfloat16 / float32, rare", DType::kBFloat16, DType::kFloat32, Data::kRare, 20},
    {"float16 / float32, ordinary", DType::kFloat16, DType::kFloat32, Data::kOrdinary, 33},
    {"float16 / float32, mixed", DType::kFloat16, DType::kFloat32, Data::kMixed, 20},
    {"float16 / float32, rare", DType::kFloat16, DType::kFloat32, Data::kRare, 20},
};

// The documented thresholds of the device's dtype.
measure::Thresholds thresholds(DType device) {
  if (device == DType::kFloat16) return {0x1p-11, 0x1p-16, 0x1p-17, 0x1p-10, 1, 0x1p-8};
  if (device == DType::kBFloat16) return {0x1p-8, 0x1p-16, 0x1p-17, 0x1p-8, 1, 0x1p-7};
  return {0x1p-14, 0x1p-30, 0x1p-31, 0x1p-20, 32, 0x1p-11};
}

struct Tensors {
  DType device_dtype;
  DType bench_dtype;
  std::vector<std::byte> device;
  std::vector<std::byte> bench;

  TensorView device_view() const { return {device_dtype, {}, device}; }
  TensorView bench_view() const { return {bench_dtype, {}, bench}; }
  std::size_t size_bytes() const { return device.size() + bench.size(); }
};

void store(std::vector<std::byte>& bytes, DType dtype, std::size_t index, double value) {
  const auto put = [&](auto element) {
    std::memcpy(bytes.data() + index * sizeof(element), &element, sizeof(element));
  };
  const auto single = static_cast<float>(value);
  if (dtype == DType::kFloat64) put(value);
  if (dtype == DType::kFloat32) put(single);
  if (dtype == DType::kFloat16) put(float_to_float16(single));
  if (dtype == DType::kBFloat16) put(float_to_bfloat16(single));
}

// Seeded by place, so that the parts can be filled side by side.
void fill(Tensors& tensors, Data data, std::size_t first, std::size_t count) {
  constexpr double kSmall = 0x1p-16;
  std::mt19937_64 random(first + 1);
  std::normal_distribution<double> normal;
  const unsigned rarity = data == Data::kMixed ? 1 : 100;
  for (std::size_t i = first; i < first + count; ++i) {
    double bench = normal(random);
    double device = bench;
    if (data != Data::kOrdinary) {
      const auto dice = random() % (100 * rarity);
      if (dice < 10) bench *= kSmall;
      device = bench;
      if (dice >= 10 && dice < 20) device *= 1 + normal(random);
      if (dice == 20) device = std::numeric_limits<double>::quiet_NaN();
    }
    store(tensors.bench, tensors.bench_dtype, i, bench);
    store(tensors.device, tensors.device_dtype, i, device);
  }
}

// Calls work(first, count) for an equal part of the elements on each thread.
template <class Work>
void in_parts(std::size_t elements, const Work& work) {
  const std::size_t part = (elements + kThreads - 1) / kThreads;
  std::vector<std::jthread> threads;
  for (std::size_t first = 0; first < elements; first += part) {
    threads.emplace_back(work, first, std::min(part, elements - first));
  }
}

Tensors make_tensors(const Case& which, std::size_t elements) {
  Tensors tensors{which.device, which.bench, {}, {}};
  tensors.device.resize(elements * size_bytes(which.device));
  tensors.bench.resize(elements * size_bytes(which.bench));
  in_parts(elements,
           [&](std::size_t first, std::size_t count) { fill(tensors, which.data, first, count); });
  return tensors;
}

// The yardstick: each thread adds up its part of the bytes, as words.
MSPROBE_WIDEST_VECTORS std::uint64_t word_sum(const std::byte* bytes, std::size_t words) {
  const auto* first = reinterpret_cast<const std::uint64_t*>(bytes);
  return std::accumulate(first, first + words, std::uint64_t{0});
}

std::uint64_t read_all(std::span<const std::byte> bytes) {
  std::atomic<std::uint64_t> sum = 0;
  in_parts(bytes.size() / 8, [&](std::size_t first, std::size_t words) {
    sum += word_sum(bytes.data() + 8 * first, words);
  });
  return sum;
}

template <class Work>
double milliseconds(const Work& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
      .count();
}

void forget_peak() { std::ofstream("/proc/self/clear_refs") << 5; }

void run(const Case& which, std::size_t elements) {
  const Tensors tensors = make_tensors(which, elements);
  const measure::MeasureOptions options{.thresholds = thresholds(which.device),
                                        .threads = kThreads};
  volatile std::uint64_t keep = 0;
  const auto measure_them = [&] {
    keep = measure::measure(tensors.device_view(), tensors.bench_view(), options).different;
  };
  const auto read_them = [&] { keep = read_all(tensors.device) + read_all(tensors.bench); };

  forget_peak();
  const double resident = bench::resident_bytes("VmRSS:");
  measure_them();
  const double extra = bench::resident_bytes("VmHWM:") - resident;

  std::array<double, kRepetitions> ours{};
  std::array<double, kRepetitions> yardstick{};
  for (int i = 0; i < kRepetitions; ++i) {
    yardstick[i] = milliseconds(read_them);
    ours[i] = milliseconds(measure_them);
  }
  const auto size = static_cast<double>(tensors.size_bytes());
  const double percent = 100 * bench::median(yardstick) / bench::median(ours);
  fmt::print("{:<29} {:>8.1f} {:>10.1f} {:>8.1f} {:>7.0f} % {:>5} % {:>6} {:>10.2f} %\n",
             which.name, bench::median(ours), bench::median(yardstick),
             size / bench::median(yardstick) * 1e-6, percent, which.target_percent,
             percent >= which.target_percent ? "yes" : "NO", 100 * extra / size);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t elements = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : kElements;
  fmt::print("{} elements, {} threads, vectors of {}\n", elements, kThreads,
             hwy::TargetName(hwy::SupportedAndGeneratedTargets().front()));
  fmt::print("{:<29} {:>8} {:>10} {:>8} {:>9} {:>7} {:>6} {:>12}\n", "device / bench, data", "ms",
             "reading ms", "GB/s", "ratio", "target", "met", "extra memory");
  for (const Case& which : kCases) run(which, elements);
  return EXIT_SUCCESS;
}
