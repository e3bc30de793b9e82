// SPDX-License-Identifier: Apache-2.0
// One entry of dump.json as a flat list of items: every value that went in or came out, by its
// place in the entry.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "core/tensor.h"
#include "dump/entry_index.h"
#include "dump/entry_name.h"

namespace msprobe::dump {

// In the order the items of an entry have.
enum class ItemPart : std::uint8_t { kInput, kParameter, kOutput, kGradient };

enum class ItemKind : std::uint8_t {
  kNull,
  kTensor,  // whatever has a dtype: arrays of numpy, too
  kSize,
  kSlice,
  kEllipsis,
  kGroup,  // ProcessGroup
  kValue,  // a number, a truth value, a text, a device, a dtype
};

// A statistic, or the value of an argument. The text stays as long as the index and the Entry.
struct ItemValue {
  enum class Kind : std::uint8_t { kAbsent, kNull, kBool, kInteger, kReal, kText, kList };
  Kind kind = Kind::kAbsent;
  double real = 0;        // of booleans and numbers; NaN and infinities occur
  std::string_view text;  // numbers as written, kText unescaped, kList as Python prints it

  bool is_number() const { return kind == Kind::kInteger || kind == Kind::kReal; }
};

struct Item {
  std::string place;  // in the entry: "input.0", "input.bias", "parameters.weight", "output.1.0"; a
                      // gradient has the name of its parameter
  ItemPart part = ItemPart::kInput;
  ItemKind kind = ItemKind::kNull;
  bool is_keyword = false;            // of input_kwargs
  std::string_view type;              // "torch.Tensor", "int"
  std::string_view dtype;             // of tensors, as recorded: "torch.float16"
  Shape shape;                        // of tensors
  ItemValue max, min, mean, norm;     // of tensors
  std::optional<bool> requires_grad;  // empty: not recorded
  ItemValue md5;
  std::string_view data_name;  // empty: no file
  ItemValue value;             // of what is not a tensor
  std::string_view transfer;   // of a point-to-point operation: "isend"
  std::int32_t peer = -1;      // its other rank; -1: none
};

struct Entry {
  std::string_view name;
  std::uint64_t at = 0;  // byte offset in the file: the order of execution
  EntryName parts;
  bool is_broken =
      false;  // it could not be read: whoever asked for it may put an item in its place
  std::vector<Item> items;
  std::deque<std::string> texts;  // what the items point to, where the file does not have it
};

// Names an item as tables do: the entry and the place. A tensor with a file has the file's name,
// whose keyword arguments are "...forward.kwargs.bias".
std::string item_name(const Entry& entry, const Item& item);
void append_item_name(std::string& out, const Entry& entry, const Item& item);

// Reads entries one after the other, keeping its buffers. One per thread.
class EntryReader {
 public:
  EntryReader();
  EntryReader(EntryReader&&) noexcept;
  EntryReader& operator=(EntryReader&&) noexcept;
  ~EntryReader();

  // Replaces `out`. An error is a fault of this entry alone; `place` (file name) opens the message.
  Result<void> read(const EntrySlice& slice, std::string_view place, Entry& out);

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace msprobe::dump
