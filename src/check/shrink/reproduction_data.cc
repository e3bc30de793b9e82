// SPDX-License-Identifier: Apache-2.0
#include "shrink/reproduction_data.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/look_up.h"
#include "core/new_file.h"

namespace msprobe::shrink {
namespace {

namespace fs = std::filesystem;

bool names_file(const dump::Value& value) {
  if (const auto* tensor = value.as<dump::TensorRecord>()) return !tensor->data_name.empty();
  if (const auto* list = value.as<dump::List>()) return std::ranges::any_of(*list, names_file);
  if (const auto* dict = value.as<dump::Dict>()) {
    return std::ranges::any_of(*dict, names_file, &dump::DictItem::second);
  }
  return false;
}

}  // namespace

bool has_data(const dump::ForwardRecord& forward) {
  return std::ranges::any_of(forward.input_args, names_file) ||
         std::ranges::any_of(forward.input_kwargs, names_file, &dump::DictItem::second) ||
         std::ranges::any_of(forward.output, names_file);
}

Result<void> copy_data(const fs::path& from, const std::string& call, const fs::path& to) {
  if (const Result<void> made = make_directories(to); !made) return made;
  const auto entries = list_directory(from);
  if (!entries) return propagate(entries);
  for (const fs::directory_entry& entry : *entries) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(call + ".")) continue;
    const Result<void> copied = copy_to_new_file(entry.path(), to / name);
    if (!copied) return copied;
  }
  return {};
}

}  // namespace msprobe::shrink
