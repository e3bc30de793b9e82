// SPDX-License-Identifier: Apache-2.0
#include "dump/pickle_stack.h"

namespace msprobe::dump {
namespace {

// The memo of an honest tensor has some twenty entries.
constexpr std::size_t kMaxMemo = 1 << 16;

constexpr std::array<std::string_view, 12> kKindNames{
    "nothing", "None",   "a bool",       "an integer", "a number",  "a string",
    "a tuple", "a list", "a dictionary", "a name",     "a storage", "a tensor"};

}  // namespace

std::string_view kind_name(PickleItem::Kind kind) {
  return kKindNames[static_cast<std::size_t>(kind)];
}

PickleStack::PickleStack() {
  stack_.reserve(32);
  tuples_.reserve(64);
  memo_.reserve(32);
}

bool PickleStack::push(PickleItem item) {
  stack_.push_back(item);
  return true;
}

bool PickleStack::take(PickleItem& out) {
  if (top() == Kind::kMark) return false;
  out = stack_.back();
  stack_.pop_back();
  return true;
}

bool PickleStack::pop() {
  PickleItem item;
  return take(item);
}

bool PickleStack::push_dict() {
  dicts_.emplace_back();
  return push({Kind::kDict, static_cast<std::int64_t>(dicts_.size() - 1)});
}

std::optional<std::size_t> PickleStack::count_above_mark() const {
  for (std::size_t count = 0; count < stack_.size(); ++count) {
    if (stack_[stack_.size() - 1 - count].kind == Kind::kMark) return count;
  }
  return std::nullopt;
}

bool PickleStack::push_tuple(std::size_t count) {
  if (stack_.size() < count) return false;
  const Items items = std::span(stack_).last(count);
  for (const PickleItem& item : items) {
    if (item.kind == Kind::kMark) return false;
  }
  const PickleItem tuple{Kind::kTuple, static_cast<std::int64_t>(tuples_.size()), {}, count};
  tuples_.insert(tuples_.end(), items.begin(), items.end());
  stack_.resize(stack_.size() - count);
  return push(tuple);
}

bool PickleStack::push_tuple_from_mark() {
  const std::optional<std::size_t> count = count_above_mark();
  if (!count || !push_tuple(*count)) return false;
  stack_[stack_.size() - 2] = stack_.back();  // in the place of the mark
  stack_.pop_back();
  return true;
}

bool PickleStack::append() { return pop() && top() == Kind::kList; }

bool PickleStack::append_from_mark() {
  const std::optional<std::size_t> count = count_above_mark();
  if (!count) return false;
  stack_.resize(stack_.size() - *count - 1);
  return top() == Kind::kList;
}

void PickleStack::add_to(const PickleItem& dict, const PickleItem& key, const PickleItem& value) {
  Dict& target = dicts_[dict.index()];
  const bool flag = key.kind == Kind::kText && value.kind == Kind::kBool;
  if (flag && key.text == "conj") {
    target.conjugated = value.number != 0;
  } else if (flag && key.text == "neg") {
    target.negated = value.number != 0;
  } else {
    target.other = true;
  }
}

bool PickleStack::set_item() {
  PickleItem value;
  PickleItem key;
  if (!take(value) || !take(key) || top() != Kind::kDict) return false;
  add_to(stack_.back(), key, value);
  return true;
}

bool PickleStack::set_items_from_mark() {
  const std::optional<std::size_t> count = count_above_mark();
  if (!count || *count % 2 != 0 || stack_.size() < *count + 2) return false;
  const std::size_t mark = stack_.size() - *count - 1;
  if (stack_[mark - 1].kind != Kind::kDict) return false;
  for (std::size_t i = mark + 1; i < stack_.size(); i += 2) {
    add_to(stack_[mark - 1], stack_[i], stack_[i + 1]);
  }
  stack_.resize(mark);
  return true;
}

bool PickleStack::put(std::size_t key) {
  if (key >= kMaxMemo || top() == Kind::kMark) return false;
  if (key >= memo_.size()) memo_.resize(key + 1);
  memo_[key] = stack_.back();
  return true;
}

bool PickleStack::get(std::size_t key) {
  return key < memo_.size() && memo_[key].has_value() && push(*memo_[key]);
}

}  // namespace msprobe::dump
