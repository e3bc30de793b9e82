// SPDX-License-Identifier: Apache-2.0
// Recorded pairs, measured, judged and written: each cell as the public tool wrote it.
#include <cmath>
#include <cstring>
#include <filesystem>
#include <memory>

#include <gtest/gtest.h>
#include <simdjson.h>

#include "core/file.h"
#include "core/float_formats.h"
#include "documented/judge.h"
#include "measure/metrics.h"
#include "tables/csv_reader.h"
#include "tables/detail_columns.h"

namespace msprobe::tables {
namespace {

namespace fs = std::filesystem;
using Json = simdjson::dom::element;

const fs::path kRecorded = fs::path(MSPROBE_SOURCE_DIR) / "tests/data/metrics";

// The digits between "'shape': (" and ")".
Shape shape_in(std::string_view header) {
  Shape shape;
  const std::size_t start = header.find('(', header.find("'shape'"));
  const std::size_t end = header.find(')', start);
  std::string digits;
  for (std::size_t i = start + 1; i <= end; ++i) {
    if (std::isdigit(static_cast<unsigned char>(header[i])) != 0) {
      digits += header[i];
    } else if (!digits.empty()) {
      shape.push_back(std::stoll(digits));
      digits.clear();
    }
  }
  return shape;
}

// A version 1 npy file; bfloat16 is stored there as float32 of the same values.
Tensor read_npy(const fs::path& path, DType dtype) {
  const FileBytes file = load_file(path).value();
  const std::string_view text = file.text();
  const std::size_t start = 10 + static_cast<unsigned char>(text.at(8)) +
                            256 * static_cast<std::size_t>(static_cast<unsigned char>(text.at(9)));
  const auto data = file.bytes.subspan(start);
  auto bytes = std::make_shared<std::vector<std::byte>>(data.begin(), data.end());
  if (dtype == DType::kBFloat16) {
    for (std::size_t i = 0; i < bytes->size() / 4; ++i) {
      float value = 0;
      std::memcpy(&value, bytes->data() + 4 * i, 4);
      const std::uint16_t bits = float_to_bfloat16(value);
      std::memcpy(bytes->data() + 2 * i, &bits, 2);
    }
    bytes->resize(bytes->size() / 2);
  }
  return {dtype, shape_in(text.substr(0, start)), bytes, *bytes};
}

Tensor tensor_of(Json json, const char* side, const char* dtype) {
  return read_npy(kRecorded / std::string_view(json[side]),
                  parse_dtype(std::string_view(json[dtype])).value());
}

documented::DetailRow judge_recorded(Json json) {
  const Tensor bench = tensor_of(json, "bench", "bench_torch_dtype");
  const Tensor device = tensor_of(json, "device", "device_torch_dtype");
  static const documented::Standards kBuiltIn;
  const documented::Context context{.row_name = "row",
                                    .api = std::string_view(json["api"]),
                                    .profile = documented::Profile::kReference,
                                    .standards = kBuiltIn};
  const documented::OutputPair pair{bench.dtype, bench.shape, device.dtype, device.shape};
  if (auto row = documented::judge_structure(pair, context)) return *row;
  const auto options = documented::measure_options(pair, context);
  return documented::judge_tensor(pair, measure::measure(device.view(), bench.view(), options),
                                  context);
}

bool scientific(std::string_view text) { return text.find('e') != std::string_view::npos; }

// The same text; of numbers the last digits may differ, since sums depend on the order of adding.
void expect_cell(const std::string& found, std::string_view wanted, double tolerance) {
  if (found == wanted) return;
  const auto x = parse_number(found);
  const auto y = parse_number(wanted);
  ASSERT_TRUE(x && y) << found << " instead of " << wanted;
  EXPECT_LE(std::abs(*x - *y), tolerance * std::max(std::abs(*x), std::abs(*y)) + 1e-12)
      << found << " instead of " << wanted;
  EXPECT_EQ(scientific(found), scientific(wanted)) << found << " instead of " << wanted;
}

TEST(GoldenRows, AreWrittenAsThePublicToolWroteThem) {
  simdjson::dom::parser parser;
  std::size_t cells = 0;
  for (const Json json : parser.load((kRecorded / "index.json").string())["cases"].get_array()) {
    SCOPED_TRACE(std::string_view(json["case"]));
    std::string line;
    append_record(line, detail_columns(documented::Profile::kReference), judge_recorded(json),
                  kDefaultPrecision);
    CsvReader reader(line, "row");
    ASSERT_TRUE(*reader.next());
    // The public tool adds up in single precision unless the benchmark is wider.
    const bool wide = std::string_view(json["bench_torch_dtype"]) == "torch.float64";
    const double tolerance = wide ? 1e-9 : 1e-4;
    std::size_t i = 1;  // the recorded row starts behind the name
    for (const Json wanted : json["expected"]["acc_check_row"]["csv_cells"].get_array()) {
      expect_cell(std::string(reader.cells().at(i)), wanted, tolerance);
      ++i;
      ++cells;
    }
  }
  EXPECT_GT(cells, 7000U);
}

}  // namespace
}  // namespace msprobe::tables
