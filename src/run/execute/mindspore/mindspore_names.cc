// SPDX-License-Identifier: Apache-2.0
#include "execute/mindspore/mindspore_names.h"

#include <algorithm>
#include <memory>
#include <string>
#include <unordered_map>

#include <fmt/format.h>

#include "ops/mindspore_names.h"

namespace msprobe::execute::mindspore {
namespace {

struct Resolved {
  std::string type;  // of PyTorch
  std::string bare_name;
  const Api* api = nullptr;
  std::unique_ptr<Api> own = nullptr;  // what `api` points to, where it is MindSpore's
};

void set_name(Resolved& found, std::string_view torch_api) {
  const std::size_t dot = torch_api.find('.');
  found.type = torch_api.substr(0, dot);
  found.bare_name = torch_api.substr(dot + 1);
}

const Api* torch_api(std::string_view api) {
  const std::size_t dot = api.find('.');
  return find_api(api.substr(0, dot), api.substr(dot + 1));
}

bool look_into_groups(std::string_view type, std::string_view bare_name, Resolved& found) {
  const auto groups = ops::mindspore_groups();
  const auto row = std::ranges::find(groups, type, &ops::MindSporeGroup::group);
  if (row == groups.end()) return false;
  for (const std::string_view group : row->torch) {
    if (group.empty()) break;
    found.api = find_api(group, bare_name);
    if (found.api == nullptr) continue;
    found.type = group;
    found.bare_name = bare_name;
    return true;
  }
  return false;
}

Resolved resolve(std::string_view type, std::string_view bare_name) {
  Resolved found;
  const std::string api = fmt::format("{}.{}", type, bare_name);
  const auto own = std::ranges::find(own_rows(), api, &ApiRow::api);
  if (own != own_rows().end()) {
    found.own = std::make_unique<Api>(*own);
    found.api = found.own.get();
    set_name(found, api == ops::kMindSporeAttention
                        ? std::string(ops::kTorchAttention)
                        : fmt::format("{}.{}", type == "Tensor" ? type : "Torch", bare_name));
    return found;
  }
  const auto rows = ops::mindspore_renamed();
  const auto renamed = std::ranges::find(rows, api, &RenamedRow::api);
  if (renamed != rows.end()) {
    set_name(found, renamed->torch);
    const Api* torch = torch_api(renamed->torch);
    if (torch == nullptr || renamed->signature.empty()) {
      found.api = torch;
      return found;
    }
    found.own = std::make_unique<Api>(*renamed, *torch);
    found.api = found.own.get();
    return found;
  }
  if (look_into_groups(type, bare_name, found)) return found;
  if (bare_name.ends_with(ops::kInternal)) {
    return resolve(type, bare_name.substr(0, bare_name.size() - ops::kInternal.size()));
  }
  return found;
}

const Resolved& resolved(std::string_view type, std::string_view bare_name) {
  thread_local std::unordered_map<std::string, Resolved> known;
  const std::string key = fmt::format("{}.{}", type, bare_name);
  auto found = known.find(key);
  if (found == known.end()) found = known.emplace(key, resolve(type, bare_name)).first;
  return found->second;
}

}  // namespace

const Api* find(std::string_view type, std::string_view bare_name) {
  return resolved(type, bare_name).api;
}

CallName torch_name(const CallName& recorded) {
  const Resolved& found = resolved(recorded.type, recorded.bare_name);
  if (found.api == nullptr) return recorded;
  return {found.type, found.bare_name, recorded.index};
}

}  // namespace msprobe::execute::mindspore
