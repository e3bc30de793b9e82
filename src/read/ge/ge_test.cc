// SPDX-License-Identifier: Apache-2.0
// The readers of src/read/ge: the byte examples of the format, and what damaged files become.
#include <array>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ge/dump_file.h"
#include "ge/element_type.h"
#include "ge/elements.h"
#include "ge/file_name.h"
#include "ge/graph_text.h"
#include "ge/statistics_file.h"
#include "ge/stored_layout.h"
#include "scratch_directory_for_test.h"

namespace msprobe::ge {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::byte> hex(std::string_view text) {
  std::vector<std::byte> bytes;
  std::string digits;
  for (const char c : text) {
    if (std::isxdigit(static_cast<unsigned char>(c)) == 0) continue;
    digits += c;
    if (digits.size() < 2) continue;
    bytes.push_back(static_cast<std::byte>(std::stoi(digits, nullptr, 16)));
    digits.clear();
  }
  return bytes;
}

FileBytes file_of(const std::vector<std::byte>& bytes) { return {nullptr, bytes}; }

template <class T>
std::vector<T> values(const DumpTensor& tensor) {
  const Result<Elements> elements = elements_of(tensor, {});
  EXPECT_TRUE(elements) << elements.error().message;
  std::vector<T> out(elements->count);
  read_elements(*elements, 0, elements->count, reinterpret_cast<std::byte*>(out.data()));
  return out;
}

constexpr std::string_view kNormal = R"(
    49 00 00 00 00 00 00 00 0a 03 32 2e 30 10 95 c9
    e5 f5 c0 84 84 03 1a 18 08 01 10 02 1a 03 0a 01
    02 30 08 3a 03 0a 01 02 48 80 88 80 89 84 d8 04
    22 18 08 02 10 02 1a 03 0a 01 02 28 04 32 03 0a
    01 02 40 80 80 80 89 84 d8 04 32 05 41 64 64 5f
    32 00 3c 00 c0 00 00 c0 3f 00 00 00 c0)";
constexpr std::string_view kNano = R"(
    c900000000000000 5a5a5a5a 01000000 04000000 4c000000 01000000
    01000000 02000000 00000000 0010000000000000 0000000000000000 0400000000000000 20000000
    00000000 08000000 0200000000000000  01000000 08000000 0200000000000000
    05000000 65000000 01000000
    00000000 02000000 00000000 00000000 00000000 02000000 0020000000000000 0000000000000000
    0800000000000000 2d000000 00000000 08000000 0200000000000000  01000000 08000000 0200000000000000
    02000000 05000000 4164645f32 003c00c0 0000c03f000000c0)";
constexpr std::string_view kSingle =
    "0a 03 31 2e 30 1a 0f 08 01 1a 03 0a 01 01 2a 04 00 00 80 3f 30 04";

TEST(DumpFile, ReadsTheNormalContainer) {
  const auto bytes = hex(kNormal);
  const Result<DumpFile> file = read_dump_file(file_of(bytes));
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->op_name, "Add_2");
  EXPECT_EQ(file->time, 1706596912161941U);
  EXPECT_EQ(file->trailing_bytes, 0U);
  ASSERT_EQ(file->inputs.size(), 1U);
  ASSERT_EQ(file->outputs.size(), 1U);
  EXPECT_EQ(element_type(file->inputs[0].type)->text, "float16");
  EXPECT_THAT(values<std::uint16_t>(file->inputs[0]), ElementsAre(0x3c00, 0xc000));
  EXPECT_THAT(values<float>(file->outputs[0]), ElementsAre(1.5F, -2.0F));
}

TEST(DumpFile, ReadsTheNanoContainer) {
  const auto bytes = hex(kNano);
  ASSERT_EQ(bytes.size(), 221U);
  const Result<DumpFile> file = read_dump_file(file_of(bytes));
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_THAT(values<std::uint16_t>(file->inputs.at(0)), ElementsAre(0x3c00, 0xc000));
  EXPECT_THAT(values<float>(file->outputs.at(0)), ElementsAre(1.5F, -2.0F));
  EXPECT_EQ(file->outputs[0].original_op->name, "Add_2");
}

TEST(DumpFile, ReadsTheSingleMessage) {
  const auto bytes = hex(kSingle);
  const Result<DumpFile> file = read_dump_file(file_of(bytes));
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_THAT(values<float>(file->outputs.at(0)), ElementsAre(1.0F));
}

