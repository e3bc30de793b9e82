// SPDX-License-Identifier: Apache-2.0
#include "ge/text_tokens.h"

#include <algorithm>
#include <cctype>

namespace msprobe::ge {
namespace {

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '-' ||
         c == '+' || c == '/';
}

bool is_octal(char c) { return c >= '0' && c <= '7'; }

unsigned digit(char c) {
  if (c <= '9') return static_cast<unsigned>(c - '0');
  return static_cast<unsigned>(std::tolower(static_cast<unsigned char>(c)) - 'a') + 10;
}

// Reads up to `most` digits of `base` at `at`.
unsigned number(std::string_view text, std::size_t& at, std::size_t most, unsigned base) {
  unsigned value = 0;
  for (std::size_t i = 0; i < most && at < text.size(); ++i, ++at) {
    const bool fits =
        base == 8 ? is_octal(text[at]) : std::isxdigit(static_cast<unsigned char>(text[at])) != 0;
    if (!fits) break;
    value = value * base + digit(text[at]);
  }
  return value;
}

void append_utf8(std::string& out, unsigned code) {
  const auto put = [&](unsigned byte) { out += static_cast<char>(byte); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xc0 | code >> 6);
    put(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    put(0xe0 | code >> 12);
    put(0x80 | (code >> 6 & 0x3f));
    put(0x80 | (code & 0x3f));
  } else {
    put(0xf0 | (code >> 18 & 7));
    put(0x80 | (code >> 12 & 0x3f));
    put(0x80 | (code >> 6 & 0x3f));
    put(0x80 | (code & 0x3f));
  }
}

// `at` is one behind the backslash.
void append_escape(std::string& out, std::string_view text, std::size_t& at) {
  constexpr std::string_view kLetters = "abfnrtv";
  constexpr std::string_view kCodes = "\a\b\f\n\r\t\v";
  const char c = text[at];
  if (is_octal(c)) {
    out += static_cast<char>(number(text, at, 3, 8));
    return;
  }
  ++at;
  if (const std::size_t letter = kLetters.find(c); letter != std::string_view::npos) {
    out += kCodes[letter];
  } else if (c == 'x' || c == 'X') {
    out += static_cast<char>(number(text, at, 2, 16));
  } else if (c == 'u' || c == 'U') {
    append_utf8(out, number(text, at, c == 'u' ? 4 : 8, 16));
  } else {
    out += c;
  }
}

}  // namespace

void Tokens::skip_blanks() {
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c == '#') {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else if (std::isspace(static_cast<unsigned char>(c)) != 0 || c == ',' || c == ';') {
      ++at_;
    } else {
      return;
    }
  }
}

Token Tokens::string() {
  const std::size_t start = at_;
  const char quote = text_[at_++];
  while (at_ < text_.size() && text_[at_] != quote) {
    if (text_[at_] == '\n') break;
    at_ += text_[at_] == '\\' ? 2 : 1;
  }
  if (at_ >= text_.size() || text_[at_] != quote) {
    at_ = std::min(at_, text_.size());
    return {TokenKind::kBroken, text_.substr(start, 1)};
  }
  ++at_;
  return {TokenKind::kString, text_.substr(start, at_ - start)};
}

Token Tokens::next() {
  skip_blanks();
  if (at_ == text_.size()) return {};
  const char c = text_[at_];
  if (c == '"' || c == '\'') return string();
  const std::size_t start = at_;
  if (std::string_view(":{}<>[]").find(c) != std::string_view::npos) {
    ++at_;
    return {TokenKind::kSign, text_.substr(start, 1)};
  }
  while (at_ < text_.size() && is_word(text_[at_])) ++at_;
  if (at_ == start) return {TokenKind::kBroken, text_.substr(start, 1)};
  return {TokenKind::kWord, text_.substr(start, at_ - start)};
}

Token Tokens::peek() {
  const std::size_t before = at_;
  const Token token = next();
  at_ = before;
  return token;
}

std::size_t Tokens::line() const {
  return 1 + static_cast<std::size_t>(
                 std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(at_), '\n'));
}

void append_unescaped(std::string& out, std::string_view quoted) {
  const std::string_view text = quoted.substr(1, quoted.size() - 2);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t escape = std::min(text.find('\\', at), text.size());
    out += text.substr(at, escape - at);
    at = escape + 1;
    if (at < text.size()) append_escape(out, text, at);
  }
}

}  // namespace msprobe::ge
