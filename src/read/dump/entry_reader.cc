// SPDX-License-Identifier: Apache-2.0
#include "dump/entry_reader.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "dump/json_reader.h"
#include "dump/limits.h"
#include "dump/printed_json.h"

namespace msprobe::dump {
namespace {

using ScalarKind = JsonScalar::Kind;
using ValueKind = ItemValue::Kind;

// Recorded calls have some tens; an item takes far more memory than the few bytes that ask for it.
constexpr std::size_t kMaxItems = 1'000'000;

// Puts a part behind the place while it lives.
class PlaceBelow {
 public:
  PlaceBelow(std::string& place, std::string_view part) : place_(place), size_(place.size()) {
    if (!place_.empty()) place_ += '.';
    place_ += part;
  }
  PlaceBelow(std::string& place, std::size_t index) : place_(place), size_(place.size()) {
    std::array<char, 24> digits;
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), index).ptr;
    if (!place_.empty()) place_ += '.';
    place_.append(digits.data(), end);
  }
  PlaceBelow(const PlaceBelow&) = delete;
  PlaceBelow& operator=(const PlaceBelow&) = delete;
  ~PlaceBelow() { place_.resize(size_); }

 private:
  std::string& place_;
  std::size_t size_;
};

struct MemberPart {
  std::string_view key;
  std::string_view place;
  ItemPart part;
};
// In the order in which they make items.
constexpr std::array kParts{
    MemberPart{"input_args", "input", ItemPart::kInput},
    MemberPart{"input_kwargs", "input", ItemPart::kInput},
    MemberPart{"input", "input", ItemPart::kInput},
    MemberPart{"parameters", "parameters", ItemPart::kParameter},
    MemberPart{"output", "output", ItemPart::kOutput},
};
constexpr std::size_t kKeywords = 1;

}  // namespace

class EntryReader::Implementation {
 public:
  Result<void> read(const EntrySlice& slice, std::string_view place, Entry& out) {
    out.name = slice.name;
    out.at = slice.at;
    out.parts = parse_entry_name(slice.name).value_or(EntryName{});
    out.items.clear();
    out.texts.clear();
    out_ = &out;
    place_.clear();
    const bool done = json_.start(slice.json) && read_members() &&
                      (json_.at_end() || json_.fail_wanted("the end"));
    out.is_broken = !done;
    if (done) return {};
    return fail(ErrorKind::kFormat, fmt::format("{}: {}: byte {}: {}", place, slice.name,
                                                slice.at + json_.fault_at(), json_.fault()));
  }

 private:
  bool read_members() {
    if (out_->parts.kind == EntryKind::kDebug) return read_saved();
    return out_->parts.kind == EntryKind::kParametersGrad ? read_gradients() : read_call();
  }

  // A value that debugger.save() was given. Its tensors are judged as results, its numbers and
  // texts as arguments: these must be equal.
  bool read_saved() {
    part_ = ItemPart::kOutput;
    is_keyword_ = false;
    if (!read_value()) return false;
    for (Item& item : out_->items) {
      if (item.kind != ItemKind::kTensor) item.part = ItemPart::kInput;
    }
    return true;
  }

  bool read_call() {
    std::array<bool, kParts.size()> seen{};
    bool sorted = true;
    std::size_t last = 0;
    order_.clear();
    const bool done = json_.each_field([&](std::string_view key) {
      const auto* const found = std::ranges::find(kParts, key, &MemberPart::key);
      if (found == kParts.end()) return json_.skip();
      const auto index = static_cast<std::size_t>(found - kParts.begin());
      if (std::exchange(seen[index], true)) return json_.fail("duplicate key");
      sorted = sorted && index >= last;
      last = index;
      part_ = found->part;
      is_keyword_ = index == kKeywords;
      const PlaceBelow below(place_, found->place);
      const bool read = read_value();
      order_.resize(out_->items.size(), static_cast<std::uint8_t>(index));
      return read;
    });
    if (done && !sorted) sort_items();
    return done;
  }

  void sort_items() {
    std::vector<std::size_t> by_part(order_.size());
    for (std::size_t i = 0; i < by_part.size(); ++i) by_part[i] = i;
    std::ranges::stable_sort(by_part, {}, [this](std::size_t i) { return order_[i]; });
    std::vector<Item> items;
    items.reserve(by_part.size());
    for (const std::size_t i : by_part) items.push_back(std::move(out_->items[i]));
    out_->items = std::move(items);
  }

