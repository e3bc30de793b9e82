// SPDX-License-Identifier: Apache-2.0
#include "collect/python/module_tree.h"

#include <algorithm>
#include <utility>

namespace msprobe::collect {
namespace {

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
thread_local std::string running_module;

}  // namespace

std::string backward_name(std::string_view forward) {
  constexpr std::string_view kForward = ".forward";
  std::string name(forward);
  const std::size_t at = name.rfind(kForward);
  return at == std::string::npos ? name : name.replace(at, kForward.size(), ".backward");
}

std::string ModuleTree::enter(Recorder& recorder, const std::string& name) {
  const std::string outer = outer_call();
  const auto around = calls_.find(outer);
  const int depth = around == calls_.end() ? 0 : around->second.depth + 1;
  if (calls_.try_emplace(name, Call{outer, depth, false}).second) add(recorder, name, outer);
  return std::exchange(running_module, name);
}

void ModuleTree::leave(std::string outer) { running_module = std::move(outer); }

const std::string& ModuleTree::running() { return running_module; }

std::string ModuleTree::outer_call() const {
  if (!running_module.empty()) return running_module;
  // The innermost of the backward entries that are open.
  const std::string* found = nullptr;
  int deepest = -1;
  for (const std::string& open : open_backward_) {
    const int depth = calls_.at(open).depth;
    if (depth < deepest) continue;
    found = &open;
    deepest = depth;
  }
  return found ? backward_name(*found) : "";
}

void ModuleTree::add_call(Recorder& recorder, const std::string& name) {
  add(recorder, name, outer_call());
}

void ModuleTree::expect_backward(const std::string& forward) {
  const auto call = calls_.find(forward);
  if (call != calls_.end()) call->second.expects_backward = true;
}

void ModuleTree::begin_backward(Recorder& recorder, const std::string& forward) {
  const auto call = calls_.find(forward);
  if (call == calls_.end()) return;
  add_backward(recorder, backward_name(forward), call->second.outer);
  open_backward_.push_back(forward);
}

void ModuleTree::end_backward(const std::string& forward) {
  std::erase(open_backward_, forward);
  const auto call = calls_.find(forward);
  if (call != calls_.end()) call->second.expects_backward = false;
}

// The nearest module around it whose own backward entry has not ended yet.
void ModuleTree::add_backward(Recorder& recorder, const std::string& name,
                              const std::string& outer) {
  auto around = calls_.find(outer);
  while (around != calls_.end() && !around->second.expects_backward) {
    around = calls_.find(around->second.outer);
  }
  add(recorder, name, around == calls_.end() ? "" : backward_name(around->first));
}

void ModuleTree::clear() {
  calls_.clear();
  open_backward_.clear();
}

void ModuleTree::add(Recorder& recorder, const std::string& name, const std::string& outer) {
  recorder.add_child(name, outer.empty() ? nullptr : &outer);
}

}  // namespace msprobe::collect
