// SPDX-License-Identifier: Apache-2.0
// A walk over JSON in place: the members of an object, the elements of a list, by their byte
// ranges. For files too large to parse whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <utility>

#include "core/file.h"
#include "core/result.h"
#include "dump/json_scan.h"

namespace msprobe::dump {

class JsonWalk {
 public:
  struct Member {
    std::string_view key;
    std::size_t key_at;
    std::size_t value_at;
  };

  // `name` stands for the file in messages and must outlive the walk, as must the text.
  JsonWalk(std::string_view text, std::string_view name) : text_(text), name_(name) {}

  std::string_view text() const { return text_; }

  // Walks the object that is the whole text; on_member(member) returns where its value ends. When
  // the brackets run out the message names the first one of the wrong kind.
  template <class OnMember>
  Result<bool> whole(OnMember on_member) {
    const Result<std::size_t> end = members(skip_space(text_, 0), "the file", on_member);
    if (!end) return diagnosed(end.error());
    const std::size_t rest = skip_space(text_, *end);
    if (rest != text_.size()) return diagnosed(fault(rest, "the end of the file").error());
    return true;
  }

  // The same for a file that grows at its end, as its writer left it.
  enum class End : std::uint8_t {
    kClosed,
    kOpen,      // the last bracket is not there
    kInsideKey  // nor is the end of the last key, or its value
  };
  template <class OnMember>
  Result<End> whole_or_open(OnMember on_member) {
    std::size_t at = skip_space(text_, 0);
    if (!is_at(at, '{')) return fault(at, "'{': the file must be an object");
    at = skip_space(text_, at + 1);
    while (at < text_.size() && !is_at(at, '}')) {
      if (ends_before_value(at)) return End::kInsideKey;
      const Result<Member> member = read_key(at);
      if (!member) return propagate(member);
      const Result<std::size_t> end = on_member(*member);
      if (!end) return propagate(end);
      const std::size_t item_at = at;
      at = skip_space(text_, *end);
      if (is_at(at, ',')) {
        at = skip_space(text_, at + 1);
        if (is_at(at, '}')) return fault(at, "a key in quotes");
      } else if (at < text_.size() && !is_at(at, '}')) {
        return fault_behind(at, '}', item_at, "the file");
      }
    }
    if (at == text_.size()) return End::kOpen;
    const std::size_t rest = skip_space(text_, at + 1);
    if (rest != text_.size()) return fault(rest, "the end of the file");
    return End::kClosed;
  }

  // Whether the text ends before the value at `at` does.
  bool ends_inside(std::size_t at) const;

  // Walks the object at `at` and returns where it ends.
  template <class OnMember>
  Result<std::size_t> members(std::size_t at, std::string_view what, OnMember on_member) {
    if (!is_at(at, '{')) return fault_at(at, "'{': ", what, " must be an object");
    return items(at, '}', what, [&](std::size_t key_at) -> Result<std::size_t> {
      const Result<Member> member = read_key(key_at);
      if (!member) return propagate(member);
      return on_member(*member);
    });
  }

  // Walks the list at `at`; on_element(place) returns where the element ends.
  template <class OnElement>
  Result<std::size_t> elements(std::size_t at, std::string_view what, OnElement on_element) {
    if (!is_at(at, '[')) return fault_at(at, "'[': ", what, " must be a list");
    return items(at, ']', what, on_element);
  }

  // Where the value at `at` ends; containers are not looked into. `what` names it in messages.
  Result<std::size_t> value_end(std::size_t at, std::string_view what) const;

  // The string at `at`, its escapes replaced. The text stays as long as the walk does, or what
  // keep_alive returned.
  Result<std::string_view> string(std::size_t at, std::size_t& end);

  bool is_at(std::size_t at, char c) const { return at < text_.size() && text_[at] == c; }

  Failure fault(std::size_t at, std::string_view wanted) const;

  // Joins the strings whose escapes were replaced to what keeps the file alive.
  std::shared_ptr<const void> keep_alive(std::shared_ptr<const void> file);

 private:
  template <class OnItem>
  Result<std::size_t> items(std::size_t at, char close, std::string_view what, OnItem on_item) {
    at = skip_space(text_, at + 1);
    if (is_at(at, close)) return at + 1;
    while (true) {
      const std::size_t item_at = at;
      const Result<std::size_t> end = on_item(item_at);
      if (!end) return end;
      at = skip_space(text_, *end);
      if (is_at(at, close)) return at + 1;
      if (!is_at(at, ',')) return fault_behind(at, close, item_at, what);
      at = skip_space(text_, at + 1);
    }
  }

  Result<Member> read_key(std::size_t at);
  // Whether the text ends inside the key at `at`, or right behind it.
  bool ends_before_value(std::size_t at) const;
  Failure fault_at(std::size_t at, std::string_view wanted, std::string_view what,
                   std::string_view must) const;
  Failure fault_behind(std::size_t at, char close, std::size_t item_at,
                       std::string_view what) const;
  Failure diagnosed(Error error) const;

  std::string_view text_;
  std::string_view name_;
  std::deque<std::string> unescaped_;
};

}  // namespace msprobe::dump
