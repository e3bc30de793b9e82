// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <unordered_map>

#include "dump_compare/entry_pairing.h"
#include "dump_compare/item_cells.h"
#include "ops/parameter_names.h"

namespace msprobe::dump_compare {
namespace {

using dump::Entry;
using dump::Item;
using dump::ItemKind;
using dump::ItemPart;

// Names of parameters that mean the same.
struct ParameterName {
  std::string_view mindspore;
  std::string_view torch;
};
constexpr ParameterName kParameters[] = {
    {"gamma", "weight"},
    {"beta", "bias"},
    {"embedding_table", "weight"},
};

// Functions that PyTorch makes of several operators, whose last autograd node has gradients of
// other shapes or of a value in between. PyTorch's dumps have the gradients of that node.
constexpr std::array<std::string_view, 14> kComposed{
    "Functional.cross_entropy",
    "Functional.l1_loss",
    "Functional.kl_div",
    "Functional.linear",
    "Functional.margin_ranking_loss",
    "Functional.hinge_embedding_loss",
    "Functional.cosine_embedding_loss",
    "Functional.triplet_margin_loss",
    "Functional.normalize",
    "Functional.scaled_dot_product_attention",
    "Torch.cosine_similarity",
    "Functional.cosine_similarity",
    "Torch.einsum",
    "Torch.nansum",
};

// Up to here a look at all of them is quicker than an index.
constexpr std::size_t kFewItems = 64;

std::string_view torch_name(std::string_view parameter) {
  const auto* const found = std::ranges::find(kParameters, parameter, &ParameterName::mindspore);
  return found == std::end(kParameters) ? std::string_view() : found->torch;
}

bool is_null(const Item& item) { return item.kind == ItemKind::kNull; }

// One of them could stand for the other.
bool alike(const Item& target, const Item& golden) {
  if (target.kind != golden.kind) return false;
  if (target.kind == ItemKind::kTensor) return target.shape == golden.shape;
  return target.kind != ItemKind::kValue || dtype_text(target) == dtype_text(golden);
}

class Pairing {
 public:
  Pairing(const Entry& target, const Entry& golden)
      : target_(target), golden_(golden), used_(golden.items.size()) {
    found_.golden.assign(target.items.size(), kNoItem);
    if (golden.items.size() <= kFewItems) return;
    for (std::uint32_t g = 0; g < golden.items.size(); ++g) {
      index_[golden.items[g].place].push_back(g);
    }
  }

  ItemPairing by_place() {
    if (std::ranges::equal(target_.items, golden_.items, {}, &Item::place, &Item::place)) {
      for (std::uint32_t i = 0; i < target_.items.size(); ++i) found_.golden[i] = i;
      return std::move(found_);
    }
    for (std::uint32_t i = 0; i < target_.items.size(); ++i) take(i, target_.items[i].place);
    return std::move(found_);
  }

  ItemPairing across(const ApiRule* rule) {
    if (rule != nullptr) {
      for (std::uint32_t i = 0; i < target_.items.size(); ++i) {
        take(i, rule->place(target_.items[i].place));
      }
    }
    for (std::uint32_t i = 0; i < target_.items.size(); ++i) {
      if (found_.golden[i] == kNoItem) take(i, target_.items[i].place);
    }
    for (std::uint32_t i = 0; i < target_.items.size(); ++i) {
      if (found_.golden[i] == kNoItem) take_parameter(i);
    }
    for (std::uint32_t i = 0; i < target_.items.size(); ++i) {
      if (found_.golden[i] == kNoItem) take_argument(i);
    }
    pair_other_inputs();
    pair_gradients();
    return std::move(found_);
  }

 private:
  bool take(std::uint32_t item, std::string_view place) {
    if (place.empty() && !target_.items[item].place.empty()) return false;
    const std::uint32_t golden = unused_at(place);
    if (golden == kNoItem) return false;
    found_.golden[item] = golden;
    used_[golden] = true;
    return true;
  }

  std::uint32_t unused_at(std::string_view place) const {
    const auto is_free = [&](std::uint32_t g) {
      return !used_[g] && golden_.items[g].place == place;
    };
    if (index_.empty()) {
      for (std::uint32_t g = 0; g < golden_.items.size(); ++g) {
        if (is_free(g)) return g;
      }
      return kNoItem;
    }
    const auto found = index_.find(place);
    if (found == index_.end()) return kNoItem;
    const auto free = std::ranges::find_if(found->second, is_free);
    return free == found->second.end() ? kNoItem : *free;
  }

  void take_parameter(std::uint32_t item) {
    const Item& target = target_.items[item];
    if (target.part != ItemPart::kParameter && target.part != ItemPart::kGradient) return;
    const std::string_view place = target.place;
    const std::size_t dot = place.rfind('.') + 1;
    const std::string_view name = torch_name(place.substr(dot));
    if (!name.empty()) take(item, std::string(place.substr(0, dot)) += name);
  }

