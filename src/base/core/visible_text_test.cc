// SPDX-License-Identifier: Apache-2.0
#include "core/visible_text.h"

#include <string>

#include <gtest/gtest.h>

namespace msprobe {
namespace {

TEST(VisibleText, WhatCommandsATerminalBecomesAnEscape) {
  EXPECT_EQ(visible_line("a\x1b[2Jb"), "a\\x1b[2Jb");
  EXPECT_EQ(visible_line("bell\a, return\r, delete\x7f"), "bell\\x07, return\\x0d, delete\\x7f");
  EXPECT_EQ(visible_line(std::string_view("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(visible_line("\u0080\u0085\u009b31m\u009f"), "\\u0080\\u0085\\u009b31m\\u009f");
}

TEST(VisibleText, DirectionAndNoWidthBecomeEscapes) {
  EXPECT_EQ(visible_line("a\u202eb\u2066c\u2069d"), "a\\u202eb\\u2066c\\u2069d");
  EXPECT_EQ(visible_line("\u200e\u200f\u061c"), "\\u200e\\u200f\\u061c");
  EXPECT_EQ(visible_line("x\u200by\u200dz\u2060\ufeff"), "x\\u200by\\u200dz\\u2060\\ufeff");
  EXPECT_EQ(visible_line("a\u2028b\U000e0041"), "a\\u2028b\\U000e0041");
}

TEST(VisibleText, BytesThatAreNotUtf8BecomeEscapes) {
  EXPECT_EQ(visible_line("a\xff\xc3"), "a\\xff\\xc3");
  EXPECT_EQ(visible_line("\xc0\x80"), "\\xc0\\x80");                    // too long a form
  EXPECT_EQ(visible_line("\xed\xa0\x80"), "\\xed\\xa0\\x80");           // a surrogate
  EXPECT_EQ(visible_line("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");  // beyond Unicode
  EXPECT_EQ(visible_line("\x9b\x31"), "\\x9b1");
}

TEST(VisibleText, ScriptsStay) {
  for (const std::string_view text :
       {"plain", "精度预检：通过", "Größe", "日本語", "한국어", "עברית", "العربية", "ภาษาไทย",
        "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",  // Persian
        "\u0915\u094d\u200d\u0937",                          // Hindi
        "\U0001f469\u200d\U0001f52c \u2764\ufe0f\u200d\U0001f525", "\u00a0x"}) {
    EXPECT_EQ(visible_line(text), text);
    EXPECT_TRUE(is_visible_line(text)) << text;
  }
  // A joiner where nothing joins.
  EXPECT_EQ(visible_line("\u4e2d\u200d\u6587"), "\u4e2d\\u200d\u6587");
  EXPECT_EQ(visible_line("\u0915\u094d\u200d"), "\u0915\u094d\\u200d");
}

TEST(VisibleText, LinesStayWhereTheyMay) {
  EXPECT_EQ(visible_text("a\tb\nc\r\nd\re"), "a\tb\nc\r\nd\\x0de");
  EXPECT_EQ(visible_line("a\tb\nc\r\n"), "a\\x09b\\x0ac\\x0d\\x0a");
  EXPECT_FALSE(is_visible_line("a\nb"));
  EXPECT_FALSE(is_visible_line("a\u202eb"));
}

// Nothing that was escaped is left to escape.
TEST(VisibleText, EveryCharacterEndsVisible) {
  for (char32_t code = 1; code < 0x110000; code += code < 0x3000 ? 1 : 257) {
    if (code >= 0xd800 && code <= 0xdfff) continue;
    std::string text;
    if (code < 0x80) {
      text += static_cast<char>(code);
    } else if (code < 0x800) {
      text += static_cast<char>(0xc0U | code >> 6U);
      text += static_cast<char>(0x80U | (code & 0x3fU));
    } else if (code < 0x10000) {
      text += static_cast<char>(0xe0U | code >> 12U);
      text += static_cast<char>(0x80U | (code >> 6U & 0x3fU));
      text += static_cast<char>(0x80U | (code & 0x3fU));
    } else {
      text += static_cast<char>(0xf0U | code >> 18U);
      text += static_cast<char>(0x80U | (code >> 12U & 0x3fU));
      text += static_cast<char>(0x80U | (code >> 6U & 0x3fU));
      text += static_cast<char>(0x80U | (code & 0x3fU));
    }
    const std::string shown = visible_line(text);
    EXPECT_TRUE(is_visible_line(shown)) << static_cast<std::uint32_t>(code);
    EXPECT_EQ(shown == text, is_visible_line(text)) << static_cast<std::uint32_t>(code);
  }
}

}  // namespace
}  // namespace msprobe