// A cut never yields a tensor: the file is refused, or (container C, cut behind a field) it names
// fewer tensors.
TEST(DumpFile, CutAnywhereIsRefused) {
  for (const std::string_view example : {kNormal, kNano, kSingle}) {
    const auto bytes = hex(example);
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      const std::vector<std::byte> cut(bytes.begin(),
                                       bytes.begin() + static_cast<std::ptrdiff_t>(size));
      const Result<DumpFile> file = read_dump_file(file_of(cut));
      if (file) {
        EXPECT_EQ(file->inputs.size() + file->outputs.size(), 0U) << size;
      }
    }
  }
}

TEST(DumpFile, ReadsTheFragmentsOfTheFormat) {
  // Output with sub_format -1; input with two-byte dimension; unpacked dims; bool scalar.
  const auto bytes =
      hex("0a03312e30 1a0b 40ffffffffffffffffff01 2207 1a050a03ac0202 2206 1a04 08020803 2209 080b "
          "1a00 "
          "2201 01 2801");
  const Result<DumpFile> file = read_dump_file(file_of(bytes));
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->outputs.at(0).sub_format, 0xffffffffU);
  EXPECT_THAT(file->inputs.at(0).shape, ElementsAre(300, 2));
  EXPECT_THAT(file->inputs.at(1).shape, ElementsAre(2, 3));
  EXPECT_TRUE(file->inputs.at(2).has_shape);
  EXPECT_THAT(values<std::uint8_t>(file->inputs.at(2)), ElementsAre(1));
}

TEST(DumpFile, ATensorWithoutAddressHasNoBytes) {
  auto bytes = hex(kNormal);
  // The address of the input is 0, and its four bytes are gone.
  const auto from = hex("40 80 80 80 89 84 d8 04");
  const auto at = std::search(bytes.begin(), bytes.end(), from.begin(), from.end());
  ASSERT_NE(at, bytes.end());
  for (std::size_t i = 1; i < 7; ++i) at[static_cast<std::ptrdiff_t>(i)] = std::byte{0x80};
  at[7] = std::byte{0};
  bytes.erase(bytes.begin() + 0x51, bytes.begin() + 0x55);
  const Result<DumpFile> file = read_dump_file(file_of(bytes));
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_TRUE(file->inputs[0].absent);
  EXPECT_THAT(values<float>(file->outputs[0]), ElementsAre(1.5F, -2.0F));
}

DumpTensor tensor_of(std::uint32_t type, Shape shape, const std::vector<std::byte>& bytes) {
  DumpTensor tensor;
  tensor.type = type;
  tensor.has_shape = true;
  tensor.shape = std::move(shape);
  tensor.size_bytes = bytes.size();
  tensor.bytes = bytes;
  return tensor;
}

TEST(Elements, UnpacksSmallTypes) {
  EXPECT_THAT(values<std::int8_t>(tensor_of(28, {4}, hex("21 8f"))), ElementsAre(1, 2, -1, -8));
  EXPECT_THAT(values<std::int8_t>(tensor_of(28, {3}, hex("21 8f"))), ElementsAre(1, 2, -1));
  EXPECT_THAT(values<std::int8_t>(tensor_of(30, {4}, hex("e4"))), ElementsAre(0, 1, -2, -1));
  EXPECT_THAT(values<std::int8_t>(tensor_of(31, {4}, hex("e4"))), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(values<std::int8_t>(tensor_of(29, {3}, hex("a0"))), ElementsAre(1, 0, 1));
  EXPECT_THAT(values<float>(tensor_of(36, {3}, hex("7f 80 7e"))), ElementsAre(1.0F, 2.0F, 0.5F));
  EXPECT_THAT(values<float>(tensor_of(39, {4}, hex("72 c1"))),
              ElementsAre(1.0F, 6.0F, 0.5F, -2.0F));
  EXPECT_TRUE(std::isnan(values<float>(tensor_of(36, {1}, hex("ff")))[0]));
  // Six bits have numbers where each has a byte; how four of them share three is not public.
  EXPECT_THAT(values<float>(tensor_of(37, {3}, hex("0c 1f 21"))),
              ElementsAre(1.0F, 28.0F, -0.0625F));
  EXPECT_THAT(values<float>(tensor_of(38, {3}, hex("08 3f 01"))), ElementsAre(1.0F, -7.5F, 0.125F));
  const auto shared = hex("0c 1f 21");
  EXPECT_TRUE(elements_of(tensor_of(37, {4}, shared), {})->opaque());
}

TEST(Elements, RefusesWhatDoesNotFit) {
  const auto bytes = hex("00 00 00 00");
  EXPECT_THAT(elements_of(tensor_of(1, {2}, bytes), {}).error().message, HasSubstr("[2]"));
  EXPECT_FALSE(elements_of(tensor_of(1, {INT64_MAX, 2}, bytes), {}));
  EXPECT_FALSE(elements_of(tensor_of(99, {1}, bytes), {}));
  EXPECT_TRUE(elements_of(tensor_of(13, {1}, bytes), {})->opaque());
  EXPECT_THAT(values<float>(tensor_of(1, {-1}, bytes)), ElementsAre(0.0F));
}

// Stores `logical` order numbers through the layout and reads them back.
void expect_round_trip(const Shape& stored, const Shape& logical, TensorFormat format,
                       const std::vector<std::int32_t>& at_device) {
  DumpTensor tensor;
  tensor.type = 7;
  tensor.has_shape = true;
  tensor.shape = stored;
  tensor.original_shape = logical;
  tensor.format = static_cast<std::uint32_t>(format);
  tensor.bytes = std::as_bytes(std::span(at_device));
  const Result<Elements> elements = elements_of(tensor, {});
  ASSERT_TRUE(elements) << elements.error().message;
  EXPECT_EQ(elements->shape, logical) << elements->note;
  std::vector<std::int32_t> read(elements->count);
  for (std::uint64_t i = 0; i < elements->count; i += 3) {
    const std::uint64_t n = std::min<std::uint64_t>(3, elements->count - i);
    read_elements(*elements, i, n, reinterpret_cast<std::byte*>(read.data() + i));
  }
  std::vector<std::int32_t> wanted(elements->count);
  std::iota(wanted.begin(), wanted.end(), 0);
  EXPECT_EQ(read, wanted);
}

TEST(Layout, FractalNzWithPadding) {
  // 3 x 5 in blocks of 2 x 4: C1 = 2, N1 = 2, N0 = 2, C0 = 4.
  std::vector<std::int32_t> device(2 * 2 * 2 * 4, -1);
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 5; ++j) {
      device[static_cast<std::size_t>(((j / 4 * 2 + i / 2) * 2 + i % 2) * 4 + j % 4)] = i * 5 + j;
    }
  }
  expect_round_trip({2, 2, 2, 4}, {3, 5}, TensorFormat::kFractalNz, device);
}

