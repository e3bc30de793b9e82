// SPDX-License-Identifier: Apache-2.0
// Measures how fast a dump is compared from the page cache, and how fast memory is read: real
// data, GE against FX, two threads, nine times each and interleaved; ratios are of medians.
//
// usage: torchair_bench [DIRECTORY [CASE]]    (needs 2.3 GB there, and as much page cache)
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <unistd.h>

#include "bench_tools.h"
#include "core/npy_header.h"
#include "read_yardstick.h"
#include "torchair/graph_compare.h"

namespace {

using namespace msprobe;
namespace fs = std::filesystem;

constexpr std::size_t kDumpBytes = std::size_t{2200} << 20;
constexpr std::int64_t kRow = 4096;

struct Case {
  std::string_view name;
  DType device;
  DType bench;
  std::size_t files;  // the dump in so many operators
  int target_percent;
};
constexpr Case kCases[] = {
    {"float32 / float32, 2 files", DType::kFloat32, DType::kFloat32, 2, 45},
    {"float32 / float32, 500 files", DType::kFloat32, DType::kFloat32, 500, 45},
    {"float16 / float16, 2 files", DType::kFloat16, DType::kFloat16, 2, 33},
    {"bfloat16 / float32, 2 files", DType::kBFloat16, DType::kFloat32, 2, 33},
};

std::string varint(std::uint64_t value) {
  std::string out;
  for (; value > 0x7f; value >>= 7) out += static_cast<char>((value & 0x7f) | 0x80);
  return out + static_cast<char>(value);
}
std::string number(int field, std::uint64_t value) {
  return varint(static_cast<std::uint64_t>(field) << 3) + varint(value);
}
std::string block(int field, const std::string& content) {
  return varint(static_cast<std::uint64_t>(field) << 3 | 2) + varint(content.size()) + content;
}

std::uint64_t type_code(DType dtype) {
  return dtype == DType::kFloat32 ? 1 : dtype == DType::kFloat16 ? 2 : 27;
}

std::string ge_header(const std::string& op, DType dtype, std::int64_t rows) {
  const auto size = static_cast<std::uint64_t>(rows * kRow) * size_bytes(dtype);
  const std::string shape =
      block(1, varint(static_cast<std::uint64_t>(rows)) + varint(static_cast<std::uint64_t>(kRow)));
  const std::string output = number(1, type_code(dtype)) + number(2, 2) + block(3, shape) +
                             number(6, size) + block(7, shape) + number(9, 0x1000);
  const std::string message = block(1, "2.0") + block(3, output) + block(6, op);
  std::string header(8, '\0');
  const std::uint64_t length = message.size();
  std::memcpy(header.data(), &length, sizeof(length));
  return header + message;
}

// Normal numbers with the noise of another device.
void append(std::string& out, DType dtype, std::uint64_t i, bool is_device) {
  auto [value, bits] = bench::element(i);
  if (is_device && dtype == DType::kFloat32) value *= 1 + 1e-6F * static_cast<float>(bits >> 60);
  // About one unit in the last place of a half type, in half of the elements that are not small.
  if (is_device && dtype != DType::kFloat32 && std::abs(value) > 0.1F && (bits >> 63) == 1) {
    value *= dtype == DType::kFloat16 ? 1 + 0x1p-11F : 1 + 0x1p-8F;
  }
  bench::append_element(out, dtype, value);
}

void write_tensor(const fs::path& path, const std::string& header, DType dtype, std::int64_t rows,
                  bool is_device) {
  // In large pieces, as the runtime and numpy write: the page cache then has large pages.
  constexpr std::int64_t kPiece = std::int64_t{4} << 20;
  std::string piece;
  for (std::int64_t i = 0; i < std::min(kPiece, rows * kRow); ++i) {
    append(piece, dtype, static_cast<std::uint64_t>(i), is_device);
  }
  std::ofstream file(path, std::ios::binary);
  file << header;
  bench::write_repeatedly(file, piece, static_cast<std::uint64_t>(rows * kRow) * size_bytes(dtype));
}

// The dump, and its size in bytes.
std::size_t write_dump(const fs::path& root, const Case& which) {
  const fs::path ge = root / "msprobe_ge_dump";
  const fs::path ge_files = ge / "worldsize1_global_rank0/20250818231306/0/graph_1_0/1/0";
  const fs::path fx_files = root / "msprobe_fx_dump/worldsize1_global_rank0/graph_1/0";
  fs::create_directories(ge_files);
  fs::create_directories(fx_files);
  const std::size_t row_bytes = kRow * (size_bytes(which.device) + size_bytes(which.bench));
  const auto rows = static_cast<std::int64_t>(kDumpBytes / which.files / row_bytes);
  std::string graph = "name: \"graph_1\"\n";
  for (std::size_t i = 0; i < which.files; ++i) {
    const std::string op = fmt::format("Relu_{}", i);
    const std::string fx = fmt::format("relu_{}-aten.relu.default.OUTPUT.0", i);
    graph += fmt::format(
        "op {{ name: \"{}\" type: \"Relu\" output_desc {{ attr {{ key: \"_fx_tensor_name\" value "
        "{{ "
        "s: \"{}\" }} }} }} }}\n",
        op, fx);
    write_tensor(ge_files / fmt::format("Relu.{}.1.2.{}", op, 1755558790000000 + i),
                 ge_header(op, which.device, rows), which.device, rows, true);
    const std::int64_t shape[] = {rows, kRow};
    write_tensor(fx_files / fmt::format("{}.20250818231440{:06}.npy", fx, i),
                 npy_header(which.bench, shape), which.bench, rows, false);
  }
  std::ofstream(ge / "dynamo_original_graph_1_rank_0_pid_1_ts_20250818231305928590.txt") << graph;
  return which.files * static_cast<std::size_t>(rows) * row_bytes;
}

void compare(const fs::path& root) {
  torchair::GraphCompareOptions options;
  options.plan.device_root = root / "msprobe_ge_dump";
  options.plan.bench_root = root / "msprobe_fx_dump";
  options.threads = bench::kReaders;
  torchair::GraphCompareEvents events;
  events.on_row = [](const torchair::TensorRow&) -> Result<bool> { return true; };
  const auto totals = torchair::compare(options, events);
  if (!totals || (*totals)[torchair::Outcome::kPass] != totals->rows) {
    fmt::print(stderr, "the comparison went wrong\n");
    std::exit(EXIT_FAILURE);
  }
}

void run(const Case& which, const fs::path& parent) {
  const fs::path root = parent / fmt::format("torchair_bench_{}", ::getpid());
  const auto bytes = static_cast<double>(write_dump(root, which));
  std::ofstream("/proc/self/clear_refs") << 5;
  const double resident = bench::resident_bytes("VmRSS:");
  compare(root);
  const double extra = bench::resident_bytes("VmHWM:") - resident;
  const bench::BesideReading found = bench::beside_reading(bytes, [&] { compare(root); });
  fs::remove_all(root);
  fmt::print("{:<30} {:>6.2f} {:>7.2f} {:>8.2f} {:>6.0f} % {:>6} % {:>5} {:>9.1f} MB {:>7.2f}\n",
             which.name, bytes * 1e-9, found.speed, found.reading, found.percent(),
             which.target_percent, found.percent() >= which.target_percent ? "yes" : "NO",
             extra * 1e-6, found.cpu_speed);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const fs::path parent = argc > 1 ? argv[1] : fs::temp_directory_path();
  const std::string_view wanted = argc > 2 ? argv[2] : "";
  fmt::print("{:<30} {:>6} {:>7} {:>8} {:>8} {:>8} {:>5} {:>12} {:>7}\n", "device / bench", "GB",
             "GB/s", "reading", "ratio", "target", "met", "extra memory", "GB/cpu s");
  for (const Case& which : kCases) {
    if (which.name.starts_with(wanted)) run(which, parent);
  }
  return EXIT_SUCCESS;
}
