// SPDX-License-Identifier: Apache-2.0
#include "dump_compare/golden_names.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "divergence/recorded_run.h"
#include "dump/entry_name.h"
#include "ops/mindspore_names.h"

namespace msprobe::dump_compare {
namespace {

using dump::EntryIndex;
using dump::EntryName;

// --- APIs ---

// The calls of one API, each once, in the order of the file.
struct ApiCalls {
  std::vector<std::string_view> numbers;
  std::vector<std::uint32_t> at;  // the entry where each is first
  std::unordered_set<std::string_view> known;
};
using CallsByApi = std::map<std::string_view, ApiCalls>;

CallsByApi calls_of_apis(const EntryIndex& dump) {
  CallsByApi calls;
  for (std::uint32_t i = 0; i < dump.entries.size(); ++i) {
    const auto name = dump::parse_entry_name(dump.entries[i].name);
    if (!name || name->is_module) continue;
    ApiCalls& api = calls[name->owner];
    if (!api.known.insert(name->number).second) continue;
    api.numbers.push_back(name->number);
    api.at.push_back(i);
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

struct GoldenCall {
  std::string_view api;
  std::string_view number;
};

// Which call of the golden dump each call of the target is, by API and number.
class ApiNames {
 public:
  ApiNames(const EntryIndex& target, const EntryIndex& golden, const ApiMapping* mapping)
      : target_(calls_of_apis(target)), golden_(calls_of_apis(golden)), mapping_(mapping) {
    struct Pool {
      std::vector<std::string_view> target, golden;
    };
    std::map<std::string, Pool> pools;
    for (const auto& [api, calls] : golden_) pools[operation_key(api)].golden.push_back(api);
    for (const auto& [api, calls] : target_) {
      const ApiRule* const rule = mapping_ ? mapping_->find(api) : nullptr;
      if (rule != nullptr) {
        by_number(api, rule->golden);
        continue;
      }
      const std::vector<std::string> names = ops::torch_names_of(api);
      if (!names.empty()) pools[operation_key(names.front())].target.push_back(api);
    }
    for (const auto& [operation, pool] : pools) {
      const bool by_its_name = pool.target.size() == 1 && pool.golden.size() == 1 &&
                               !named_in_golden(pool.target.front()).empty();
      if (!by_its_name && in_order(pool.target, pool.golden)) continue;
      for (const std::string_view api : pool.target) by_number(api, named_in_golden(api));
    }
  }

  // Nothing: no API of the golden dump is this one.
  std::optional<GoldenCall> find(const EntryName& name) const {
    const auto api = names_.find(name.owner);
    if (api == names_.end()) return std::nullopt;
    const auto call = api->second.find(name.number);
    if (call == api->second.end()) return std::nullopt;
    return call->second;
  }

 private:
  using Names = std::unordered_map<std::string_view, GoldenCall>;

  std::string_view named_in_golden(std::string_view api) const {
    for (const std::string& name : ops::torch_names_of(api)) {
      if (const auto found = golden_.find(name); found != golden_.end()) return found->first;
    }
    return {};
  }

  void by_number(std::string_view api, std::string_view golden) {
    if (golden.empty()) return;
    Names& names = names_[api];
    for (const std::string_view number : target_.at(api).numbers) {
      names.emplace(number, GoldenCall{golden, number});
    }
  }

  struct Placed {
    std::uint32_t at;
    GoldenCall call;
  };
  static std::vector<Placed> together(const CallsByApi& calls,
                                      const std::vector<std::string_view>& apis) {
    std::vector<Placed> all;
    for (const std::string_view api : apis) {
      const ApiCalls& found = calls.at(api);
      for (std::size_t i = 0; i < found.numbers.size(); ++i) {
        all.push_back({found.at[i], {api, found.numbers[i]}});
      }
    }
    std::ranges::sort(all, {}, &Placed::at);
    return all;
  }

  // False: the sides call the operation a different number of times.
  bool in_order(const std::vector<std::string_view>& target,
                const std::vector<std::string_view>& golden) {
    const std::vector<Placed> of_target = together(target_, target);
    const std::vector<Placed> of_golden = together(golden_, golden);
    if (of_target.size() != of_golden.size()) return false;
    for (std::size_t i = 0; i < of_target.size(); ++i) {
      const GoldenCall& own = of_target[i].call;
      names_[own.api].emplace(own.number, of_golden[i].call);
    }
    return true;
  }

  CallsByApi target_;
  CallsByApi golden_;
  const ApiMapping* mapping_;
  std::unordered_map<std::string_view, Names> names_;
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
  if (rules.mindspore_apis) apis.emplace(target, golden, rules.apis);
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
