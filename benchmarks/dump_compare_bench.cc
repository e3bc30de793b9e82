// SPDX-License-Identifier: Apache-2.0
// How fast two dumps are compared from the page cache. Real data: beside how fast the machine reads
// memory, two threads, nine times each and interleaved; ratios are of medians. Statistics: the
// seconds of 100,000 calls.
//
// usage: dump_compare_bench [DIRECTORY [NAME]]    (needs 1.1 GB there, and as much page cache)
// NAME: only what begins so, as in "bfloat16".
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "bench_tools.h"
#include "collect/pt_file.h"
#include "core/crc32.h"
#include "core/float_formats.h"
#include "core/npy_header.h"
#include "dump_compare/compare_dumps.h"
#include "read_yardstick.h"

namespace {

using namespace msprobe;
namespace fs = std::filesystem;

constexpr int kThreads = 2;
constexpr int kRepetitions = 9;
constexpr std::size_t kSideBytes = std::size_t{500} << 20;

struct Case {
  std::string_view name;
  DType dtype;
  std::size_t files;
  int target_percent;
};
constexpr Case kCases[] = {
    {"float32, 2 files", DType::kFloat32, 2, 45},
    {"float32, 250 files", DType::kFloat32, 250, 45},
    {"float16, 2 files", DType::kFloat16, 2, 33},
    {"float16, 250 files", DType::kFloat16, 250, 33},
    {"bfloat16, 2 files", DType::kBFloat16, 2, 33},
};

// Up to one spacing of a half type: half of the elements differ in the last place, or not.
float noise_of(DType dtype) {
  if (dtype == DType::kFloat16) return 0x1p-11F;
  return dtype == DType::kBFloat16 ? 0x1p-8F : 1e-6F;
}

// Numbers between -1 and 1; the target has the noise of another device.
void write_tensor(const fs::path& path, DType dtype, std::int64_t count, bool is_target) {
  constexpr std::int64_t kPiece = std::int64_t{1} << 20;
  std::string piece;
  for (std::int64_t i = 0; i < std::min(kPiece, count); ++i) {
    std::uint64_t hash = static_cast<std::uint64_t>(i) * 0x9E3779B97F4A7C15U;
    hash ^= hash >> 29;
    float value = static_cast<float>(hash % 2000001) * 1e-6F - 1.0000005F;
    if (is_target && (hash >> 63) == 1) value *= 1 + noise_of(dtype);
    const auto put = [&](auto element) {
      piece.append(reinterpret_cast<const char*>(&element), sizeof(element));
    };
    if (dtype == DType::kFloat16) {
      put(float_to_float16(value));
    } else if (dtype == DType::kBFloat16) {
      put(float_to_bfloat16(value));
    } else {
      put(value);
    }
  }
  const std::array<std::int64_t, 1> shape{count};
  if (dtype == DType::kBFloat16) {  // which numpy does not have
    std::string all;
    const std::size_t size = static_cast<std::size_t>(count) * size_bytes(dtype);
    while (all.size() < size) all.append(piece, 0, size - all.size());
    const auto written =
        collect::write_pt(path, dtype, shape, std::as_bytes(std::span(all)), crc32(all));
    if (!written) std::exit(EXIT_FAILURE);
    return;
  }
  std::ofstream file(path, std::ios::binary);
  file << npy_header(dtype, shape);
  auto left = static_cast<std::uint64_t>(count) * size_bytes(dtype);
  while (left > 0) {
    const std::uint64_t size = std::min<std::uint64_t>(left, piece.size());
    file.write(piece.data(), static_cast<std::streamsize>(size));
    left -= size;
  }
}

std::string tensor_json(std::string_view dtype, std::int64_t count, std::string_view file) {
  return fmt::format(
      R"({{"type": "torch.Tensor", "dtype": "torch.{}", "shape": [{}], "Max": 1.0, "Min": -1.0, )"
      R"("Mean": 0.0012345678901234, "Norm": 23.456789012345, "requires_grad": false{}}})",
      dtype, count, file.empty() ? "" : fmt::format(R"(, "data_name": "{}")", file));
}

void write_side(const fs::path& root, const Case& which, bool is_target) {
  fs::create_directories(root / "dump_tensor_data");
  const auto count = static_cast<std::int64_t>(kSideBytes / which.files / size_bytes(which.dtype));
  std::string json = R"({"task": "tensor", "framework": "pytorch", "data": {)";
  for (std::size_t i = 0; i < which.files; ++i) {
    const std::string file = fmt::format("Torch.relu.{}.forward.output.0.{}", i,
                                         which.dtype == DType::kBFloat16 ? "pt" : "npy");
    write_tensor(root / "dump_tensor_data" / file, which.dtype, count, is_target);
    json += fmt::format(R"({}"Torch.relu.{}.forward": {{"input_args": [], "output": [{}]}})",
                        i > 0 ? "," : "", i, tensor_json(name(which.dtype), count, file));
  }
  std::ofstream(root / "dump.json") << json << "}}";
}

void write_calls(const fs::path& root, std::size_t calls) {
  fs::create_directories(root);
  std::ofstream file(root / "dump.json");
  file << R"({"task": "statistics", "framework": "pytorch", "data": {)";
  const std::string tensor = tensor_json("float32", 4096, "");
  for (std::size_t i = 0; i < calls; ++i) {
    file << (i > 0 ? ",\n" : "")
         << fmt::format(
                R"("Functional.linear.{}.forward": {{"input_args": [{}, {}], "output": [{}]}})", i,
                tensor, tensor, tensor);
  }
  file << "}}";
}

void compare(const fs::path& root) {
  dump_compare::DumpCompareOptions options;
  options.target = root / "target/dump.json";
  options.golden = root / "golden/dump.json";
  options.threads = kThreads;
  dump_compare::DumpCompareEvents events;
  events.on_rows = [](const dump_compare::EntryRows&) -> Result<void> { return {}; };
  const auto dumps = dump_compare::open_dumps(options);
  if (dumps) {
    const auto totals = dump_compare::compare(*dumps, options, events);
    if (totals && totals->rows == (*totals)[dump_compare::Outcome::kPass]) return;
  }
  fmt::print(stderr, "the comparison went wrong\n");
  std::exit(EXIT_FAILURE);
}

void run(const Case& which, const fs::path& root, std::span<const std::uint64_t> words) {
  write_side(root / "target", which, true);
  write_side(root / "golden", which, false);
  volatile std::uint64_t keep = 0;
  compare(root);
  std::array<double, kRepetitions> ours{};
  std::array<double, kRepetitions> reading{};
  std::array<double, kRepetitions> cpu{};
  std::array<double, kRepetitions> reading_cpu{};
  for (std::size_t i = 0; i < kRepetitions; ++i) {
    const double start = bench::cpu_seconds();
    reading[i] = bench::seconds([&] { keep = bench::read_all(words, kThreads); });
    const double before = bench::cpu_seconds();
    reading_cpu[i] = before - start;
    ours[i] = bench::seconds([&] { compare(root); });
    cpu[i] = bench::cpu_seconds() - before;
  }
  fs::remove_all(root);
  const auto bytes = static_cast<double>(2 * kSideBytes);
  const double speed = bytes / bench::median(ours) * 1e-9;
  const double yardstick = static_cast<double>(words.size_bytes()) / bench::median(reading) * 1e-9;
  const double percent = 100 * speed / yardstick;
  const double cpu_speed = bytes / bench::median(cpu) * 1e-9;
  const double cpu_yardstick =
      static_cast<double>(words.size_bytes()) / bench::median(reading_cpu) * 1e-9;
  fmt::print("{:<20} {:>7.2f} {:>8.2f} {:>6.0f} % {:>6} % {:>5} {:>8.2f} {:>8.2f} {:>6.0f} %\n",
             which.name, speed, yardstick, percent, which.target_percent,
             percent >= which.target_percent ? "yes" : "NO", cpu_speed, cpu_yardstick,
             100 * cpu_speed / cpu_yardstick);
  std::fflush(stdout);
}

void run_statistics(const fs::path& root) {
  constexpr std::size_t kCalls = 100'000;
  write_calls(root / "target", kCalls);
  write_calls(root / "golden", kCalls);
  compare(root);
  std::array<double, kRepetitions> ours{};
  std::array<double, kRepetitions> cpu{};
  for (std::size_t i = 0; i < kRepetitions; ++i) {
    const double before = bench::cpu_seconds();
    ours[i] = bench::seconds([&] { compare(root); });
    cpu[i] = bench::cpu_seconds() - before;
  }
  fs::remove_all(root);
  fmt::print("statistics, {} calls: {:.2f} s, {:.2f} CPU s, peak {:.0f} MB\n", kCalls,
             bench::median(ours), bench::median(cpu), bench::resident_bytes("VmHWM:") * 1e-6);
}

}  // namespace

int main(int argc, char** argv) {
  const fs::path parent = argc > 1 ? argv[1] : fs::temp_directory_path();
  const std::string_view only = argc > 2 ? argv[2] : "";
  const fs::path root = parent / fmt::format("dump_compare_bench_{}", ::getpid());
  if (std::string_view("statistics").starts_with(only)) run_statistics(root);
  std::vector<std::uint64_t> words(std::size_t{64} << 20, 1);
  fmt::print("{:<20} {:>7} {:>8} {:>8} {:>8} {:>5} {:>8} {:>8} {:>8}\n", "real data", "GB/s",
             "reading", "ratio", "wanted", "met", "GB/cpu s", "reading", "ratio");
  for (const Case& which : kCases) {
    if (which.name.starts_with(only)) run(which, root, words);
  }
  return EXIT_SUCCESS;
}
