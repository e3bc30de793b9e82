// SPDX-License-Identifier: Apache-2.0
// The stack, the memo and the containers of the pickle protocol, as plain data.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace msprobe::dump {

struct PickleItem {
  enum class Kind : std::uint8_t {
    kMark,
    kNone,
    kBool,
    kInteger,
    kReal,
    kText,
    kTuple,
    kList,
    kDict,
    kGlobal,   // a name of the allow list
    kStorage,  // the bytes of a tensor
    kTensor,
  };
  Kind kind = Kind::kNone;
  std::int64_t number = 0;  // the value, or the index of what the item refers to
  std::string_view text = {};
  std::size_t count = 0;  // of a tuple

  std::size_t index() const { return static_cast<std::size_t>(number); }
};

// "a list", "a tensor": for messages.
std::string_view kind_name(PickleItem::Kind kind);

// Every operation returns false where the pickle is malformed. Items are never copied more often
// than the pickle has bytes, so memory stays in proportion to it.
class PickleStack {
 public:
  using Kind = PickleItem::Kind;
  using Items = std::span<const PickleItem>;

  // Of a dictionary only what the metadata of a tensor can say is kept, of a list nothing.
  struct Dict {
    bool conjugated = false;
    bool negated = false;
    bool other = false;
  };

  PickleStack();

  std::size_t size() const { return stack_.size(); }
  std::size_t memo_size() const { return memo_.size(); }
  // kMark for an empty stack.
  Kind top() const { return stack_.empty() ? Kind::kMark : stack_.back().kind; }
  Items items_of(const PickleItem& tuple) const {
    return std::span(tuples_).subspan(tuple.index(), tuple.count);
  }
  const Dict& dict_of(const PickleItem& dict) const { return dicts_[dict.index()]; }

  bool push(PickleItem item);
  bool take(PickleItem& out);
  bool pop();
  bool push_list() { return push({Kind::kList}); }
  bool push_dict();
  // A tuple of the topmost items, or of all above the topmost mark.
  bool push_tuple(std::size_t count);
  bool push_tuple_from_mark();
  bool append();
  bool append_from_mark();
  bool set_item();
  bool set_items_from_mark();
  bool put(std::size_t key);
  bool get(std::size_t key);

 private:
  std::optional<std::size_t> count_above_mark() const;
  void add_to(const PickleItem& dict, const PickleItem& key, const PickleItem& value);

  std::vector<PickleItem> stack_;
  std::vector<PickleItem> tuples_;  // the items of all tuples, one behind the other
  std::vector<std::optional<PickleItem>> memo_;
  std::vector<Dict> dicts_;
};

}  // namespace msprobe::dump
