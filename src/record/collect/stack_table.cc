// SPDX-License-Identifier: Apache-2.0
#include "collect/stack_table.h"

#include "collect/json_text.h"

namespace msprobe::collect {

void StackTable::add(const std::string& name, const std::string& frames) {
  const auto [place, is_new] = stack_of_frames_.try_emplace(frames, stacks_.size());
  if (is_new) stacks_.push_back({frames, {}});
  stacks_[place->second].names.push_back(name);
}

void StackTable::clear() {
  stacks_.clear();
  stack_of_frames_.clear();
}

std::string StackTable::text() const {
  JsonText json(JsonText::Layout::kIndented);
  json.begin_object();
  for (std::size_t i = 0; i < stacks_.size(); ++i) {
    json.key(std::to_string(i));
    json.begin_array();
    json.begin_array();
    for (const std::string& name : stacks_[i].names) json.string(name);
    json.end_array();
    json.literal(stacks_[i].frames);
    json.end_array();
  }
  json.end_object();
  return json.take();
}

}  // namespace msprobe::collect
