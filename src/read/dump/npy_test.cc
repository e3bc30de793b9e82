// SPDX-License-Identifier: Apache-2.0
// .npy files and .npz archives that are broken or hostile.
#include "dump/npy.h"

#include <cstdint>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dump/files_for_test.h"

namespace msprobe::dump {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string npy(const std::string& header, const std::string& data, int version = 1) {
  std::string file = "\x93NUMPY";
  put_number(file, static_cast<std::uint64_t>(version), 1);
  put_number(file, 0, 1);
  put_number(file, header.size(), version == 1 ? 2 : 4);
  return file + header + data;
}

std::string header(const std::string& descr, const std::string& shape) {
  return "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }\n";
}

Result<Tensor> read_as_npy(const std::string& file) { return read_npy(file_of(file), "x.npy"); }

Error refused_npy(const std::string& file) {
  const auto tensor = read_as_npy(file);
  if (tensor) return {ErrorKind::kExecution, "no fault"};
  EXPECT_THAT(tensor.error().message, HasSubstr("x.npy: byte "));
  return tensor.error();
}

TEST(Npy, ReadsHeadersInEveryOrderAndSpelling) {
  const auto tensor = read_as_npy(npy("{\"shape\": (2L, 1), 'fortran_order': True, 'descr': '>i2'}",
                                      std::string("\x01\x02\x03\x04", 4)));
  ASSERT_TRUE(tensor) << tensor.error().message;
  EXPECT_EQ(tensor->dtype, DType::kInt16);
  EXPECT_THAT(tensor->shape, ElementsAre(2, 1));
  EXPECT_THAT(tensor->bytes, ElementsAre(std::byte{2}, std::byte{1}, std::byte{4}, std::byte{3}));
}

TEST(Npy, RefusesHeadersNumpyWouldNotWrite) {
  for (const char* text :
       {"",
        "{",
        "}",
        "{}",
        "[]",
        "None",
        "{'descr': '<f4'}",
        "{'descr': '<f4', 'shape': (1,)}",
        "{'descr': '<f4', 'fortran_order': 0, 'shape': (1,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': [1]}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1 2)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1.0,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} x",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'x': 1}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'shape': (1,)}",
        "{'descr': __import__('os').system('x'), 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '<f4' 'fortran_order': False, 'shape': (1,)}",
        "{'descr': 'f4', 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '', 'fortran_order': False, 'shape': (1,)}"}) {
    EXPECT_NE(refused_npy(npy(text, std::string(4, '\0'))).message, "no fault") << text;
  }
}

TEST(Npy, RefusesWhatItCannotHold) {
  EXPECT_EQ(refused_npy(npy(header("|O", "(1,)"), "x")).kind, ErrorKind::kHostile);
  EXPECT_EQ(
      refused_npy(npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", "")).kind,
      ErrorKind::kUnsupported);
  for (const char* descr : {"<f16", "|S3", "<U2", "<V2", "<f3", "<c4"}) {
    EXPECT_EQ(refused_npy(npy(header(descr, "(1,)"), "")).kind, ErrorKind::kUnsupported) << descr;
  }
}

TEST(Npy, DataMustFitTheShape) {
  EXPECT_THAT(refused_npy(npy(header("<f4", "(2,)"), std::string(7, '\0'))).message,
              HasSubstr("7 bytes of data, the header says 8"));
  EXPECT_THAT(refused_npy(npy(header("<f4", "(2,)"), std::string(9, '\0'))).message,
              HasSubstr("9 bytes of data"));
  EXPECT_THAT(refused_npy(npy(header("<f4", "(1152921504606846976,)"), "")).message,
              HasSubstr("0 bytes of data, the header says 4611686018427387904"));
  EXPECT_THAT(refused_npy(npy(header("<f4", "(4611686018427387904,)"), "")).message,
              HasSubstr("64 bits can count"));
  EXPECT_THAT(refused_npy(npy(header("<f4", "(4294967296, 4294967296)"), "")).message,
              HasSubstr("64 bits can count"));
  EXPECT_TRUE(read_as_npy(npy(header("<f4", "(0, 4294967296)"), "")));
}

TEST(Npy, FilesCutAnywhereAreErrors) {
  for (const int version : {1, 2, 3}) {
    const std::string whole = npy(header("<f4", "(2,)"), std::string(8, '\0'), version);
    ASSERT_TRUE(read_as_npy(whole));
    for (std::size_t size = 0; size < whole.size(); ++size) {
      EXPECT_FALSE(read_as_npy(whole.substr(0, size))) << size;
    }
  }
}

TEST(Npy, RefusesOtherVersionsAndEndlessHeaders) {
  EXPECT_EQ(refused_npy(npy(header("<f4", "(0,)"), "", 4)).kind, ErrorKind::kUnsupported);
  EXPECT_EQ(refused_npy(npy(header("<f4", "(0,)"), "", 0)).kind, ErrorKind::kUnsupported);
  std::string endless = "\x93NUMPY";
  endless += std::string("\x02\x00\xff\xff\xff\x7f", 6);
  EXPECT_EQ(refused_npy(endless).kind, ErrorKind::kHostile);
  EXPECT_THAT(refused_npy("PK\x03\x04").message, HasSubstr("not an npy file"));
  std::string shape = "(";
  for (int i = 0; i < 65; ++i) shape += "1,";
  EXPECT_NE(refused_npy(npy(header("<f4", shape + ")"), std::string(4, '\0'))).message, "no fault");
}

Error npz_refused(const MadeMember& member) {
  const auto tensor = read_npz(file_of(make_zip({member})), "a", "x.npz");
  if (tensor) return {ErrorKind::kExecution, "no fault"};
  EXPECT_THAT(tensor.error().message, HasSubstr("x.npz: "));
  return tensor.error();
}

TEST(Npz, ReadsDeflatedArrays) {
  const std::string array = npy(header("<f4", "(1000,)"), std::string(4000, '\0'));
  const auto tensor = read_npz(
      file_of(make_zip({{"a.npy", deflated(array), 8, array.size(), crc32(array)}})), "a", "x.npz");
  ASSERT_TRUE(tensor) << tensor.error().message;
  EXPECT_EQ(tensor->bytes.size(), 4000U);
}

TEST(Npz, SizesMustAgreeBeforeMemoryIsTaken) {
  const std::string array = npy(header("<f4", "(20000,)"), std::string(80000, '\0'));
  const std::string packed = deflated(array);
  EXPECT_THAT(npz_refused({"a.npy", packed, 8, array.size() + 4, 1}).message,
              HasSubstr("which promises 80000"));
  EXPECT_EQ(npz_refused({"a.npy", packed, 8, 3'000'000'000, 1}).kind, ErrorKind::kHostile);
  EXPECT_THAT(npz_refused({"a.npy", packed, 8, array.size(), 1}).message, HasSubstr("damaged"));
  EXPECT_THAT(
      npz_refused({"a.npy", packed.substr(0, packed.size() - 3), 8, array.size(), 1}).message,
      HasSubstr("does not inflate"));
  EXPECT_THAT(npz_refused({"a.npy", npy(header("<f4", "(1152921504606846976,)"), "")}).message,
              HasSubstr("promises 4611686018427387904"));
  EXPECT_THAT(npz_refused({"b.npy", array}).message, HasSubstr("x.npz: a is not in the archive"));
  EXPECT_EQ(npz_refused({"a.npy", npy(header("|O", "(1,)"), "\x80\x04.")}).kind,
            ErrorKind::kHostile);
}

}  // namespace
}  // namespace msprobe::dump
