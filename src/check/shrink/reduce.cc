// SPDX-License-Identifier: Apache-2.0
#include "shrink/reduce.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace msprobe::shrink {
namespace {

using dump::CallRecord;
using dump::Dict;
using dump::List;
using dump::Statistic;
using dump::TensorRecord;
using dump::Value;

// More groups of extents than these are not tried in one round.
constexpr std::size_t kMostGroups = 400;
constexpr int kMostRounds = 4;

void collect(Value& value, std::vector<TensorRecord*>& tensors,
             std::vector<std::int64_t*>& numbers) {
  if (auto* tensor = std::get_if<TensorRecord>(&value.data)) tensors.push_back(tensor);
  if (auto* number = std::get_if<std::int64_t>(&value.data)) numbers.push_back(number);
  if (auto* size = std::get_if<dump::SizeValue>(&value.data)) {
    for (std::int64_t& extent : size->extents) numbers.push_back(&extent);
  }
  if (auto* list = std::get_if<List>(&value.data)) {
    for (Value& item : *list) collect(item, tensors, numbers);
  }
  if (auto* dict = std::get_if<Dict>(&value.data)) {
    for (auto& [key, item] : *dict) collect(item, tensors, numbers);
  }
}

// Everything of a call that has an extent. Numbers among the arguments may be extents too.
struct Parts {
  std::vector<TensorRecord*> tensors;  // that go in: arguments, then arriving gradients
  std::vector<std::int64_t*> numbers;

  explicit Parts(CallRecord& call) {
    for (Value& value : call.forward.input_args) collect(value, tensors, numbers);
    for (auto& [key, value] : call.forward.input_kwargs) collect(value, tensors, numbers);
    if (!call.backward) return;
    for (Value& value : call.backward->input) collect(value, tensors, numbers);
  }

  std::vector<std::int64_t*> extents() {
    std::vector<std::int64_t*> all;
    for (TensorRecord* tensor : tensors) {
      for (std::int64_t& extent : tensor->shape) all.push_back(&extent);
    }
    return all;
  }
};

class Reduction {
 public:
  Reduction(CallRecord call, const Fails& fails) : call_(std::move(call)), fails_(fails) {}

  Result<Reduced> run() {
    drop_backward();
    drop_data();
    shrink_equal_extents();
    for (int round = 0; round < kMostRounds && shrink_groups(); ++round) {
    }
    simplify_data();
    if (error_) return Failure(*error_);
    return Reduced{std::move(call_), tries_, std::move(larger_)};
  }

 private:
  // Takes the form over where it still fails.
  bool take(const CallRecord& form) {
    if (error_) return false;
    ++tries_;
    const Result<bool> still = fails_(form);
    if (!still) error_ = still.error();
    if (!still || !*still) return false;
    larger_.push_back(std::exchange(call_, form));
    return true;
  }

  void drop_backward() {
    if (!call_.backward) return;
    CallRecord form = call_;
    form.backward.reset();
    take(form);
  }

  // Ranges instead of files: only then can shapes change.
  void drop_data() {
    CallRecord form = call_;
    for (TensorRecord* tensor : Parts(form).tensors) tensor->data_name.clear();
    take(form);
  }

  // The least extent that still fails: powers of two from below, then between the last two.
  bool shrink_to_least(std::int64_t now, const std::function<CallRecord(std::int64_t)>& form_of) {
    std::int64_t below = 0;
    std::int64_t found = now;
    for (std::int64_t extent = 1; extent < now; extent *= 2) {
      if (take(form_of(extent))) {
        found = extent;
        break;
      }
      below = extent;
    }
    while (below + 1 < found) {
      const std::int64_t middle = below + (found - below) / 2;
      (take(form_of(middle)) ? found : below) = middle;
    }
    return found < now;
  }

  // All extents of one size together, numbers of that size among the arguments with or without.
  void shrink_equal_extents() {
    std::set<std::int64_t, std::greater<>> sizes;
    for (const std::int64_t* extent : Parts(call_).extents()) sizes.insert(*extent);
    for (const std::int64_t size : sizes) {
      for (const bool with_numbers : {true, false}) {
        const CallRecord start = call_;
        const auto form_of = [&](std::int64_t extent) {
          CallRecord form = start;
          Parts parts(form);
          std::vector<std::int64_t*> places = parts.extents();
          if (with_numbers) places.insert(places.end(), parts.numbers.begin(), parts.numbers.end());
          for (std::int64_t* place : places) {
            if (*place == size) *place = extent;
          }
          return form;
        };
        if (shrink_to_least(size, form_of)) break;
      }
    }
  }

  // One, two or three extents of one size that belong together, whichever these are.
  bool shrink_groups() {
    bool any = false;
    for (std::size_t count = 1; count <= 3; ++count) {
      for (const std::vector<std::size_t>& group : groups(count)) {
        const CallRecord start = call_;
        const std::int64_t now = *Parts(call_).extents()[group.front()];
        const bool equal = std::ranges::all_of(
            group, [&](std::size_t i) { return *Parts(call_).extents()[i] == now; });
        if (now <= 1 || !equal) continue;
        any = shrink_to_least(now,
                              [&](std::int64_t extent) {
                                CallRecord form = start;
                                Parts parts(form);
                                const std::vector<std::int64_t*> extents = parts.extents();
                                for (const std::size_t i : group) *extents[i] = extent;
                                return form;
                              }) ||
              any;
      }
    }
    return any;
  }

  std::vector<std::vector<std::size_t>> groups(std::size_t count) {
    Parts parts(call_);
    const std::vector<std::int64_t*> extents = parts.extents();
    std::vector<std::vector<std::size_t>> found;
    std::vector<std::size_t> group;
    const std::function<void(std::size_t)> extend = [&](std::size_t from) {
      if (found.size() >= kMostGroups) return;
      if (group.size() == count) return found.push_back(group);
      for (std::size_t i = from; i < extents.size(); ++i) {
        if (*extents[i] <= 1 || (!group.empty() && *extents[i] != *extents[group.front()]))
          continue;
        group.push_back(i);
        extend(i + 1);
        group.pop_back();
      }
    };
    extend(0);
    return found;
  }

  // All ones, then numbers of one sign, then of both.
  void simplify_data() {
    constexpr std::pair<double, double> kRanges[] = {{1, 1}, {0, 1}, {-1, 1}};
    for (const auto& [least, greatest] : kRanges) {
      CallRecord form = call_;
      for (TensorRecord* tensor : Parts(form).tensors) {
        if (!tensor->dtype || !is_float(*tensor->dtype) || !tensor->data_name.empty()) continue;
        tensor->min = {Statistic::Kind::kReal, 0, least};
        tensor->max = {Statistic::Kind::kReal, 0, greatest};
        tensor->mean = tensor->norm = tensor->min_finite = tensor->max_finite = {};
      }
      if (take(form)) return;
    }
  }

  CallRecord call_;
  const Fails& fails_;
  std::size_t tries_ = 0;
  std::vector<CallRecord> larger_;
  std::optional<Error> error_;
};

}  // namespace

Result<Reduced> reduce(const CallRecord& call, const Fails& fails) {
  return Reduction(call, fails).run();
}

}  // namespace msprobe::shrink
