// SPDX-License-Identifier: Apache-2.0
// Measures how fast two dumps are compared from the page cache. Real data: beside how fast the
// machine reads memory, two threads, nine times each and interleaved; ratios are of medians.
// Statistics: the seconds of 100,000 calls.
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

#include <fmt/format.h>
#include <unistd.h>

#include "bench_tools.h"
#include "collect/pt_file.h"
#include "core/crc32.h"
#include "core/npy_header.h"
#include "dump_compare/compare_dumps.h"
#include "read_yardstick.h"

namespace {

using namespace msprobe;
namespace fs = std::filesystem;

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
    auto [value, bits] = bench::element(static_cast<std::uint64_t>(i));
    if (is_target && (bits >> 63) == 1) value *= 1 + noise_of(dtype);
    bench::append_element(piece, dtype, value);
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
  bench::write_repeatedly(file, piece, static_cast<std::uint64_t>(count) * size_bytes(dtype));
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
  options.threads = bench::kReaders;
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

void run(const Case& which, const fs::path& root) {
  write_side(root / "target", which, true);
  write_side(root / "golden", which, false);
  compare(root);
  const bench::BesideReading found =
      bench::beside_reading(static_cast<double>(2 * kSideBytes), [&] { compare(root); });
  fs::remove_all(root);
  fmt::print("{:<20} {:>7.2f} {:>8.2f} {:>6.0f} % {:>6} % {:>5} {:>8.2f} {:>8.2f} {:>6.0f} %\n",
             which.name, found.speed, found.reading, found.percent(), which.target_percent,
             found.percent() >= which.target_percent ? "yes" : "NO", found.cpu_speed,
             found.cpu_reading, 100 * found.cpu_speed / found.cpu_reading);
  std::fflush(stdout);
}

void run_statistics(const fs::path& root) {
  constexpr std::size_t kCalls = 100'000;
  write_calls(root / "target", kCalls);
  write_calls(root / "golden", kCalls);
  compare(root);
  const bench::Medians medians = bench::time_repeatedly([&] { compare(root); }, [] {});
  fs::remove_all(root);
  fmt::print("statistics, {} calls: {:.2f} s, {:.2f} CPU s, peak {:.0f} MB\n", kCalls,
             medians.elapsed, medians.cpu, bench::resident_bytes("VmHWM:") * 1e-6);
}

}  // namespace

int main(int argc, char** argv) {
  const fs::path parent = argc > 1 ? argv[1] : fs::temp_directory_path();
  const std::string_view only = argc > 2 ? argv[2] : "";
  const fs::path root = parent / fmt::format("dump_compare_bench_{}", ::getpid());
  if (std::string_view("statistics").starts_with(only)) run_statistics(root);
  fmt::print("{:<20} {:>7} {:>8} {:>8} {:>8} {:>5} {:>8} {:>8} {:>8}\n", "real data", "GB/s",
             "reading", "ratio", "wanted", "met", "GB/cpu s", "reading", "ratio");
  for (const Case& which : kCases) {
    if (which.name.starts_with(only)) run(which, root);
  }
  return EXIT_SUCCESS;
}