TEST(Layout, Nc1hwc0CutsTheChannels) {
  // N 1, C 3 in blocks of 2, H 2, W 1.
  const std::vector<std::int32_t> device{0, 2, 1, 3, 4, -1, 5, -1};
  expect_round_trip({1, 2, 2, 1, 2}, {1, 3, 2, 1}, TensorFormat::kNc1hwc0, device);
}

TEST(Layout, ChannelsLastIsPermuted) {
  expect_round_trip({1, 2, 1, 3}, {1, 3, 2, 1}, TensorFormat::kNhwc, {0, 2, 4, 1, 3, 5});
}

TEST(Layout, WhatDoesNotFitStaysAsStored) {
  const StoredLayout layout =
      layout_of({2, 3}, {7, 5}, static_cast<std::uint32_t>(TensorFormat::kFractalNz), 0);
  EXPECT_THAT(layout.shape, ElementsAre(2, 3));
  EXPECT_FALSE(layout.note.empty());
}

TEST(DumpFile, ATensorBeyondFourGigabytesIsReadAtItsEnd) {
  constexpr std::uint64_t kCount = (std::uint64_t{5} << 30) / 4;
  const auto varint = [](std::uint64_t value) {
    std::string out;
    for (; value > 0x7f; value >>= 7) out += static_cast<char>((value & 0x7f) | 0x80);
    return out + static_cast<char>(value);
  };
  const auto block = [&](int field, const std::string& content) {
    return varint(static_cast<std::uint64_t>(field) << 3 | 2) + varint(content.size()) + content;
  };
  const std::string shape = block(1, varint(kCount));
  const std::string output = std::string("\x08\x01\x10\x02") + block(3, shape) + "\x30" +
                             varint(4 * kCount) + block(7, shape);
  const std::string message = block(1, "2.0") + block(3, output);
  std::string head(8, '\0');
  head[0] = static_cast<char>(message.size());
  head += message;
  const ScratchDirectory scratch;
  const std::filesystem::path path = scratch.path() / "sparse";
  const float last = 2.5F;
  {
    std::ofstream file(path, std::ios::binary);
    file << head;
    file.seekp(static_cast<std::streamoff>(head.size() + 4 * (kCount - 1)));
    file.write(reinterpret_cast<const char*>(&last), sizeof(last));
  }
  {
    const Result<FileBytes> file = load_file(path);
    ASSERT_TRUE(file) << file.error().message;
    const Result<DumpFile> dump = read_dump_file(*file);
    ASSERT_TRUE(dump) << dump.error().message;
    const Result<Elements> elements = elements_of(dump->outputs.at(0), *file);
    ASSERT_TRUE(elements) << elements.error().message;
    std::array<float, 2> read{};
    read_elements(*elements, kCount - 2, 2, reinterpret_cast<std::byte*>(read.data()));
    EXPECT_THAT(read, ElementsAre(0.0F, last));
  }
}

