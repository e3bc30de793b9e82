// SPDX-License-Identifier: Apache-2.0
// Where the tokens of a JSON text begin: the first stage of simdjson, which also checks UTF-8 and
// that every string ends.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace simdjson::internal {
class dom_parser_implementation;
}

namespace msprobe::dump {

// simdjson's own parsers build on the same stage. They are not used because the one that makes a
// tree refuses the NaN and Infinity of Python's JSON, and the one on demand spends more time on its
// state than on a recording.
class TokenIndex {
 public:
  TokenIndex();
  TokenIndex(TokenIndex&&) noexcept;
  TokenIndex& operator=(TokenIndex&&) noexcept;
  ~TokenIndex();

  // Finds the tokens of `text` (at most 4 GiB). Empty if all is well, else what is wrong.
  std::string_view find(std::string_view text);

  // Byte offsets of brackets, commas, colons, and the first bytes of strings, numbers and words.
  std::span<const std::uint32_t> tokens() const;

 private:
  std::unique_ptr<simdjson::internal::dom_parser_implementation> stage_;
};

}  // namespace msprobe::dump
