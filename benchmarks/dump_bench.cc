// SPDX-License-Identifier: Apache-2.0
// Measures how fast a recording is read. Ingest (open_dump and every call) is measured beside
// simdjson's DOM on the same bytes; run as it is, it repeats each nine times, interleaved, and
// prints the ratio of the medians.
//
// usage: dump_bench [MEGABYTES] [options of Google Benchmark]
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <simdjson.h>

#include "dump/dump_json.h"
#include "dump/json_scan.h"
#include "dump/tensor_file.h"

namespace msprobe::dump {
namespace {

namespace fs = std::filesystem;

std::size_t file_bytes = std::size_t{200} << 20;

// Text as Python's json.dump(indent=1) writes it, with the mix of values a training step has.
class DumpMaker {
 public:
  std::string make(std::size_t size_bytes) {
    out_ =
        "{\n \"task\": \"statistics\",\n \"level\": \"L1\",\n \"framework\": \"pytorch\",\n"
        " \"dump_data_dir\": null,\n \"data\": {";
    for (int call = 0; out_.size() < size_bytes; ++call) add_call(call);
    out_ += "\n }\n}";
    return std::move(out_);
  }

 private:
  static constexpr const char* kNames[] = {"Functional.linear", "Torch.matmul",
                                           "Tensor.__add__",    "Functional.layer_norm",
                                           "Tensor.mul_",       "Torch.sqrt"};

  void add_call(int call) {
    const std::string name = fmt::format("{}.{}", kNames[call % 6], call / 6);
    const char* comma = call == 0 ? "" : ",";
    out_ += fmt::format("{}\n  \"{}.forward\": {{\n   \"input_args\": [\n", comma, name);
    add_tensor(3);
    out_ += ",\n";
    add_tensor(2);
    out_ += ",\n    {\n     \"type\": \"float\",\n     \"value\": 0.1\n    },\n    null\n   ],\n";
    out_ +=
        "   \"input_kwargs\": {\n    \"dim\": {\n     \"type\": \"int\",\n     \"value\": -1\n"
        "    }\n   },\n   \"output\": [\n";
    add_tensor(3);
    out_ += "\n   ]\n  }";
    if (call % 4 != 0) return;
    out_ += fmt::format(",\n  \"{}.backward\": {{\n   \"input\": [\n", name);
    add_tensor(3);
    out_ += "\n   ],\n   \"output\": [\n";
    add_tensor(3);
    out_ += "\n   ]\n  }";
  }

  void add_tensor(int rank) {
    out_ +=
        "    {\n     \"type\": \"torch.Tensor\",\n     \"dtype\": \"torch.float32\",\n"
        "     \"shape\": [\n";
    for (int i = 0; i < rank; ++i) {
      out_ += fmt::format("      {}{}\n", 1 + random_() % 1024, i + 1 < rank ? "," : "");
    }
    out_ += "     ],\n";
    for (const char* statistic : {"Max", "Min", "Mean", "Norm"}) {
      out_ += fmt::format("     \"{}\": {},\n", statistic,
                          static_cast<double>(static_cast<float>(normal_(random_))));
    }
    out_ += "     \"requires_grad\": true\n    }";
  }

  std::string out_;
  std::mt19937 random_{1};
  std::normal_distribution<double> normal_;
};

const fs::path& dump_path() {
  static const fs::path path = [] {
    fs::path made = fs::temp_directory_path() / fmt::format("dump_bench_{}.json", ::getpid());
    std::ofstream(made, std::ios::binary) << DumpMaker().make(file_bytes);
    return made;
  }();
  return path;
}

const simdjson::padded_string& dump_text() {
  static const simdjson::padded_string text =
      simdjson::padded_string::load(dump_path().string()).value_unsafe();
  return text;
}

void count_bytes(benchmark::State& state) {
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * dump_text().size()));
}

