// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <unistd.h>

#include "core/dtype.h"
#include "core/file.h"
#include "core/float_formats.h"
#include "core/json_writer.h"
#include "core/log.h"
#include "core/path_check.h"
#include "core/python_text.h"
#include "core/shrunken_file.h"
#include "core/tensor.h"
#include "scratch_directory_for_test.h"

namespace msprobe {
namespace {

namespace fs = std::filesystem;

class InDirectory : public ::testing::Test {
 protected:
  InDirectory() { fs::create_directories(directory_ / "data"); }
  void put(const fs::path& name, const std::string& text) {
    std::ofstream(directory_ / name) << text;
  }
  ScratchDirectory scratch_;
  const fs::path directory_ = scratch_.path();
};

TEST(DType, ReadsEverySpelling) {
  EXPECT_EQ(parse_dtype("torch.bfloat16"), DType::kBFloat16);
  EXPECT_EQ(parse_dtype("half"), DType::kFloat16);
  EXPECT_EQ(parse_dtype("Float32"), DType::kFloat32);
  EXPECT_EQ(parse_dtype("torch_npu.HiFloat8Tensor"), DType::kHiFloat8);
  EXPECT_EQ(parse_dtype("torch.float7"), std::nullopt);
  for (int i = 0; i < static_cast<int>(kDTypeCount); ++i) {
    const auto dtype = static_cast<DType>(i);
    EXPECT_EQ(info(dtype).dtype, dtype);
    EXPECT_EQ(parse_dtype(text(dtype)), dtype);
    EXPECT_EQ(parse_dtype(name(dtype)), dtype);
  }
}

#ifdef __aarch64__
using CompilersHalf = __fp16;
#else
using CompilersHalf = _Float16;
#endif

TEST(FloatFormats, EveryHalfComesBackUnchanged) {
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const float value = float16_to_float(half);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(float16_to_float(float_to_float16(value))));
      continue;
    }
    EXPECT_EQ(float_to_float16(value), half);
    EXPECT_EQ(value, static_cast<float>(std::bit_cast<CompilersHalf>(half)));
  }
}

TEST(FloatFormats, RoundsToNearestEven) {
  EXPECT_EQ(float16_to_float(float_to_float16(65519.0F)), 65504.0F);
  EXPECT_TRUE(std::isinf(float16_to_float(float_to_float16(65520.0F))));
  EXPECT_EQ(float16_to_float(float_to_float16(1.0F + 0x1p-11F)), 1.0F);
  EXPECT_EQ(bfloat16_to_float(float_to_bfloat16(1.0F + 0x1p-8F)), 1.0F);
  EXPECT_EQ(bfloat16_to_float(float_to_bfloat16(1.0F + 3 * 0x1p-8F)), 1.0F + 0x1p-6F);
  EXPECT_TRUE(std::isnan(bfloat16_to_float(float_to_bfloat16(NAN))));
  // Through float this would round twice, up to 1 + 2^-10.
  EXPECT_EQ(float16_to_float(double_to_float16(1.0 + 0x1p-11 - 0x1p-40)), 1.0F);
  EXPECT_EQ(bfloat16_to_float(double_to_bfloat16(1.0 + 0x1p-8 + 0x1p-40)), 1.0F + 0x1p-7F);
}

TEST(FloatFormats, EightBitFormatsHaveTheirPublishedValues) {
  EXPECT_EQ(float8_e4m3fn_to_float(0x7e), 448.0F);
  EXPECT_TRUE(std::isnan(float8_e4m3fn_to_float(0xff)));
  EXPECT_EQ(float8_e4m3fn_to_float(0x01), 0x1p-9F);
  EXPECT_EQ(float8_e5m2_to_float(0x7b), 57344.0F);
  EXPECT_EQ(float8_e5m2_to_float(0xfc), -INFINITY);
  EXPECT_EQ(float8_e5m2_to_float(0x01), 0x1p-16F);
  const std::pair<int, float> hifloat8[] = {
      {0x08, 1.0F},     {0x09, 1.125F},     {0x10, 2.0F},     {0x18, 0.5F},
      {0x20, 4.0F},     {0x28, 8.0F},       {0x30, 0.25F},    {0x40, 16.0F},
      {0x60, 256.0F},   {0x7f, 0x1.8p-15F}, {0x07, 0x1p-16F}, {0x01, 0x1p-22F},
      {0x6e, 32768.0F}, {0x00, 0.0F},       {0x6f, INFINITY}, {0xef, -INFINITY}};
  for (const auto& [bits, value] : hifloat8) {
    EXPECT_EQ(hifloat8_to_float(static_cast<std::uint8_t>(bits)), value) << bits;
  }
  EXPECT_TRUE(std::isnan(hifloat8_to_float(0x80)));
}