TEST(GraphText, StringsMayHoldAnything) {
  const Graph graph = read_graph_text(R"(name: "graph_1"  # a comment
attr { key: "x" value { i: 1 } }
op {
  name: "A" type: "Data"
  attr { key: "_inference_rule" value { s: "{\"a\": {\"b\": 1} } op { name: \"B\"" } }
  attr { key: "d" value { t { data: "\001\"}\\" 'x' } } }
  output_desc { name: "y" }
}
op <
  name: "l.0/" "Sub" type: "Sub"
  input: "A:-1" input: "A:0" input: "" input: "A:1"
  input_desc { attr { key: "_fx_tensor_name" value { s: "a.OUTPUT.0" } } }
  input_desc: { attr { key: "_is_unfed_optional" value { b: true } } }
  input_desc { name: "x2", dtype: DT_FLOAT; shape { dim: [ 1, 2 ] } }
  output_desc { attr { value { s: "sub-aten.sub.Tensor.OUTPUT.0" } key: "_fx_tensor_name" } }
>
)");
  EXPECT_EQ(graph.problem, "");
  EXPECT_EQ(graph.name, "graph_1");
  ASSERT_EQ(graph.ops.size(), 2U);
  const GraphOp& op = graph.ops[1];
  EXPECT_EQ(op.name, "l.0/Sub");
  ASSERT_EQ(op.inputs.size(), 2U);
  EXPECT_EQ(op.inputs[0].producer, "A");
  EXPECT_EQ(op.inputs[0].fx_name, "a.OUTPUT.0");
  EXPECT_EQ(op.inputs[1].output, 1U);
  EXPECT_THAT(op.fx_names, ElementsAre("sub-aten.sub.Tensor.OUTPUT.0"));
}

TEST(GraphText, ABreakKeepsWhatWasBefore) {
  const Graph graph = read_graph_text("op { name: \"A\" }\nop { name: \"B");
  ASSERT_EQ(graph.ops.size(), 1U);
  EXPECT_THAT(graph.problem, HasSubstr("line 2"));
}

TEST(FileName, FieldsAreCountedFromTheLeft) {
  const auto name = parse_file_name("MatMulV2.a_b.4.9.1755805648071560.4.0.7.0");
  ASSERT_TRUE(name);
  EXPECT_EQ(name->op_type, "MatMulV2");
  EXPECT_EQ(name->op_name, "a_b");
  EXPECT_EQ(name->time, 1755805648071560U);
  EXPECT_EQ(name->thread, 7U);
  EXPECT_EQ(parse_file_name("Add.Add_2.44.6.17_min_max.npz")->kind, FileKind::kInfo);
  EXPECT_EQ(parse_file_name("Add.Add_2.44.6.17.csv")->kind, FileKind::kStatistics);
  for (const auto* other : {"Opdebug.Node_OpDebug.2.1.17", "mapping.csv", "a.npy", "x.y.txt",
                            "Add.Add_2.44.6.17_min_max", "Add..1.2.3"}) {
    EXPECT_FALSE(parse_file_name(other)) << other;
  }
}

TEST(StatisticsFile, ColumnsAreFoundByTitle) {
  const auto rows = read_statistics(
      "Input/Output,Index,Data Size,Data Type,TensorFormat,Shape,Count,l2norm,Max Value,Nan Count\n"
      "Input,0,8,DT_FLOAT,ND,2x3,6,1.5,nan,2\nOutput,1,8,DT_BF16,ND,-,1,NA,,\n");
  ASSERT_TRUE(rows) << rows.error().message;
  ASSERT_EQ(rows->size(), 2U);
  EXPECT_THAT(*(*rows)[0].shape, ElementsAre(2, 3));
  EXPECT_EQ((*rows)[0].l2_norm, 1.5);
  EXPECT_TRUE(std::isnan(*(*rows)[0].max));
  EXPECT_EQ((*rows)[0].nan_count, 2);
  EXPECT_FALSE((*rows)[0].min);
  EXPECT_TRUE((*rows)[1].is_output);
  EXPECT_FALSE((*rows)[1].l2_norm);
  EXPECT_FALSE(read_statistics("Input/Output,Index\nInput,x\n"));
  EXPECT_FALSE(read_statistics(""));
}

}  // namespace
}  // namespace msprobe::ge
