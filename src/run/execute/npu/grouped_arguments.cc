// SPDX-License-Identifier: Apache-2.0
#include "execute/npu/grouped_arguments.h"

#include <algorithm>

#include <fmt/format.h>

namespace msprobe::execute::npu {
namespace {

// The ends of the groups: a tensor as its type says, or a list of them.
std::vector<std::int64_t> ends_of_groups(const Bound& a) {
  const PyValue& list = a.value("group_list");
  if (const auto* tensor = list.as<at::Tensor>()) {
    return group_ends(*tensor, a.opt_integer("group_list_type").value_or(0));
  }
  return a.opt_integers("group_list").value_or(std::vector<std::int64_t>());
}

// Without groups each input has its own weight. The form with a list of numbers cuts rows.
GroupedBy grouped_by(const Bound& a) {
  if (a.is_none("group_list")) return GroupedBy::kList;
  const bool is_list = a.value("group_list").as<at::Tensor>() == nullptr;
  const auto type = a.opt_integer("group_type").value_or(is_list ? 0 : -1);
  if (type != -1 && type != 0 && type != 2) {
    throw BindError(fmt::format("npu_grouped_matmul: group_type {} has no benchmark", type));
  }
  return static_cast<GroupedBy>(type);
}

bool has_any(const Bound& a, std::string_view name) {
  return !a.is_none(name) && !a.tensors(name).empty();
}

}  // namespace

GroupedCut grouped_cut(const Bound& a) {
  return {.ends = ends_of_groups(a),
          .by = grouped_by(a),
          .one_result = a.opt_integer("split_item").value_or(0) >= 2};
}

bool is_quantised_product(const Bound& a) {
  const std::vector<at::Tensor> x = a.tensors("x");
  const bool codes = std::ranges::any_of(x, [](const at::Tensor& each) {
    return !each.is_floating_point() || each.element_size() == 1;
  });
  return codes || has_any(a, "scale") || has_any(a, "antiquant_scale") ||
         has_any(a, "per_token_scale");
}

}  // namespace msprobe::execute::npu
