// SPDX-License-Identifier: Apache-2.0
#include "dump_compare/golden_names.h"

#include <algorithm>
#include <compare>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "divergence/recorded_run.h"
#include "dump/entry_name.h"
#include "ops/mindspore_names.h"

namespace msprobe::dump_compare {
namespace {

using dump::EntryIndex;
using dump::EntryName;

// --- APIs ---

struct ApiCall {
  std::string_view api;
  std::string_view number;
  auto operator<=>(const ApiCall&) const = default;
};
struct PlacedCall {
  ApiCall call;
  std::string module;  // the golden name of the module call around it; empty: none, or not known
};
// Every call once, in the order of the file.
using Calls = std::vector<PlacedCall>;

Calls calls_of(const EntryIndex& dump,
               const std::function<std::string(std::string_view entry)>& module_of) {
  Calls calls;
  std::set<ApiCall> known;
  for (const dump::EntrySlice& entry : dump.entries) {
    const auto name = dump::parse_entry_name(entry.name);
    if (!name || name->is_module) continue;
    const ApiCall call{name->owner, name->number};
    if (known.insert(call).second) calls.push_back({call, module_of(entry.name)});
  }
  return calls;
}

// Communication of that name is another operation than arithmetic.
std::string operation_key(std::string_view api) {
  const bool sends = api.starts_with("Distributed.");
  std::string key = fmt::format("{}{}", sends ? "Distributed." : "", divergence::operation_of(api));
  std::ranges::replace(key, '.', '_');  // "special.erfc", and below autograd "special_erfc"
  return key;
}

// Which call of the golden dump each call of the target is.
class ApiNames {
 public:
  ApiNames(Calls target, Calls golden, const ApiMapping* mapping)
      : target_(std::move(target)), golden_(std::move(golden)), mapping_(mapping) {
    for (const PlacedCall& call : golden_) golden_apis_.insert(call.call.api);
    pair_pools(true);
    pair_pools(false);
  }

  // Nothing: no call of the golden dump is this one.
  std::optional<ApiCall> find(const EntryName& name) const {
    const auto found = names_.find({name.owner, name.number});
    if (found == names_.end()) return std::nullopt;
    return found->second;
  }

 private:
  // Calls of one operation.
  struct Pool {
    std::vector<ApiCall> target, golden;
  };

  std::vector<std::string> names_of(std::string_view api) const {
    const ApiRule* const rule = mapping_ ? mapping_->find(api) : nullptr;
    return rule ? std::vector{rule->golden} : ops::torch_names_of(api);
  }

  std::string_view named_in_golden(std::string_view api) const {
    for (const std::string& name : names_of(api)) {
      if (const auto found = golden_apis_.find(name); found != golden_apis_.end()) return *found;
    }
    return {};
  }

  // Pairs calls without a partner, inside each module call or over the whole run.
  void pair_pools(bool in_modules) {
    std::map<std::string, Pool> pools;
    const auto pool_of = [&](const PlacedCall& call, std::string_view api) -> Pool& {
      return pools[fmt::format("{}\n{}", in_modules ? call.module : "", operation_key(api))];
    };
    for (const PlacedCall& call : golden_) {
      if (taken_.contains(call.call) || (in_modules && call.module.empty())) continue;
      pool_of(call, call.call.api).golden.push_back(call.call);
    }
    for (const PlacedCall& call : target_) {
      if (names_.contains(call.call) || (in_modules && call.module.empty())) continue;
      const std::vector<std::string> names = names_of(call.call.api);
      if (!names.empty()) pool_of(call, names.front()).target.push_back(call.call);
    }
    for (const auto& [key, pool] : pools) {
      const bool counts_agree = pool.target.size() == pool.golden.size();
      if (counts_agree && (in_modules || !keep_numbers(pool))) {
        for (std::size_t i = 0; i < pool.target.size(); ++i) take(pool.target[i], pool.golden[i]);
      } else if (!in_modules) {
        by_number(pool);
      }
    }
  }

  // One API on each side, and the table says that they are the same.
  bool keep_numbers(const Pool& pool) const {
    const auto one_api = [](const std::vector<ApiCall>& calls) {
      return std::ranges::all_of(
          calls, [&](const ApiCall& call) { return call.api == calls.front().api; });
    };
    return !pool.target.empty() && one_api(pool.target) && one_api(pool.golden) &&
           !named_in_golden(pool.target.front().api).empty();
  }