  // {parameter: [tensor]}. Of several the first has the parameter's name, the others a number
  // behind it.
  bool read_gradients() {
    part_ = ItemPart::kGradient;
    is_keyword_ = false;
    return json_.each_field([&](std::string_view key) {
      const PlaceBelow below(place_, key);
      if (json_.first() != '[') return read_value();
      std::size_t index = 0;
      return json_.each_element([&] {
        if (index++ == 0) return read_value();
        const PlaceBelow nth(place_, index - 1);
        return read_value();
      });
    });
  }

  bool read_value() {
    switch (json_.first()) {
      case '{':
        return read_object();
      case '[': {
        std::size_t index = 0;
        return json_.each_element([&] {
          const PlaceBelow below(place_, index++);
          return read_value();
        });
      }
      default: {
        Item* const item = add_item();
        if (item == nullptr || !read_payload(item->value)) return false;
        if (item->value.kind != ValueKind::kNull) item->kind = ItemKind::kValue;
        return true;
      }
    }
  }

  // A description has a text as "type"; anything else is a dictionary.
  bool read_object() {
    if (const auto type = json_.peek_text_member("type")) {
      Item* const item = add_item();
      return item != nullptr && read_leaf(*item, *type);
    }
    if (json_.peek_text_member("class_type")) return read_p2p();
    return json_.each_field([&](std::string_view key) {
      const PlaceBelow below(place_, key);
      return read_value();
    });
  }

  // A point-to-point operation is its tensor, which knows what is done with it.
  bool read_p2p() {
    const std::size_t first = out_->items.size();
    std::string_view transfer;
    ItemValue peer;
    const bool done = json_.each_field([&](std::string_view key) {
      if (key == "op" && json_.first() == '"') return read_view(transfer);
      if (key == "peer") return read_payload(peer);
      return key == "tensor" ? read_value() : json_.skip();
    });
    for (std::size_t i = first; i < out_->items.size(); ++i) {
      out_->items[i].transfer = transfer;
      if (peer.kind == ValueKind::kInteger && peer.real >= 0 && peer.real <= 1e9) {
        out_->items[i].peer = static_cast<std::int32_t>(peer.real);
      }
    }
    return done;
  }

  Item* add_item() {
    if (out_->items.size() >= kMaxItems) {
      json_.fail(fmt::format("more than {} values", kMaxItems));
      return nullptr;
    }
    Item& item = out_->items.emplace_back();
    item.place = place_;
    item.part = part_;
    item.is_keyword = is_keyword_;
    return &item;
  }

  bool read_leaf(Item& item, std::string_view type) {
    item.type = type;
    item.kind = ItemKind::kValue;
    std::size_t next = 0;
    const auto expected = [&] { return next < kLeafKeys.size() ? kLeafKeys[next] : ""; };
    const bool done = json_.each_field(
        [&](std::string_view key) {
          const auto index =
              static_cast<std::size_t>(std::ranges::find(kLeafKeys, key) - kLeafKeys.begin());
          next = index + 1;
          return read_leaf_member(item, index);
        },
        expected);
    if (!done) return false;
    if (!item.dtype.empty()) {
      item.kind = ItemKind::kTensor;
    } else if (type == "torch.Size") {
      item.kind = ItemKind::kSize;
    } else if (type == "slice") {
      item.kind = ItemKind::kSlice;
    } else if (type == "ellipsis") {
      item.kind = ItemKind::kEllipsis;
    } else if (type.ends_with("ProcessGroup")) {
      item.kind = ItemKind::kGroup;
    } else if (!item.data_name.empty()) {
      item.kind = ItemKind::kTensor;  // the oldest recordings name the file and nothing else
    } else if (type == "NoneType") {
      item.kind = ItemKind::kNull;
    }
    return true;
  }

