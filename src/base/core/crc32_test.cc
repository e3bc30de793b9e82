// SPDX-License-Identifier: Apache-2.0
#include "core/crc32.h"

#include <vector>

#include <gtest/gtest.h>
#include <zlib.h>

namespace msprobe {
namespace {

class EveryLength : public testing::TestWithParam<std::size_t> {};

TEST_P(EveryLength, ChecksumIsThatOfZlib) {
  std::vector<std::byte> bytes(GetParam());
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 7 + 3);
  const auto wanted =
      ::crc32_z(0, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  EXPECT_EQ(crc32(0, bytes), wanted);
  const std::size_t half = bytes.size() / 2;
  EXPECT_EQ(crc32(crc32(0, std::span(bytes).first(half)), std::span(bytes).subspan(half)), wanted);
  EXPECT_EQ(crc32_of_both(crc32(0, std::span(bytes).first(half)),
                          crc32(0, std::span(bytes).subspan(half)), bytes.size() - half),
            wanted);
}

INSTANTIATE_TEST_SUITE_P(Lengths, EveryLength,
                         testing::Values(0, 1, 3, 7, 8, 9, 15, 16, 31, 33, 63, 64, 65, 127, 128,
                                         129, 255, 700, 1008, 1023, 1024, 1025, 1040, 1135, 1151,
                                         1152, 1153, 2048, 2049, 16385));

TEST(Checksum, HasTheDocumentedValue) {
  const std::vector<float> values{1, 2, 3, 4};
  EXPECT_EQ(crc32(0, std::as_bytes(std::span(values))), 0x8ba71454U);
}

TEST(Checksum, OfAText) { EXPECT_EQ(crc32("123456789"), 0xcbf43926U); }

}  // namespace
}  // namespace msprobe