void simdjson_dom(benchmark::State& state) {
  const simdjson::padded_string& text = dump_text();
  for (auto _ : state) {
    simdjson::dom::parser parser;
    benchmark::DoNotOptimize(parser.parse(text).error());
  }
  count_bytes(state);
}

void open_only(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(open_dump(dump_path()));
  count_bytes(state);
}

void ingest(benchmark::State& state) {
  for (auto _ : state) {
    const auto index = open_dump(dump_path());
    CallParser parser;
    for (const CallSlice& slice : index->calls) {
      const auto call = parser.parse(slice, "dump.json");
      if (!call) state.SkipWithError(call.error().message.c_str());
    }
  }
  count_bytes(state);
}

void scan(benchmark::State& state, std::size_t (*end_of)(std::string_view, std::size_t)) {
  const std::string_view text(dump_text().data(), dump_text().size());
  for (auto _ : state) benchmark::DoNotOptimize(end_of(text, 0));
  count_bytes(state);
}

void load_small(benchmark::State& state, const char* file) {
  const fs::path path = fs::path(MSPROBE_SOURCE_DIR) / "tests/data" / file;
  const auto directory = Directory::open(path.parent_path());
  const std::string name = path.filename().string();
  for (auto _ : state) {
    const auto tensor = load_tensor_file(*directory, name);
    if (!tensor) state.SkipWithError(tensor.error().message.c_str());
  }
}

BENCHMARK(simdjson_dom)->Unit(benchmark::kMillisecond)->Iterations(1);
BENCHMARK(ingest)->Unit(benchmark::kMillisecond)->Iterations(1);
BENCHMARK(open_only)->Unit(benchmark::kMillisecond)->Iterations(1);
BENCHMARK_CAPTURE(scan, reference, &container_end_reference)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(scan, container_end, &container_end)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(load_small, pt, "pt/float32.pt");
BENCHMARK_CAPTURE(load_small, npy, "npy/f4.npy");

// Shows the medians as usual and remembers them for the ratio.
class RatioReporter : public benchmark::ConsoleReporter {
 public:
  void ReportRuns(const std::vector<Run>& runs) override {
    ConsoleReporter::ReportRuns(runs);
    for (const Run& run : runs) {
      if (run.aggregate_name != "median") continue;
      medians_[run.run_name.function_name] = {run.GetAdjustedRealTime(), run.GetAdjustedCPUTime()};
    }
  }
  void Finalize() override {
    ConsoleReporter::Finalize();
    if (!medians_.contains("ingest") || !medians_.contains("simdjson_dom")) return;
    const Times dom = medians_["simdjson_dom"];
    const Times ingest = medians_["ingest"];
    fmt::print(
        "ingest at {:.0f} % of the speed of simdjson's DOM by the clock, {:.0f} % by CPU time\n",
        100 * dom.real / ingest.real, 100 * dom.cpu / ingest.cpu);
  }

 private:
  struct Times {
    double real, cpu;
  };
  std::map<std::string, Times> medians_;
};

}  // namespace
}  // namespace msprobe::dump

int main(int argc, char** argv) {
  std::vector<char*> arguments(argv, argv + argc);
  if (argc > 1 && argv[1][0] != '-') {
    msprobe::dump::file_bytes = std::strtoull(argv[1], nullptr, 10) << 20;
    arguments.erase(arguments.begin() + 1);
  }
  std::string repetitions = "--benchmark_repetitions=9";
  std::string interleaving = "--benchmark_enable_random_interleaving=true";
  std::string aggregates = "--benchmark_report_aggregates_only=true";
  arguments.insert(arguments.begin() + 1,
                   {repetitions.data(), interleaving.data(), aggregates.data()});
  int count = static_cast<int>(arguments.size());
  benchmark::Initialize(&count, arguments.data());
  msprobe::dump::RatioReporter reporter;
  benchmark::RunSpecifiedBenchmarks(&reporter);
  std::filesystem::remove(msprobe::dump::dump_path());
  return 0;
}
