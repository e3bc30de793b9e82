// SPDX-License-Identifier: Apache-2.0
#include "check/structure.h"

#include <algorithm>
#include <bit>
#include <type_traits>

namespace msprobe::check {
namespace {

void add(StableHash& hash, const dump::Value& value);

void add(StableHash& hash, const dump::List& list) {
  hash.add(list.size());
  for (const dump::Value& item : list) add(hash, item);
}

void add(StableHash& hash, const dump::Dict& dict) {
  std::vector<const dump::Dict::value_type*> items;
  for (const auto& item : dict) items.push_back(&item);
  std::ranges::sort(items, {}, [](const auto* item) -> const std::string& { return item->first; });
  hash.add(items.size());
  for (const auto* item : items) {
    hash.add(item->first);
    add(hash, item->second);
  }
}

void add(StableHash& hash, std::optional<std::int64_t> number) {
  hash.add(number ? 1U : 0U).add(static_cast<std::uint64_t>(number.value_or(0)));
}

void add_extents(StableHash& hash, const std::vector<std::int64_t>& extents) {
  hash.add(extents.size());
  for (const std::int64_t extent : extents) hash.add(static_cast<std::uint64_t>(extent));
}

void add_alternative(StableHash&, const dump::None&) {}
void add_alternative(StableHash&, const dump::Ellipsis&) {}
void add_alternative(StableHash& hash, bool value) { hash.add(value ? 1U : 0U); }
void add_alternative(StableHash& hash, std::int64_t value) {
  hash.add(static_cast<std::uint64_t>(value));
}
void add_alternative(StableHash& hash, double value) {
  hash.add(std::bit_cast<std::uint64_t>(value));
}
void add_alternative(StableHash& hash, const std::complex<double>& value) {
  add_alternative(hash, value.real());
  add_alternative(hash, value.imag());
}
void add_alternative(StableHash& hash, const std::string& value) { hash.add(value); }
void add_alternative(StableHash& hash, const dump::Slice& value) {
  add(hash, value.start);
  add(hash, value.stop);
  add(hash, value.step);
}
void add_alternative(StableHash& hash, const dump::SizeValue& value) {
  add_extents(hash, value.extents);
}
void add_alternative(StableHash& hash, const dump::DTypeValue& value) { hash.add(value.text); }
void add_alternative(StableHash& hash, const dump::DeviceValue& value) { hash.add(value.text); }
void add_alternative(StableHash& hash, const dump::MemoryFormatValue& value) {
  hash.add(value.text);
}
void add_alternative(StableHash& hash, const dump::Opaque& value) { hash.add(value.type); }
void add_alternative(StableHash& hash, const dump::TensorRecord& value) {
  hash.add(value.dtype_text);
  add_extents(hash, value.shape);
  add_alternative(hash, value.requires_grad);
}
void add_alternative(StableHash& hash, const dump::List& value) { add(hash, value); }
void add_alternative(StableHash& hash, const dump::Dict& value) { add(hash, value); }

void add(StableHash& hash, const dump::Value& value) {
  hash.add(value.data.index());
  std::visit([&](const auto& alternative) { add_alternative(hash, alternative); }, value.data);
}

}  // namespace

Hash128 structure_hash(const dump::CallRecord& call) {
  StableHash hash;
  add(hash, call.forward.input_args);
  add(hash, call.forward.input_kwargs);
  hash.add(call.backward ? 1U : 0U);
  if (call.backward) add(hash, call.backward->input);
  return hash.value();
}

}  // namespace msprobe::check