TEST(Shape, CountsAreChecked) {
  EXPECT_EQ(element_count(Shape{}).value(), 1);
  EXPECT_EQ(element_count(Shape{3, 0, 5}).value(), 0);
  EXPECT_FALSE(element_count(Shape{std::int64_t{1} << 40, std::int64_t{1} << 40}));
  EXPECT_FALSE(element_count(Shape{-1}));
  EXPECT_FALSE(byte_count(Shape{std::int64_t{1} << 61}, DType::kFloat64));
  EXPECT_EQ(byte_count(Shape{2, 3}, DType::kComplex128).value(), 96U);
}

TEST_F(InDirectory, NothingOutsideIsOpened) {
  put("secret", "secret");
  put("data/inside", "inside");
  fs::create_symlink("../secret", directory_ / "data/link_out");
  fs::create_symlink("inside", directory_ / "data/link_in");
  fs::create_directory_symlink("..", directory_ / "data/up");
  const Result<Directory> data = Directory::open(directory_ / "data");
  ASSERT_TRUE(data);
  EXPECT_EQ(data->load("inside")->text(), "inside");
  EXPECT_EQ(data->load("link_in")->text(), "inside");
  for (const char* name :
       {"../secret", "link_out", "up/secret", "/etc/passwd", "", "x/../../secret"}) {
    const Result<FileBytes> loaded = data->load(name);
    ASSERT_FALSE(loaded) << name;
    EXPECT_EQ(loaded.error().kind, ErrorKind::kHostile) << name;
  }
  EXPECT_EQ(data->load("absent").error().kind, ErrorKind::kIo);
  EXPECT_EQ(data->load(".").error().kind, ErrorKind::kIo);
}

