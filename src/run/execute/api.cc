// SPDX-License-Identifier: Apache-2.0
#include "execute/api.h"

#include <algorithm>
#include <string>
#include <unordered_map>

#include <fmt/format.h>

#include "execute/bind.h"
#include "execute/npu/formula.h"
#include "execute/npu/npu_operators.h"
#include "execute/plug_in_call.h"
#include "ops/op.h"

namespace msprobe::execute {
namespace {

using Rows = std::span<const ApiRow> (*)();
constexpr Rows kFamilies[] = {&attention_rows,
                              &index_rows,
                              &loss_rows,
                              &nn_rows,
                              &npu::npu_operators,
                              &npu::further_operators,
                              &npu::formula_operators,
                              &npu::training_operators,
                              &operator_rows,
                              &pooling_rows,
                              &tensor_rows,
                              &torch_rows,
                              &vision_rows};

const ApiRow* find_row(std::string_view api) {
  for (const Rows rows : kFamilies) {
    const auto found = std::ranges::find(rows(), api, &ApiRow::api);
    if (found != rows().end()) return &*found;
  }
  return nullptr;
}

struct TypeStyle {
  std::string_view type;
  OverloadStyle style;
};
constexpr TypeStyle kStyles[] = {{"Functional", OverloadStyle::kFunction},
                                 {"Torch", OverloadStyle::kFunction},
                                 {"Tensor", OverloadStyle::kMethod},
                                 {"VF", OverloadStyle::kFunction},
                                 {"Aten", OverloadStyle::kOperator}};

std::unique_ptr<Api> make_aten_api(std::string_view name, OverloadStyle style) {
  std::string flat(name);  // linalg.norm is linalg_norm there
  std::ranges::replace(flat, '.', '_');
  OverloadSet overloads = find_overloads(flat, style);
  const std::size_t dot = name.rfind('.');
  if (overloads.overloads.empty() && style == OverloadStyle::kOperator &&
      dot != std::string_view::npos) {
    overloads = find_overloads(name.substr(0, dot), style, name.substr(dot + 1));
  }
  return overloads.overloads.empty() ? nullptr : std::make_unique<Api>(std::move(overloads));
}

std::unique_ptr<Api> make_api(std::string_view type, std::string_view bare_name) {
  const std::string api = fmt::format("{}.{}", type, bare_name);
  if (const ApiRow* row = find_row(api)) return std::make_unique<Api>(*row);
  if (const HandOnRow* row = find_hand_on(api)) return std::make_unique<Api>(*row);
  const auto style = std::ranges::find(kStyles, type, &TypeStyle::type);
  if (style == std::end(kStyles)) return nullptr;
  const std::string_view method = type == "Tensor" ? ops::traits_of(bare_name).aten : "";
  return make_aten_api(method.empty() ? bare_name : method, style->style);
}

std::unique_ptr<Api> make_device_api(std::string_view bare_name, at::Device device) {
  const ApiRow* row = find_row(fmt::format("NPU.{}", bare_name));
  if (row == nullptr) return nullptr;
  OverloadSet set = find_overloads(fmt::format("npu::{}", bare_name), OverloadStyle::kOperator);
  const c10::DispatchKey key = at::TensorOptions(device).computeDispatchKey();
  std::erase_if(set.overloads, [&](const Overload& overload) {
    return !overload.op.hasKernelForDispatchKey(key);
  });
  return set.overloads.empty() ? nullptr : std::make_unique<Api>(std::move(set), *row);
}

}  // namespace

std::size_t Api::place_of(std::string_view keyword) const {
  const auto& parameters = signature_.parameters();
  const auto found = std::ranges::find_if(parameters, [&](const Signature::Parameter& parameter) {
    return parameter.name == keyword ||
           std::ranges::find(parameter.other_names, keyword) != parameter.other_names.end();
  });
  return static_cast<std::size_t>(found - parameters.begin());
}

PyValue Api::operator()(const PyCall& call) const {
  if (function_) return function_(call);
  if (adapter_ != nullptr) return adapter_(Bound(signature_, call));
  if (hand_on_ != nullptr) return hand_on(*hand_on_, Bound(signature_, call));
  if (renamed_ != nullptr) return (*torch_)(handed_on(*renamed_, Bound(signature_, call)));
  if (signature_.parameters().empty()) return call_overloads(overloads_, call);
  return call_overloads(overloads_, plug_in_call(overloads_, signature_, call));
}

const Api* find_api(std::string_view type, std::string_view bare_name) {
  thread_local std::unordered_map<std::string, std::unique_ptr<Api>> known;
  const std::string key = fmt::format("{}.{}", type, bare_name);
  auto found = known.find(key);
  if (found == known.end()) found = known.emplace(key, make_api(type, bare_name)).first;
  return found->second.get();
}

const Api* find_device_api(std::string_view type, std::string_view bare_name, at::Device device) {
  if (type != "NPU") return nullptr;
  thread_local std::unordered_map<std::string, std::unique_ptr<Api>> known;
  const std::string key = fmt::format("{} {}", c10::DeviceTypeName(device.type()), bare_name);
  auto found = known.find(key);
  if (found == known.end()) found = known.emplace(key, make_device_api(bare_name, device)).first;
  return found->second.get();
}

const Api* find_registered_api(std::string_view type, std::string_view bare_name) {
  const std::size_t dot = bare_name.find('.');
  if (type != "Custom" || dot == std::string_view::npos) return nullptr;
  thread_local std::unordered_map<std::string, std::unique_ptr<Api>> known;
  const std::string key(bare_name);
  auto found = known.find(key);
  if (found == known.end()) {
    const std::string name =
        fmt::format("{}::{}", bare_name.substr(0, dot), bare_name.substr(dot + 1));
    OverloadSet set = find_overloads(name, OverloadStyle::kOperator);
    auto api = set.overloads.empty() ? nullptr : std::make_unique<Api>(std::move(set));
    found = known.emplace(key, std::move(api)).first;
  }
  return found->second.get();
}

PyValue call_aten(std::string_view name, const PyCall& call, OverloadStyle style) {
  thread_local std::unordered_map<std::string, OverloadSet> known;
  const std::string key = fmt::format("{}{}", static_cast<int>(style), name);
  auto found = known.find(key);
  if (found == known.end()) found = known.emplace(key, find_overloads(name, style)).first;
  return call_overloads(found->second, call);
}

}  // namespace msprobe::execute
