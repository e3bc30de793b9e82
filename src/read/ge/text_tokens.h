// SPDX-License-Identifier: Apache-2.0
// The tokens of protobuf's text format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace msprobe::ge {

enum class TokenKind : std::uint8_t {
  kWord,    // an identifier, a number, a keyword
  kString,  // with its quotes
  kSign,    // one of : { } < > [ ]
  kEnd,
  kBroken,  // a string without an end, or a character no text has
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string_view text;

  bool is(char sign) const { return kind == TokenKind::kSign && text.front() == sign; }
};

class Tokens {
 public:
  explicit Tokens(std::string_view text) : text_(text) {}

  Token next();
  Token peek();
  std::size_t line() const;  // of the token read last, from 1

 private:
  void skip_blanks();
  Token string();

  std::string_view text_;
  std::size_t at_ = 0;
};

// What a quoted token stands for: C escapes, octal and hexadecimal bytes, \u and \U.
void append_unescaped(std::string& out, std::string_view quoted);

}  // namespace msprobe::ge