TEST_F(InDirectory, AFileThatShrinksWhileItIsMappedReadsAsZeros) {
  install_sigbus_handler();
  put("large", std::string(600'000, 'x'));
  const FileBytes file = load_file(directory_ / "large").value();
  EXPECT_FALSE(has_shrunk(directory_ / "large", file));
  fs::resize_file(directory_ / "large", 5'000);
  EXPECT_EQ(file.text()[4'999], 'x');
  EXPECT_EQ(file.text()[599'999], '\0');
  EXPECT_TRUE(has_shrunk(directory_ / "large", file));
}

TEST_F(InDirectory, AFileThatIsDeletedWhileItIsMappedKeepsItsContent) {
  put("large", std::string(600'000, 'x'));
  const FileBytes file = load_file(directory_ / "large").value();
  fs::remove(directory_ / "large");
  EXPECT_EQ(file.text()[599'999], 'x');
  EXPECT_FALSE(has_shrunk(directory_ / "large", file));
}

// As after an error of the disk: the file has its size, and yet a part of it was lost.
TEST_F(InDirectory, AFileThatWasSmallerForAWhileIsKnown) {
  install_sigbus_handler();
  put("large", std::string(600'000, 'x'));
  {
    const FileBytes file = load_file(directory_ / "large").value();
    fs::resize_file(directory_ / "large", 5'000);
    EXPECT_EQ(file.text()[599'999], '\0');
    fs::resize_file(directory_ / "large", 600'000);
    EXPECT_TRUE(has_shrunk(directory_ / "large", file));
  }
  const FileBytes again = load_file(directory_ / "large").value();
  EXPECT_EQ(again.text()[599'999], '\0');
  EXPECT_FALSE(has_shrunk(directory_ / "large", again));
}

TEST_F(InDirectory, LargeFilesAreMapped) {
  const std::string large(600'000, 'x');
  put("large", large);
  EXPECT_EQ(load_file(directory_ / "large")->text(), large);
  EXPECT_FALSE(load_file(directory_ / "large", 599'999));
}

TEST_F(InDirectory, ForgottenBytesReadTheSame) {
  put("small", "text");
  const std::string large(600'000, 'y');
  put("large", large);
  for (const char* const name : {"small", "large"}) {
    const FileBytes file = load_file(directory_ / name).value();
    const std::string before(file.text());
    file.forget(file.bytes.size() + 1);
    EXPECT_EQ(file.text(), before);
  }
}

TEST_F(InDirectory, PathsAreCheckedAsDocumented) {
  put("dump.json", "{}");
  put("odd :=,@+[](){}#$'\"&;~ \xc3\xbc \xe4\xb8\xad.json", "{}");
  put("line\nbreak.json", "{}");
  EXPECT_TRUE(check_input_file(directory_ / "dump.json", {.suffix = ".json"}));
  EXPECT_FALSE(check_input_file(directory_ / "dump.json", {.suffix = ".csv"}));
  EXPECT_FALSE(check_input_file(directory_ / "absent.json", {}));
  EXPECT_FALSE(check_input_file(directory_, {}));
  EXPECT_TRUE(check_input_file(directory_ / "odd :=,@+[](){}#$'\"&;~ \xc3\xbc \xe4\xb8\xad.json",
                               {.suffix = ".json"}));
  EXPECT_NE(check_input_file(directory_ / "line\nbreak.json", {})
                .error()
                .message.find("contains special characters: byte 0x0a"),
            std::string::npos);
  EXPECT_TRUE(prepare_output_directory(directory_ / "with blank, = and +"));
  EXPECT_FALSE(prepare_output_directory(directory_ / "a\tb"));
  EXPECT_TRUE(prepare_output_directory(directory_ / "a/b/c"));
  EXPECT_FALSE(prepare_output_directory(directory_ / "dump.json"));
  EXPECT_FALSE(prepare_output_directory(directory_ / "1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17"));
}

TEST_F(InDirectory, ADirectoryThatMayNotBeEnteredIsNotMissing) {
  const std::filesystem::path closed = directory_ / "closed";
  std::filesystem::create_directory(closed);
  std::filesystem::permissions(closed, std::filesystem::perms::none);
  constexpr uid_t kNobody = 65534;
  const uid_t own = ::geteuid();
  if (own == 0) {  // root may enter everything
    ASSERT_EQ(::seteuid(kNobody), 0);
  }
  const auto checked = check_input_file(closed / "dump.json", {});
  if (own == 0) {
    ASSERT_EQ(::seteuid(own), 0);
  }
  std::filesystem::permissions(closed, std::filesystem::perms::owner_all);
  ASSERT_FALSE(checked);
  EXPECT_NE(checked.error().message.find("cannot be entered"), std::string::npos)
      << checked.error().message;
}

TEST(Paths, AQuotedTildeIsExplained) {
  EXPECT_NE(check_input_file("~/dump.json", {}).error().message.find("$HOME"), std::string::npos);
  EXPECT_NE(prepare_output_directory("~/out").error().message.find("$HOME"), std::string::npos);
}

TEST(Log, OneRecordIsOneLine) {
  EXPECT_EQ(log::clean("a\nb\tc\x7f%0Ad%41"), "a_b_c__d%41");
  EXPECT_EQ(log::clean("a\x1b[2J\a\u009b\u202e"), "a\\x1b[2J\\x07\\u009b\\u202e");
  EXPECT_EQ(log::clean("100%"), "100%");
  EXPECT_EQ(log::clean("%0d"), "_");
}

TEST(JsonWriter, WritesStrictJson) {
  JsonWriter json;
  json.begin_object()
      .key("a")
      .value(0.1)
      .key("b")
      .begin_array()
      .value(1)
      .null()
      .value(NAN)
      .end_array();
  json.key("c\"").value("x\ny").key("d").begin_object().end_object().end_object();
  EXPECT_EQ(json.text(),
            "{\n \"a\": 0.1,\n \"b\": [\n  1,\n  null,\n  \"nan\"\n ],\n \"c\\\"\": \"x\\ny\",\n "
            "\"d\": {}\n}");
}

TEST(JsonWriter, EveryCharacterIsSeen) {
  JsonWriter exact;
  exact.value("a\x1b\u009b\u202e\U000e0041\xff\\ \u4e2d");
  EXPECT_EQ(exact.text(), R"("a\u001b\u009b\u202e\udb40\udc41\\xff\\ )"
                          "\u4e2d\"");
  JsonWriter shown(JsonWriter::Texts::kShown);
  shown.value("a\x1b\u202e\n\u4e2d");
  EXPECT_EQ(shown.text(), R"("a\\x1b\\u202e\n)"
                          "\u4e2d\"");
}

TEST(PythonText, PrintsFloatsAsPythonDoes) {
  const auto text = [](double value) {
    std::string out;
    append_python_float(out, value);
    return out;
  };
  EXPECT_EQ(text(32), "32.0");
  EXPECT_EQ(text(-0.0), "-0.0");
  EXPECT_EQ(text(0.1), "0.1");
  EXPECT_EQ(text(0.0001), "0.0001");
  EXPECT_EQ(text(0.00001), "1e-05");
  EXPECT_EQ(text(1e16), "1e+16");
  EXPECT_EQ(text(123456789012345678.0), "1.2345678901234568e+17");
  EXPECT_EQ(text(5e-324), "5e-324");
  EXPECT_EQ(text(NAN), "nan");
  EXPECT_EQ(text(-INFINITY), "-inf");
}

TEST(PythonText, QuotesStringsAsInsideAList) {
  const auto text = [](std::string_view value) {
    std::string out;
    append_python_string(out, value);
    return out;
  };
  EXPECT_EQ(text("a\nb\\"), R"('a\nb\\')");
  EXPECT_EQ(text("it's"), R"("it's")");
  EXPECT_EQ(text("it's \"x\""), R"('it\'s "x"')");
  EXPECT_EQ(text("\x01\t"), R"('\x01\t')");
}

}  // namespace
}  // namespace msprobe
