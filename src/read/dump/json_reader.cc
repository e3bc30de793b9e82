// SPDX-License-Identifier: Apache-2.0
#include "dump/json_reader.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "dump/printable.h"

namespace msprobe::dump {
namespace {

// The tokens of a text need up to four times its memory; a recorded call has some kilobytes.
constexpr std::size_t kMaxTextBytes = std::size_t{256} << 20;
constexpr std::size_t kShownBytes = 40;  // of a token, in a message
constexpr std::size_t kLookAhead = 256;  // tokens; the longest description of a tensor has some 100

}  // namespace

bool JsonReader::start(std::string_view text) {
  text_ = text;
  count_ = at_ = fault_at_ = 0;
  depth_ = 0;
  path_.clear();
  message_.clear();
  if (text.size() > kMaxTextBytes) {
    return fail(fmt::format("{} bytes, more than the limit of {}", text.size(), kMaxTextBytes));
  }
  const std::string_view error = index_.find(text);
  if (!error.empty()) return fail(fmt::format("not valid JSON: {}", error));
  tokens_ = index_.tokens().data();
  count_ = index_.tokens().size();
  return true;
}

bool JsonReader::fail_to_enter(char open, std::string_view wanted) {
  if (first() != open) return fail_wanted(wanted);
  return fail(fmt::format("nested deeper than {}", kMaxNesting));
}

bool JsonReader::read_escaped_key(std::string_view& key, std::string& unescaped) {
  if (first() != '"') return fail_wanted("a key in quotes");
  if (!read_text(unescaped)) return false;
  key = unescaped;
  return take(':') || fail_wanted("':'");
}

std::optional<std::string_view> JsonReader::peek_text_member(std::string_view key) const {
  const std::size_t end = std::min(count_, at_ + kLookAhead);
  int depth = 0;
  for (std::size_t i = at_; i + 1 < end; ++i) {
    const char c = text_[tokens_[i]];
    if (c == '{' || c == '[') ++depth;
    if ((c == '}' || c == ']') && --depth == 0) break;
    if (c == ':' && depth == 1 && plain_text(i - 1) == key) return plain_text(i + 1);
  }
  return std::nullopt;
}

bool JsonReader::read_text(std::string& out) {
  if (const auto plain = plain_text(at_)) {
    out.assign(*plain);
    ++at_;
    return true;
  }
  if (first() != '"') return fail_wanted("a string");
  const std::string_view quoted = token();
  out.clear();
  if (!append_unescaped(quoted.substr(1, quoted.size() - 2), out)) {
    return fail(fmt::format("{} has a bad escape", printable(quoted, kShownBytes)));
  }
  ++at_;
  return true;
}

bool JsonReader::skip() {
  switch (first()) {
    case '[':
      return each_element([this] { return skip(); });
    case '{':
      return each_field([this](std::string_view) { return skip(); });
    case '"': {
      std::string text;
      return read_text(text);
    }
    default: {
      JsonScalar scalar;
      return read_scalar(scalar);
    }
  }
}

bool JsonReader::read_json(std::string& out) {
  const std::size_t begin = at_;
  if (!skip()) return false;
  for (std::size_t token = begin; token < at_; ++token) out += token_text(token);
  return true;
}

bool JsonReader::fail(std::string message) {
  message_ = std::move(message);
  fault_at_ = at_ < count_ ? tokens_[at_] : text_.size();
  return false;
}

bool JsonReader::fail_wanted(std::string_view wanted) {
  const std::string found = at_ == count_ ? "the end" : printable(token(), kShownBytes);
  return fail(fmt::format("found {}, expected {}", found, wanted));
}

bool JsonReader::fail_in(std::string_view key) {
  const bool joined = path_.empty() || path_.front() == '[';
  path_ = fmt::format("{}{}{}", printable(key, kShownBytes), joined ? "" : ".", path_);
  return false;
}

bool JsonReader::fail_in(std::size_t index) {
  const bool joined = path_.empty() || path_.front() == '[';
  path_ = fmt::format("[{}]{}{}", index, joined ? "" : ".", path_);
  return false;
}

std::string JsonReader::fault() const {
  return path_.empty() ? message_ : fmt::format("{}: {}", path_, message_);
}

}  // namespace msprobe::dump
