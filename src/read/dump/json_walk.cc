// SPDX-License-Identifier: Apache-2.0
#include "dump/json_walk.h"

#include <memory>
#include <optional>

#include <fmt/format.h>

#include "dump/json_scalar.h"
#include "dump/printable.h"

namespace msprobe::dump {

Failure JsonWalk::fault(std::size_t at, std::string_view wanted) const {
  const std::string found = at >= text_.size()
                                ? "the end of the file"
                                : fmt::format("'{}'", printable(text_.substr(at, 1)));
  return fail(ErrorKind::kFormat, fmt::format("Failed to parse JSON from {}: byte {}: found {}, "
                                              "expected {}",
                                              name_, at, found, wanted));
}

Failure JsonWalk::fault_at(std::size_t at, std::string_view wanted, std::string_view what,
                           std::string_view must) const {
  return fault(at, fmt::format("{}{}{}", wanted, what, must));
}

Failure JsonWalk::fault_behind(std::size_t at, char close, std::size_t item_at,
                               std::string_view what) const {
  return fault(at,
               fmt::format("',' or '{}' after the item at byte {} of {}", close, item_at, what));
}

// A bracket of the wrong kind is noticed only when the brackets run out: say where it is.
Failure JsonWalk::diagnosed(Error error) const {
  const std::optional<BracketMismatch> mismatch = find_mismatch(text_);
  if (!mismatch) return Failure(std::move(error));
  return fault(mismatch->close_at,
               fmt::format("the bracket that closes the one at byte {}", mismatch->open_at));
}

Result<JsonWalk::Member> JsonWalk::read_key(std::size_t at) {
  if (!is_at(at, '"')) return fault(at, "a key in quotes");
  std::size_t end = 0;
  const Result<std::string_view> key = string(at, end);
  if (!key) return propagate(key);
  const std::size_t colon = skip_space(text_, end);
  if (!is_at(colon, ':')) return fault(colon, fmt::format("':' after {}", printable(*key)));
  return Member{*key, at, skip_space(text_, colon + 1)};
}

Result<std::string_view> JsonWalk::string(std::size_t at, std::size_t& end) {
  if (!is_at(at, '"')) return fault(at, "a string");
  end = string_end(text_, at);
  if (end == kNoEnd) {
    return fault(text_.size(), fmt::format("the end of the string at byte {}", at));
  }
  const std::string_view raw = text_.substr(at + 1, end - at - 2);
  if (raw.find('\\') == std::string_view::npos) return raw;
  std::string plain;
  if (!append_unescaped(raw, plain)) return fault(at, "a string without bad escapes");
  return std::string_view(unescaped_.emplace_back(std::move(plain)));
}

Result<std::size_t> JsonWalk::value_end(std::size_t at, std::string_view what) const {
  std::size_t end = kNoEnd;
  if (is_at(at, '{') || is_at(at, '[')) {
    end = container_end(text_, at);
  } else if (is_at(at, '"')) {
    end = string_end(text_, at);
  } else {
    end = scalar_end(text_, at);
    if (end == at) return fault(at, fmt::format("the value of {}", printable(what)));
  }
  if (end != kNoEnd) return end;
  return fault(text_.size(), fmt::format("the end of the value of {} that begins at byte {}",
                                         printable(what), at));
}

bool JsonWalk::ends_inside(std::size_t at) const {
  if (at >= text_.size()) return true;
  if (is_at(at, '"')) return string_end(text_, at) == kNoEnd;
  return (is_at(at, '{') || is_at(at, '[')) && container_end(text_, at) == kNoEnd;
}

bool JsonWalk::ends_before_value(std::size_t at) const {
  if (!is_at(at, '"')) return false;
  const std::size_t end = string_end(text_, at);
  if (end == kNoEnd) return true;
  const std::size_t colon = skip_space(text_, end);
  return colon >= text_.size() ||
         (is_at(colon, ':') && skip_space(text_, colon + 1) >= text_.size());
}

std::shared_ptr<const void> JsonWalk::keep_alive(std::shared_ptr<const void> file) {
  if (unescaped_.empty()) return file;
  struct Owner {
    std::shared_ptr<const void> file;
    std::deque<std::string> unescaped;
  };
  return std::make_shared<const Owner>(Owner{std::move(file), std::move(unescaped_)});
}

}  // namespace msprobe::dump