  // The order in which recorders write them.
  enum LeafKey : std::uint8_t {
    kType,
    kDtype,
    kShape,
    kMax,
    kMin,
    kMean,
    kNorm,
    kRequiresGrad,
    kDataName,
    kMd5,
    kValueKey,
    kFormat,
    kGroupRanks,
    kDatapath,
  };
  static constexpr std::array<std::string_view, 14> kLeafKeys{
      "type",          "dtype",     "shape", "Max",   "Min",    "Mean",        "Norm",
      "requires_grad", "data_name", "md5",   "value", "format", "group_ranks", "datapath"};

  bool read_leaf_member(Item& item, std::size_t key) {
    switch (key) {
      case kDtype:
        return read_name(item.dtype);
      case kShape:
        return read_shape(item.shape);
      case kMax:
        return read_payload(item.max);
      case kMin:
        return read_payload(item.min);
      case kMean:
        return read_payload(item.mean);
      case kNorm:
        return read_payload(item.norm);
      case kRequiresGrad:
        return read_flag(item.requires_grad);
      case kDataName:
      case kDatapath:
        return read_name(item.data_name);
      case kMd5:
        return read_payload(item.md5);
      case kValueKey:
      case kFormat:
      case kGroupRanks:
        return read_payload(item.value);
      default:
        return json_.skip();
    }
  }

  bool read_name(std::string_view& out) {
    if (json_.token() == "null") return json_.skip();
    return read_view(out);
  }

  // The text in the file itself, where it has no escapes.
  bool read_view(std::string_view& out) {
    if (const auto plain = json_.take_plain_text()) {
      out = *plain;
      return true;
    }
    if (!json_.read_text(out_->texts.emplace_back())) return false;
    out = out_->texts.back();
    return true;
  }

  bool read_shape(Shape& out) {
    out.clear();
    if (json_.first() != '[') return json_.fail_wanted("a list of extents");
    return json_.each_element([&] {
      JsonScalar extent;
      if (!json_.read_scalar(extent, "an extent of at least 0", [](const auto& scalar) {
            return scalar.kind == ScalarKind::kInteger && scalar.integer >= 0;
          })) {
        return false;
      }
      if (out.size() == kMaxRank) {
        return json_.fail(fmt::format("more than {} dimensions", kMaxRank));
      }
      out.push_back(extent.integer);
      return true;
    });
  }

  bool read_flag(std::optional<bool>& out) {
    JsonScalar flag;
    if (!json_.read_scalar(flag, "true or false", [](const auto& scalar) {
          return scalar.kind == ScalarKind::kBool || scalar.kind == ScalarKind::kNull;
        })) {
      return false;
    }
    if (flag.kind == ScalarKind::kBool) out = flag.integer != 0;
    return true;
  }

  bool read_payload(ItemValue& out) {
    const char first = json_.first();
    if (first == '"') {
      out.kind = ValueKind::kText;
      return read_view(out.text);
    }
    if (first == '[' || first == '{') {
      out.kind = ValueKind::kList;
      std::string& text = out_->texts.emplace_back();
      if (!print_as_python(json_, text)) return false;
      out.text = text;
      return true;
    }
    const std::string_view token = json_.token();
    JsonScalar scalar;
    if (!json_.read_scalar(scalar)) return false;
    out.text = token;
    switch (scalar.kind) {
      case ScalarKind::kNull:
        out.kind = ValueKind::kNull;
        break;
      case ScalarKind::kBool:
        out.kind = ValueKind::kBool;
        out.real = static_cast<double>(scalar.integer);
        break;
      case ScalarKind::kReal:
        out.kind = ValueKind::kReal;
        out.real = scalar.real;
        break;
      default:
        out.kind = ValueKind::kInteger;
        out.real = scalar.real;
        break;
    }
    return true;
  }

  JsonReader json_;
  Entry* out_ = nullptr;
  std::string place_;
  ItemPart part_ = ItemPart::kInput;
  bool is_keyword_ = false;
  std::vector<std::uint8_t> order_;  // of the member each item came from
};

EntryReader::EntryReader() : implementation_(std::make_unique<Implementation>()) {}
EntryReader::EntryReader(EntryReader&&) noexcept = default;
EntryReader& EntryReader::operator=(EntryReader&&) noexcept = default;
EntryReader::~EntryReader() = default;

Result<void> EntryReader::read(const EntrySlice& slice, std::string_view place, Entry& out) {
  return implementation_->read(slice, place, out);
}

}  // namespace msprobe::dump
