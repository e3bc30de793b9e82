// SPDX-License-Identifier: Apache-2.0
#include "divergence/recorded_run.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>

#include "core/binary_format.h"
#include "ops/op.h"

namespace msprobe::divergence {
namespace {

std::uint64_t hash_of(std::string_view text) { return std::hash<std::string_view>{}(text); }

std::string_view other_spelling(std::string_view name) {
  const ops::Op* const op = ops::find(name);
  return op == nullptr ? std::string_view() : op->traits.operation;
}

double spacing_of(DType dtype) {
  if (dtype == DType::kHiFloat8) return 0x1p-2;
  const std::optional<BinaryFormat> format = binary_format(dtype);
  return format ? std::ldexp(1.0, -format->mantissa_bits) : 0;
}

bool has_number(const dump::ItemValue& value) {
  return value.is_number() || value.kind == dump::ItemValue::Kind::kBool;
}

std::uint64_t bits_of(const dump::ItemValue& value) {
  if (value.kind == dump::ItemValue::Kind::kText) return hash_of(value.text);
  return has_number(value) ? std::bit_cast<std::uint64_t>(value.real) : 0x5bd1e995U;
}

}  // namespace

bool is_unknown_to_numpy(std::string_view dtype) {
  const std::optional<DType> known = parse_dtype(dtype);
  return known && (*known == DType::kBFloat16 || info(*known).kind == DTypeClass::kFloat8);
}

std::string_view operation_of(std::string_view api) {
  const std::size_t dot = api.find('.');
  std::string_view name = dot == std::string_view::npos ? api : api.substr(dot + 1);
  if (const auto other = other_spelling(name); !other.empty()) return other;
  if (name.size() > 4 && name.starts_with("__") && name.ends_with("__")) {
    name = name.substr(2, name.size() - 4);
  } else if (name.size() > 1 && name.ends_with('_') && !name.ends_with("__")) {
    name.remove_suffix(1);
  }
  const auto other = other_spelling(name);
  return other.empty() ? name : other;
}

std::uint64_t mix(std::uint64_t seed, std::uint64_t value) {
  seed ^= value + 0x9e3779b97f4a7c15U + (seed << 6U) + (seed >> 2U);
  seed *= 0xff51afd7ed558ccdU;
  return seed ^ (seed >> 32U);
}

std::uint32_t TextPool::add(std::string_view text) {
  const auto known = known_.find(text);
  if (known != known_.end()) return known->second;
  const auto index = static_cast<std::uint32_t>(texts_.size());
  texts_.push_back(known_.emplace(std::string(text), index).first->first);
  return index;
}

RunTensor describe(const dump::Item& item, std::uint32_t path) {
  RunTensor tensor{.path = path};
  std::string_view dtype_name = item.dtype;
  if (const std::optional<DType> dtype = parse_dtype(item.dtype)) {
    dtype_name = info(*dtype).name;  // equal for "torch.int64" and "Int64"
    tensor.spacing = spacing_of(*dtype);
    tensor.values = tensor.spacing > 0 ? Values::kReal : Values::kWhole;
  }
  std::uint64_t form = mix(static_cast<std::uint64_t>(tensor.values), 17);
  if (tensor.values != Values::kReal) form = mix(form, hash_of(dtype_name));
  tensor.count = 1;
  for (const std::int64_t extent : item.shape) {
    form = mix(form, static_cast<std::uint64_t>(extent));
    tensor.count *= static_cast<double>(extent);
  }
  tensor.form = form;
  tensor.max = item.max.real;
  tensor.min = item.min.real;
  tensor.mean = item.mean.real;
  tensor.norm = item.norm.real;
  tensor.has_range = has_number(item.max) && has_number(item.min);
  tensor.has_mean = has_number(item.mean);
  tensor.has_norm = has_number(item.norm);
  if (!item.md5.text.empty() && item.md5.kind != dump::ItemValue::Kind::kNull) {
    tensor.checksum = hash_of(item.md5.text) | 1U;
  }
  tensor.identity = mix(form, hash_of(item.dtype));
  for (const dump::ItemValue* value : {&item.max, &item.min, &item.mean, &item.norm}) {
    tensor.identity = mix(tensor.identity, bits_of(*value));
  }
  tensor.identity = mix(tensor.identity, tensor.checksum);
  return tensor;
}

void name_call(Call& call, std::string_view known_as) {
  const std::optional<dump::EntryName> parts = dump::parse_entry_name(call.entry);
  if (!parts) return;
  const auto other = known_as.empty() ? parts : dump::parse_entry_name(known_as);
  call.direction = parts->kind;
  call.api = parts->owner;
  call.is_module = parts->is_module;
  const std::string_view owner = other ? other->owner : parts->owner;
  const std::string_view operation = parts->is_module ? owner : operation_of(owner);
  call.name = hash_of(operation);
  call.twin = mix(hash_of(parts->owner), hash_of(parts->number));
  const ops::Op* const op = ops::find(operation);
  call.makes_garbage = op != nullptr && op->traits.contents == ops::Contents::kUninitialised;
}

namespace {

void put_in_order(Trace& run) {
  if (!std::ranges::is_sorted(run.calls, {}, &Call::at)) {
    std::ranges::stable_sort(run.calls, {}, &Call::at);
  }
  const auto same = [](const Call& left, const Call& right) {
    return left.at == right.at && left.entry == right.entry;
  };
  const auto [first, last] = std::ranges::unique(run.calls, same);
  run.calls.erase(first, last);
}

}  // namespace

// What went into a backward pass went into the gradients of the parameters too. Their entry has no
// inputs of its own, and without them they would look like the origin of what they carry on.
void finish(Trace& run) {
  put_in_order(run);
  std::unordered_map<std::string_view, std::vector<std::size_t>> backward;
  for (std::size_t i = 0; i < run.calls.size(); ++i) {
    const Call& call = run.calls[i];
    if (call.direction == dump::EntryKind::kBackward && call.is_module) {
      backward[call.api].push_back(i);
    }
  }
  std::unordered_map<std::string_view, std::size_t> used;
  for (Call& call : run.calls) {
    if (call.direction != dump::EntryKind::kParametersGrad || call.inputs != 0) continue;
    const auto found = backward.find(call.api);
    if (found == backward.end()) continue;
    const std::size_t turn = std::min(used[call.api]++, found->second.size() - 1);
    const Call& source = run.calls[found->second[turn]];
    const auto first = static_cast<std::uint32_t>(run.tensors.size());
    for (std::uint32_t i = 0; i < source.inputs; ++i) {
      run.tensors.push_back(RunTensor(run.tensors[source.first + i]));
    }
    for (std::uint32_t i = 0; i < call.outputs; ++i) {
      run.tensors.push_back(RunTensor(run.tensors[call.first + i]));
    }
    call.first = first;
    call.inputs = source.inputs;
  }
}

}  // namespace msprobe::divergence