  void by_number(const Pool& pool) {
    for (const ApiCall& call : pool.target) {
      const ApiCall golden{named_in_golden(call.api), call.number};
      if (!golden.api.empty() && !taken_.contains(golden)) take(call, golden);
    }
  }

  void take(const ApiCall& target, const ApiCall& golden) {
    names_.emplace(target, golden);
    taken_.insert(golden);
  }

  Calls target_;
  Calls golden_;
  const ApiMapping* mapping_;
  std::set<std::string_view, std::less<>> golden_apis_;
  std::map<ApiCall, ApiCall> names_;
  std::set<ApiCall> taken_;
};

// --- Modules ---

std::string module_key(const EntryName& name) {
  return fmt::format("{}\n{}\n{}", name.module_path(), dump::name(name.kind), name.number);
}

class ModuleNames {
 public:
  ModuleNames(const EntryIndex& target, const EntryIndex& golden, const NameRules& rules)
      : rules_(rules), by_class_(!rules.cells_are_modules && rules.layers == nullptr) {
    if (rules.layers != nullptr) {
      for (const dump::EntrySlice& entry : target.entries) {
        const auto name = dump::parse_entry_name(entry.name);
        if (name && name->is_module) classes_.emplace(name->module_path(), name->module_class());
      }
    }
    if (by_class_) return;
    for (const dump::EntrySlice& entry : golden.entries) {
      const auto name = dump::parse_entry_name(entry.name);
      if (!name || !name->is_module) continue;
      names_.insert(entry.name);
      const auto [known, is_new] = by_path_.emplace(module_key(*name), entry.name);
      if (!is_new) known->second = {};  // several modules of this path
    }
  }

  std::string of(std::string_view entry) const {
    std::string name(entry);
    constexpr std::string_view kCell = "Cell.";
    if (rules_.cells_are_modules && name.starts_with(kCell)) {
      name.replace(0, kCell.size(), "Module.");
    }
    if (rules_.layers != nullptr) name = with_mapped_path(name);
    if (rules_.cells != nullptr) name = rules_.cells->entry(name);
    if (by_class_ || names_.contains(name)) return name;
    const auto parsed = dump::parse_entry_name(name);
    const auto found = parsed ? by_path_.find(module_key(*parsed)) : by_path_.end();
    return found == by_path_.end() || found->second.empty() ? name : std::string(found->second);
  }

 private:
  std::string with_mapped_path(const std::string& name) const {
    const auto parsed = dump::parse_entry_name(name);
    const std::string_view path = parsed ? parsed->module_path() : std::string_view();
    if (path.empty()) return name;
    const std::string mapped = rules_.layers->path(path, [this](std::string_view prefix) {
      const auto found = classes_.find(prefix);
      return found == classes_.end() ? std::string_view() : found->second;
    });
    const std::size_t begin = name.find('.') + 1;
    return std::string(name).replace(begin, path.size(), mapped);
  }

  const NameRules& rules_;
  bool by_class_;                                                   // the class belongs to the name
  std::unordered_map<std::string_view, std::string_view> classes_;  // of the target, by path
  std::unordered_set<std::string_view> names_;                      // of the golden dump
  std::unordered_map<std::string, std::string_view> by_path_;
};

}  // namespace

std::vector<std::string> golden_names(const EntryIndex& target, const EntryIndex& golden,
                                      const NameRules& rules) {
  std::vector<std::string> names;
  if (!rules.any()) return names;
  const ModuleNames modules(target, golden, rules);
  std::optional<ApiNames> apis;
  if (rules.mindspore_apis) {
    const bool knows_modules = rules.target_modules != nullptr && rules.golden_modules != nullptr;
    const auto of_target = [&](std::string_view entry) {
      const std::string_view module =
          knows_modules ? rules.target_modules->parent(entry) : std::string_view();
      return module.empty() ? std::string() : modules.of(module);
    };
    const auto of_golden = [&](std::string_view entry) {
      return std::string(knows_modules ? rules.golden_modules->parent(entry) : "");
    };
    apis.emplace(calls_of(target, of_target), calls_of(golden, of_golden), rules.apis);
  }
  names.reserve(target.entries.size());
  for (const dump::EntrySlice& entry : target.entries) {
    const auto name = dump::parse_entry_name(entry.name);
    if (!name || name->is_module) {
      names.push_back(modules.of(entry.name));
      continue;
    }
    const auto call = apis ? apis->find(*name) : std::nullopt;
    names.push_back(call ? fmt::format("{}.{}.{}", call->api, call->number, dump::name(name->kind))
                         : std::string(entry.name));
  }
  return names;
}

}  // namespace msprobe::dump_compare