  // An argument may be positional on one side and a keyword on the other.
  void take_argument(std::uint32_t item) {
    constexpr std::string_view kInput = "input.";
    constexpr std::size_t kMostArguments = 32;
    const Item& target = target_.items[item];
    if (target.part != ItemPart::kInput || !target.place.starts_with(kInput)) return;
    if (target_.parts.is_module || target_.parts.kind != dump::EntryKind::kForward) return;
    const std::string_view argument = std::string_view(target.place).substr(kInput.size());
    const std::vector<std::string> names =
        ops::parameter_names(golden_.parts.owner, kMostArguments);
    for (std::size_t i = 0; i < names.size(); ++i) {
      const std::string number = std::to_string(i);
      if (number == names[i]) break;  // not known from here on
      if (argument == number) take(item, std::string(kInput) + names[i]);
      if (argument == names[i]) take(item, std::string(kInput) + number);
    }
  }

  // Arguments that are left over belong together in order, if all of them could.
  void pair_other_inputs() {
    std::vector<std::uint32_t> target;
    std::vector<std::uint32_t> golden;
    for (std::uint32_t i = 0; i < target_.items.size(); ++i) {
      if (found_.golden[i] == kNoItem && target_.items[i].part == ItemPart::kInput) {
        target.push_back(i);
      }
    }
    for (std::uint32_t g = 0; g < golden_.items.size(); ++g) {
      if (!used_[g] && golden_.items[g].part == ItemPart::kInput) golden.push_back(g);
    }
    const bool fits = std::ranges::equal(target, golden, [this](std::uint32_t t, std::uint32_t g) {
      return alike(target_.items[t], golden_.items[g]);
    });
    if (!fits) return;
    for (std::size_t i = 0; i < target.size(); ++i) {
      found_.golden[target[i]] = golden[i];
      used_[golden[i]] = true;
    }
  }

  // PyTorch lists what its last autograd node returns, null for what needs no gradient; MindSpore
  // has a slot for every tensor among the arguments. They are the same gradients if they fit
  // together in order, with or without the nulls.
  void pair_gradients() {
    std::vector<std::uint32_t> target;
    for (std::uint32_t i = 0; i < target_.items.size(); ++i) {
      if (!is_api_gradient(target_, target_.items[i])) continue;
      target.push_back(i);
      if (found_.golden[i] != kNoItem) used_[found_.golden[i]] = false;
      found_.golden[i] = kNoItem;
    }
    std::vector<std::uint32_t> golden;
    for (std::uint32_t g = 0; g < golden_.items.size(); ++g) {
      if (is_api_gradient(golden_, golden_.items[g])) golden.push_back(g);
    }
    if (target.empty() && golden.empty()) return;
    const auto is_null_target = [this](std::uint32_t i) { return is_null(target_.items[i]); };
    const auto is_null_golden = [this](std::uint32_t g) { return is_null(golden_.items[g]); };
    found_.other_gradients = std::ranges::any_of(
        kComposed, [this](std::string_view name) { return name == golden_.parts.owner; });
    if (found_.other_gradients || take_in_order(target, golden)) return;
    std::erase_if(target, is_null_target);
    if (take_in_order(target, golden)) return;
    std::erase_if(golden, is_null_golden);
    found_.other_gradients = !take_in_order(target, golden);
  }

  bool take_in_order(const std::vector<std::uint32_t>& target,
                     const std::vector<std::uint32_t>& golden) {
    const bool fits = std::ranges::equal(target, golden, [this](std::uint32_t t, std::uint32_t g) {
      const Item& left = target_.items[t];
      const Item& right = golden_.items[g];
      return is_null(left) || is_null(right) || alike(left, right);
    });
    if (!fits) return false;
    for (std::size_t i = 0; i < target.size(); ++i) {
      if (is_null(target_.items[target[i]]) != is_null(golden_.items[golden[i]])) continue;
      found_.golden[target[i]] = golden[i];
      used_[golden[i]] = true;
    }
    return true;
  }

  const Entry& target_;
  const Entry& golden_;
  std::vector<bool> used_;
  std::unordered_map<std::string_view, std::vector<std::uint32_t>> index_;  // of many items
  ItemPairing found_;
};

}  // namespace

bool is_api_gradient(const Entry& entry, const Item& item) {
  return entry.parts.kind == dump::EntryKind::kBackward && !entry.parts.is_module &&
         item.part == ItemPart::kOutput;
}

ItemPairing pair_items(const Entry& target, const Entry& golden, bool across, const ApiRule* rule) {
  Pairing pairing(target, golden);
  return across ? pairing.across(rule) : pairing.by_place();
}

}  // namespace msprobe::dump_compare
