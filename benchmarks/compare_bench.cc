// SPDX-License-Identifier: Apache-2.0
// api_precision_compare on made-up details files: seconds and peak memory for 1 k, 20 k and 1 M
// rows. Each size runs in its own process, so that its peak is its own.
//
// usage: compare_bench [ROWS...]
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/verdict.h"
#include "documented/detail_row.h"
#include "documented/profile.h"
#include "final_verdict/api_precision_compare.h"
#include "tables/detail_columns.h"
#include "tables/output_file.h"

namespace {

namespace fs = std::filesystem;
using namespace msprobe;

constexpr std::string_view kLine =
    "{:>9} {:>9.3f} {:>9.3f} {:>9.2f} {:>9.1f} {:>10.0f} {:>8} {:>8}\n";

// Rows as a check writes them: five metrics, a message of the ladder, four rows a call.
Result<void> write_details(const fs::path& path, std::uint64_t rows, unsigned seed) {
  Result<tables::OutputFile> file = tables::OutputFile::create(path);
  if (!file) return propagate(file);
  const auto columns = tables::detail_columns(documented::Profile::kReference);
  file->buffer() += tables::csv_header(columns, tables::Titles::kEnglish);
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> metric(1e-6, 1e-3);
  const auto cell = [&] {
    return documented::Cell{documented::Cell::Kind::kDouble, metric(random)};
  };
  documented::DetailRow row;
  row.bench_dtype = "torch.float64";
  row.device_dtype = "torch.float32";
  row.shape = "(8, 1024, 4096)";
  row.status = Verdict::kPass;
  row.message =
      "\nMax abs error is less than 0.001, consider as pass, skip other check and set to SPACE.\n";
  constexpr std::string_view kOutputs[] = {"forward.output.0", "backward.output.0",
                                           "backward.output.1", "backward.output.2"};
  for (std::uint64_t i = 0; i < rows; ++i) {
    row.api_name = fmt::format("Functional.layer_norm.{}.{}", i / 4, kOutputs[i % 4]);
    row.cosine = row.max_abs_error = row.error_balance = cell();
    row.rmse = cell();
    row.small_value_error_ratio = row.max_relative_error = row.mean_relative_error = cell();
    tables::append_record(file->buffer(), columns, row, tables::kDefaultPrecision);
    const Result<void> flushed = file->flush_if_full();
    if (!flushed) return flushed;
  }
  return file->commit();
}

rusage used() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage;
}

double cpu_seconds(const rusage& usage) {
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

int compare(const fs::path& directory, std::uint64_t rows) {
  final_verdict::PrecisionOptions options;
  options.npu_csv = directory / "npu.csv";
  options.gpu_csv = directory / "gpu.csv";
  options.out_dir = directory;
  options.timestamp = "20260101000000";
  const rusage before = used();
  const auto start = std::chrono::steady_clock::now();
  const Result<final_verdict::PrecisionOutcome> outcome =
      final_verdict::api_precision_compare(options);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  if (!outcome) {
    fmt::print(stderr, "{}\n", outcome.error().message);
    return EXIT_FAILURE;
  }
  const rusage after = used();
  const auto grown = static_cast<double>(after.ru_maxrss - before.ru_maxrss) * 1024;
  const double cpu = cpu_seconds(after) - cpu_seconds(before);
  const auto count = static_cast<double>(rows);
  fmt::print(fmt::runtime(kLine), rows, took.count(), cpu, cpu / count * 1e6, grown / 1e6,
             grown / count, outcome->rows.pass, outcome->rows.error);
  std::fflush(stdout);
  return EXIT_SUCCESS;
}

int run_in_child(const fs::path& directory, std::uint64_t rows) {
  for (const auto* const name : {"npu.csv", "gpu.csv"}) {
    const Result<void> written = write_details(directory / name, rows, name[0] == 'n' ? 1U : 2U);
    if (!written) {
      fmt::print(stderr, "{}\n", written.error().message);
      return EXIT_FAILURE;
    }
  }
  std::fflush(stdout);
  const pid_t child = ::fork();
  if (child == 0) std::_Exit(compare(directory, rows));
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILURE;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::uint64_t> sizes = {1'000, 20'000, 1'000'000};
  if (argc > 1) {
    sizes.clear();
    for (int i = 1; i < argc; ++i) sizes.push_back(std::strtoull(argv[i], nullptr, 10));
  }
  const fs::path directory =
      fs::temp_directory_path() / fmt::format("compare_bench_{}", ::getpid());
  fs::create_directories(directory);
  fmt::print("{:>9} {:>9} {:>9} {:>9} {:>9} {:>10} {:>8} {:>8}\n", "rows", "seconds", "cpu",
             "us/row", "peak MB", "bytes/row", "pass", "error");
  int status = EXIT_SUCCESS;
  for (const std::uint64_t rows : sizes) {
    if (status == EXIT_SUCCESS) status = run_in_child(directory, rows);
  }
  fs::remove_all(directory);
  return status;
}
