// SPDX-License-Identifier: Apache-2.0
// Files that Python wrote, against what Python says they hold; and the ways a file is chosen.
#include "dump/tensor_file.h"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dump/dump_json.h"
#include "dump/npy.h"
#include "scratch_directory_for_test.h"

namespace msprobe::dump {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const fs::path kData = fs::path(MSPROBE_SOURCE_DIR) / "tests" / "data";

struct Expected {
  std::string file, dtype, shape, hex;
};

std::vector<Expected> read_index(const fs::path& folder) {
  std::ifstream in(folder / "index.txt");
  std::vector<Expected> rows;
  Expected row;
  while (in >> row.file >> row.dtype >> row.shape >> row.hex) rows.push_back(row);
  return rows;
}

std::string shape_text(const Shape& shape) {
  std::string text;
  for (const std::int64_t extent : shape)
    text += (text.empty() ? "" : "x") + std::to_string(extent);
  return text.empty() ? "scalar" : text;
}

std::string hex_text(std::span<const std::byte> bytes) {
  std::ostringstream out;
  for (const std::byte byte : bytes) {
    out << std::hex << std::to_integer<int>(byte >> 4)
        << std::to_integer<int>(byte & std::byte{15});
  }
  return bytes.empty() ? "-" : out.str();
}

void expect_all(const fs::path& folder, std::size_t at_least) {
  const std::vector<Expected> rows = read_index(folder);
  EXPECT_GE(rows.size(), at_least);
  for (const Expected& row : rows) {
    const auto tensor = load_tensor_file(folder / row.file);
    ASSERT_TRUE(tensor) << tensor.error().message;
    EXPECT_EQ(text(tensor->dtype), row.dtype) << row.file;
    EXPECT_EQ(shape_text(tensor->shape), row.shape) << row.file;
    EXPECT_EQ(hex_text(tensor->bytes), row.hex) << row.file;
  }
}

TEST(TensorFile, PtFilesHoldWhatTorchSaved) { expect_all(kData / "pt", 40); }
TEST(TensorFile, NpyFilesHoldWhatNumpySaved) { expect_all(kData / "npy", 30); }

struct Refused {
  const char* file;
  ErrorKind kind;
  const char* text;
};

TEST(TensorFile, RefusesFilesThatHoldSomethingElse) {
  const Refused rows[] = {
      {"pt/refused_list.pt", ErrorKind::kFormat, "contains a list, expected one tensor"},
      {"pt/refused_dict.pt", ErrorKind::kFormat, "contains a dictionary, expected one tensor"},
      {"pt/refused_number.pt", ErrorKind::kFormat, "contains an integer, expected one tensor"},
      {"pt/refused_none.pt", ErrorKind::kFormat, "contains None, expected one tensor"},
      {"pt/refused_sparse.pt", ErrorKind::kUnsupported, "a sparse tensor"},
      {"pt/refused_quantised.pt", ErrorKind::kUnsupported, "a quantised tensor"},
      {"pt/refused_meta.pt", ErrorKind::kUnsupported, "without data"},
      {"pt/refused_numpy.pt", ErrorKind::kHostile, "call numpy._core.multiarray._reconstruct"},
      {"pt/refused_legacy.pt", ErrorKind::kUnsupported, "before version 1.6"},
      {"npy/refused_objects.npy", ErrorKind::kHostile, "pickled Python objects"},
      {"npy/refused_structure.npy", ErrorKind::kUnsupported, "arrays of structures"},
      {"npy/refused_text.npy", ErrorKind::kUnsupported, "arrays of '<U2'"},
      {"npy/refused_date.npy", ErrorKind::kUnsupported, "arrays of '<M8[D]'"},
      {"npy/stored.npz", ErrorKind::kFormat, "2 arrays in the archive, expected one"},
      {"npy/index.txt", ErrorKind::kFormat, "is not a pt or numpy file."},
  };
  for (const Refused& row : rows) {
    const auto tensor = load_tensor_file(kData / row.file);
    ASSERT_FALSE(tensor) << row.file;
    EXPECT_EQ(tensor.error().kind, row.kind) << tensor.error().message;
    EXPECT_THAT(tensor.error().message, HasSubstr(row.text));
    EXPECT_THAT(tensor.error().message, HasSubstr(row.file));
  }
}

TEST(TensorFile, NpzArchivesAreReadByArray) {
  const auto stored = load_file(kData / "npy" / "stored.npz");
  ASSERT_TRUE(stored);
  EXPECT_THAT(*list_npz(*stored, "s"), ElementsAre("first", "second"));
  const auto second = read_npz(*stored, "second", "s");
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_EQ(second->dtype, DType::kFloat64);
  EXPECT_THAT(second->shape, ElementsAre(3));
  EXPECT_THAT(read_npz(*stored, "third", "s").error().message, HasSubstr("s: third is not in the"));
  const auto deflated = load_tensor_file(kData / "npy" / "deflated.npz");
  ASSERT_TRUE(deflated) << deflated.error().message;
  EXPECT_THAT(deflated->shape, ElementsAre(1000));
}

TEST(TensorFile, ContiguousTensorsPointIntoTheFile) {
  const auto file = load_file(kData / "pt" / "float32.pt");
  ASSERT_TRUE(file);
  const auto tensor = parse_tensor_file(*file, "float32.pt");
  ASSERT_TRUE(tensor) << tensor.error().message;
  EXPECT_GE(tensor->bytes.data(), file->bytes.data());
  EXPECT_LT(tensor->bytes.data(), file->bytes.data() + file->bytes.size());
  EXPECT_EQ(tensor->owner, file->owner);
}

TEST(TensorFile, BytesOutliveTheFile) {
  auto file = load_file(kData / "pt" / "float32.pt");
  ASSERT_TRUE(file);
  const auto tensor = parse_tensor_file(*file, "float32.pt");
  file = fail(ErrorKind::kIo, "gone");
  ASSERT_TRUE(tensor);
  EXPECT_EQ(hex_text(tensor->bytes).substr(8, 8), "0000803f");
}

// A dump may be written anew while it is checked.
TEST(TensorFile, OfADirectoryIsApartFromItsFile) {
  const ScratchDirectory scratch;
  std::string file = "\x93NUMPY\x01";
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (100000,), }";
  header.resize(117, ' ');
  header += '\n';
  file += std::string("\0\x76\0", 3) + header + std::string(400'000, '\x3f');
  for (const std::size_t size_bytes : {std::size_t{400'000}, std::size_t{0}}) {  // read, mapped
    const fs::path path = scratch.write("data.npy", file);
    const auto directory = Directory::open(scratch.path());
    ASSERT_TRUE(directory);
    const auto tensor = load_tensor_file(*directory, "data.npy", size_bytes);
    ASSERT_TRUE(tensor) << tensor.error().message;
    EXPECT_EQ(tensor->owner.use_count(), 1);
    std::fstream(path, std::ios::in | std::ios::out | std::ios::binary).seekp(128)
        << std::string(400'000, 'x');
    ASSERT_EQ(tensor->bytes.size(), 400'000U);
    EXPECT_EQ(tensor->bytes.front(), std::byte{0x3f});
    EXPECT_EQ(tensor->bytes.back(), std::byte{0x3f});
  }
}

TEST(TensorFile, NamesCannotLeaveTheDirectory) {
  const ScratchDirectory scratch;
  const fs::path& root = scratch.path();
  fs::create_directories(root / "data");
  fs::copy_file(kData / "pt" / "float32.pt", root / "secret.pt");
  fs::copy_file(kData / "pt" / "float32.pt", root / "data" / "in.pt");
  fs::create_symlink("../secret.pt", root / "data" / "link.pt");
  fs::create_symlink("in.pt", root / "data" / "inside.pt");
  fs::create_directory_symlink("..", root / "data" / "up");
  const auto directory = Directory::open(root / "data");
  ASSERT_TRUE(directory);
  EXPECT_TRUE(load_tensor_file(*directory, "in.pt"));
  const std::string absolute = (root / "secret.pt").string();
  for (const std::string& name :
       {std::string("../secret.pt"), std::string("link.pt"), std::string("up/secret.pt"), absolute,
        std::string(""), std::string("x/../../secret.pt")}) {
    const auto tensor = load_tensor_file(*directory, name);
    ASSERT_FALSE(tensor) << name;
    EXPECT_EQ(tensor.error().kind, ErrorKind::kHostile) << tensor.error().message;
  }
  EXPECT_EQ(load_tensor_file(*directory, "missing.pt").error().kind, ErrorKind::kIo);
  EXPECT_EQ(load_tensor_file(*directory, ".").error().kind, ErrorKind::kIo);
}

// What the record of a tensor says must be what its file holds.
void expect_record_fits(const Directory& directory, const TensorRecord& record) {
  const auto tensor = load_tensor_file(directory, record.data_name);
  ASSERT_TRUE(tensor) << tensor.error().message;
  EXPECT_EQ(tensor->shape, record.shape) << record.data_name;
  if (record.dtype_text.starts_with("torch.")) {
    EXPECT_EQ(tensor->dtype, record.dtype) << record.data_name;
  }
}

std::size_t check_values(const Directory& directory, const List& values) {
  std::size_t files = 0;
  for (const Value& value : values) {
    if (const auto* record = value.as<TensorRecord>(); record && !record->data_name.empty()) {
      expect_record_fits(directory, *record);
      ++files;
    } else if (const auto* list = value.as<List>()) {
      files += check_values(directory, *list);
    }
  }
  return files;
}

class GoldenFiles : public ::testing::TestWithParam<const char*> {};

TEST_P(GoldenFiles, EveryRecordedTensorLoads) {
  const fs::path folder = fs::path(MSPROBE_SOURCE_DIR) / "tests/data/dumps" / GetParam();
  const auto index = open_dump(folder / "dump.json");
  ASSERT_TRUE(index) << index.error().message;
  const auto directory = Directory::open(folder / "dump_tensor_data");
  ASSERT_TRUE(directory) << directory.error().message;
  CallParser parser;
  std::size_t files = 0;
  for (const CallSlice& slice : index->calls) {
    const auto call = parser.parse(slice, "dump.json");
    ASSERT_TRUE(call) << call.error().message;
    files += check_values(*directory, call->forward.input_args);
    files += check_values(*directory, call->forward.output);
    if (call->backward) files += check_values(*directory, call->backward->input);
  }
  EXPECT_GT(files, 20U);
}

INSTANTIATE_TEST_SUITE_P(All, GoldenFiles,
                         ::testing::Values("convnet_tensor", "gpt2_fp32_tensor",
                                           "mindspore_mlp_tensor"));

}  // namespace
}  // namespace msprobe::dump
