// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <fmt/format.h>

#include "execute/execute_call.h"
#include "execute/value_tree.h"

namespace msprobe::execute {
namespace {

void pair_into(const PyValue& bench, const PyValue* device, const std::string& path,
               std::vector<LeafPair>& pairs);

void pair_lists(const PyList& bench, const PyList& device, const std::string& path,
                std::vector<LeafPair>& pairs) {
  for (std::size_t i = 0; i < bench.size(); ++i) {
    pair_into(bench[i], i < device.size() ? &device[i] : nullptr,
              path.empty() ? fmt::format("{}", i) : fmt::format("{}.{}", path, i), pairs);
  }
}

void pair_dicts(const PyDict& bench, const PyDict& device, const std::string& path,
                std::vector<LeafPair>& pairs) {
  for (std::size_t i = 0; i < bench.size(); ++i) {
    const auto found = std::ranges::find(device, bench[i].first, &PyDict::value_type::first);
    if (found == device.end() || bench.size() != device.size()) {
      pairs.push_back({path, LeafPair::State::kKeysDiffer, {}, {}});
      return;
    }
    pair_into(bench[i].second, &found->second, fmt::format("{}.{}", path, i), pairs);
  }
}

void pair_into(const PyValue& bench, const PyValue* device, const std::string& path,
               std::vector<LeafPair>& pairs) {
  if (device == nullptr) {
    pairs.push_back({path, LeafPair::State::kDeviceMissing, bench, {}});
    return;
  }
  const auto* bench_list = bench.as<PyList>();
  const auto* device_list = device->as<PyList>();
  if (bench_list != nullptr && device_list != nullptr) {
    return pair_lists(*bench_list, *device_list, path, pairs);
  }
  const auto* bench_dict = bench.as<PyDict>();
  const auto* device_dict = device->as<PyDict>();
  if (bench_dict != nullptr && device_dict != nullptr) {
    return pair_dicts(*bench_dict, *device_dict, path, pairs);
  }
  pairs.push_back({path, LeafPair::State::kBoth, bench, *device});
}

}  // namespace

std::vector<LeafPair> pair_leaves(const PyValue& bench, const PyValue& device) {
  std::vector<LeafPair> pairs;
  const bool list = bench.as<PyList>() != nullptr && device.as<PyList>() != nullptr;
  pair_into(bench, &device, list ? "" : "0", pairs);
  return pairs;
}

}  // namespace msprobe::execute
