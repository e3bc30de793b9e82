// SPDX-License-Identifier: Apache-2.0
#include "execute/look_at_reference.h"

#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "execute/value_tree.h"
#include "libtorch/autograd.h"
#include "libtorch/dtypes.h"

namespace msprobe::execute {
namespace {

// Sums of threads may meet in another order.
constexpr double kSameTwice = 0x1p-36;

Skip failed(std::string text) { return {SkipReason::kReferenceFailed, std::move(text)}; }

std::vector<at::Tensor> tensors_in(const PyValue& value) {
  std::vector<at::Tensor> tensors;
  for_each_tensor(value, [&](const at::Tensor& tensor) { tensors.push_back(tensor); });
  return tensors;
}

void add_recorded(const dump::Value& value, std::vector<const dump::TensorRecord*>& tensors) {
  if (const auto* tensor = value.as<dump::TensorRecord>()) tensors.push_back(tensor);
  if (const auto* list = value.as<dump::List>()) {
    for (const dump::Value& item : *list) add_recorded(item, tensors);
  }
}

bool same_numbers(const at::Tensor& first, const at::Tensor& second) {
  const libtorch::BelowAutograd below;
  const at::Tensor left = libtorch::plain(first);
  const at::Tensor right = libtorch::plain(second);
  if (left.sizes() != right.sizes() || left.scalar_type() != right.scalar_type()) return false;
  if (left.numel() == 0 || left.equal(right)) return true;
  if (!left.is_floating_point()) return false;
  if (!left.isnan().equal(right.isnan())) return false;
  const at::Tensor one = left.to(at::kDouble).nan_to_num(0);
  const at::Tensor other = right.to(at::kDouble).nan_to_num(0);
  const double off = (one - other).abs().max().item<double>();
  return off <= kSameTwice * one.abs().max().item<double>();
}

}  // namespace

std::optional<Skip> look_at_reference(const dump::CallRecord& record, const PyValue& output) {
  const std::vector<at::Tensor> given = tensors_in(output);
  for (const at::Tensor& tensor : given) {
    if (tensor.defined() && !tensor.is_cpu()) {
      return failed(
          fmt::format("the reference returned a tensor on {}: it is given tensors on the "
                      "CPU, and must return such",
                      tensor.device().str()));
    }
  }
  std::vector<const dump::TensorRecord*> recorded;
  for (const dump::Value& value : record.forward.output) add_recorded(value, recorded);
  if (recorded.empty()) return std::nullopt;
  if (given.size() > recorded.size()) {
    return failed(fmt::format("the reference returned {} tensors, the recorded call {}",
                              given.size(), recorded.size()));
  }
  for (std::size_t i = 0; i < given.size(); ++i) {
    const bool same = given[i].sizes() == at::IntArrayRef(recorded[i]->shape);
    if (given[i].defined() && recorded[i]->has_shape && !same) {
      return failed(fmt::format("the reference returned shape ({}), recorded is ({})",
                                fmt::join(given[i].sizes(), ", "),
                                fmt::join(recorded[i]->shape, ", ")));
    }
  }
  return std::nullopt;
}

std::optional<Skip> look_at_repetition(const PyValue& first, const PyValue& second) {
  const std::vector<at::Tensor> left = tensors_in(first);
  const std::vector<at::Tensor> right = tensors_in(second);
  bool same = left.size() == right.size();
  for (std::size_t i = 0; same && i < left.size(); ++i) {
    const bool both = left[i].defined() && right[i].defined();
    same = both ? same_numbers(left[i], right[i]) : left[i].defined() == right[i].defined();
  }
  if (same) return std::nullopt;
  return failed(
      "the reference is not deterministic: it gave other numbers when it ran again with the same "
      "arguments and seed");
}

}  // namespace msprobe::execute
