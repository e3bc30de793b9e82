// SPDX-License-Identifier: Apache-2.0
// A strict walk over one JSON text, token by token. Every token is checked, and the first fault is
// kept with its place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "dump/json_scalar.h"
#include "dump/token_index.h"

namespace msprobe::dump {

// Containers may nest this deep inside one entry; the recorder itself stops there too.
constexpr int kMaxNesting = 400;

// memcmp for the few bytes of a key, where the call would cost more than the comparison.
inline bool same_text(const char* left, const char* right, std::size_t size) {
  std::uint64_t difference = 0;
  const auto compare = [&](auto unit, std::size_t at) {
    decltype(unit) a;
    decltype(unit) b;
    std::memcpy(&a, left + at, sizeof a);
    std::memcpy(&b, right + at, sizeof b);
    difference |= static_cast<std::uint64_t>(a ^ b);
  };
  if (size > 16) return std::memcmp(left, right, size) == 0;
  if (size >= 8) {
    compare(std::uint64_t{}, 0);
    compare(std::uint64_t{}, size - 8);
  } else if (size >= 4) {
    compare(std::uint32_t{}, 0);
    compare(std::uint32_t{}, size - 4);
  } else {
    for (std::size_t i = 0; i < size; ++i) compare(std::uint8_t{}, i);
  }
  return difference == 0;
}

// Each read takes the value at the present place and moves behind it. Whatever can fail returns
// false and leaves the fault behind; after the first fault nothing may be read any more.
class JsonReader {
 public:
  // Begins with a text, which must stay as long as it is read.
  [[nodiscard]] bool start(std::string_view text);
  [[nodiscard]] bool at_end() const { return at_ == count_; }

  // The first character of the value here tells its kind.
  char first() const { return at_ < count_ ? text_[tokens_[at_]] : '\0'; }
  // The token here, without the space behind it: "{", "[", or a whole scalar.
  std::string_view token() const { return at_ < count_ ? token_text(at_) : std::string_view(); }

  // Looks ahead in the object here: the string that is its member `key`, where it has no escapes.
  // Looks only so far that reading stays linear; a broken object may have any or none.
  std::optional<std::string_view> peek_text_member(std::string_view key) const;

  // Reads the object here: calls on_field(key) -> bool for each member, which reads the value. The
  // key lives as long as that call. A fault has the key in its path. expected() -> std::string_view
  // is a guess of the next key, which saves looking closely at it.
  template <class OnField, class Expected>
  [[nodiscard]] bool each_field(OnField on_field, Expected expected) {
    if (!enter('{', "an object")) return false;
    if (leave('}')) return true;
    std::string unescaped;
    while (true) {
      std::string_view key = expected();
      if (is_key(key)) {
        at_ += 2;
      } else if (!read_key(key, unescaped)) {
        return false;
      }
      if (!on_field(key)) return fail_in(key);
      if (leave('}')) return true;
      if (!take(',')) return fail_wanted("',' or '}'");
    }
  }

  template <class OnField>
  [[nodiscard]] bool each_field(OnField on_field) {
    return each_field(on_field, [] { return std::string_view(); });
  }

  // Reads the list here: calls on_element() -> bool for each element, which reads it. A fault has
  // the index in its path.
  template <class OnElement>
  [[nodiscard]] bool each_element(OnElement on_element) {
    if (!enter('[', "a list")) return false;
    if (leave(']')) return true;
    for (std::size_t index = 0;; ++index) {
      if (!on_element()) return fail_in(index);
      if (leave(']')) return true;
      if (!take(',')) return fail_wanted("',' or ']'");
    }
  }

  [[nodiscard]] bool read_text(std::string& out);
  // The string here, in the text itself; nothing, and nothing is read, if it has escapes.
  std::optional<std::string_view> take_plain_text() {
    const std::optional<std::string_view> plain = plain_text(at_);
    if (plain) ++at_;
    return plain;
  }
  // Not for strings and containers. If `wants(scalar)` is false, or there is no scalar here, the
  // fault says `wanted`.
  template <class Wants>
  [[nodiscard]] bool read_scalar(JsonScalar& out, std::string_view wanted, Wants wants) {
    out = read_json_scalar(token());
    if (out.kind == JsonScalar::Kind::kInvalid || !wants(out)) return fail_wanted(wanted);
    ++at_;
    return true;
  }
  [[nodiscard]] bool read_scalar(JsonScalar& out) {
    return read_scalar(out, "a value", [](const JsonScalar&) { return true; });
  }
  // Reads over a value nobody wants; it must be JSON all the same.
  [[nodiscard]] bool skip();
  // Any value, as it is written but for the space between its tokens.
  [[nodiscard]] bool read_json(std::string& out);

  bool fail(std::string message);
  // Says what was wanted here instead.
  bool fail_wanted(std::string_view wanted);

  // "input_args[1].shape: ..."
  std::string fault() const;
  // Where in the text the fault is.
  std::size_t fault_at() const { return fault_at_; }

 private:
  bool take(char c) {
    if (first() != c) return false;
    ++at_;
    return true;
  }
  bool leave(char close) {
    if (!take(close)) return false;
    --depth_;
    return true;
  }
  bool enter(char open, std::string_view wanted) {
    if (first() != open || depth_ == kMaxNesting) return fail_to_enter(open, wanted);
    ++depth_;
    ++at_;
    return true;
  }
  bool fail_to_enter(char open, std::string_view wanted);
  static bool is_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }
  std::string_view token_text(std::size_t token) const {
    const std::size_t begin = tokens_[token];
    std::size_t end = token + 1 < count_ ? tokens_[token + 1] : text_.size();
    while (is_space(text_[end - 1])) --end;  // a token does not begin with space
    return {text_.data() + begin, end - begin};
  }
  // The string that is a token, where it has no escapes.
  std::optional<std::string_view> plain_text(std::size_t token) const {
    if (token >= count_ || text_[tokens_[token]] != '"') return std::nullopt;
    const std::string_view quoted = token_text(token);
    const std::string_view inside(quoted.data() + 1, quoted.size() - 2);
    if (inside.find('\\') != std::string_view::npos) return std::nullopt;
    return inside;
  }
  // Whether `key` (not empty) is here, with a colon right behind it.
  bool is_key(std::string_view key) const {
    if (at_ + 1 >= count_ || tokens_[at_ + 1] - tokens_[at_] != key.size() + 2) return false;
    const char* const quote = text_.data() + tokens_[at_];
    return quote[0] == '"' && quote[key.size() + 1] == '"' && quote[key.size() + 2] == ':' &&
           same_text(quote + 1, key.data(), key.size());
  }
  bool read_key(std::string_view& key, std::string& unescaped) {
    const std::optional<std::string_view> plain = plain_text(at_);
    if (!plain) return read_escaped_key(key, unescaped);
    key = *plain;
    ++at_;
    return take(':') || fail_wanted("':'");
  }
  bool read_escaped_key(std::string_view& key, std::string& unescaped);
  bool fail_in(std::string_view key);
  bool fail_in(std::size_t index);

  TokenIndex index_;
  std::string_view text_;
  const std::uint32_t* tokens_ = nullptr;
  std::size_t count_ = 0;
  std::size_t at_ = 0;
  int depth_ = 0;
  std::string path_, message_;
  std::size_t fault_at_ = 0;
};

}  // namespace msprobe::dump
