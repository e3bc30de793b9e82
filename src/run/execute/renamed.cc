// SPDX-License-Identifier: Apache-2.0
#include "execute/renamed.h"

namespace msprobe::execute {

PyCall handed_on(const RenamedRow& row, const Bound& a) {
  PyCall call;
  call.output_shape = a.call().output_shape;
  std::string_view left = row.arguments;
  while (!left.empty()) {
    const std::size_t space = left.find(' ');
    const std::string_view word = left.substr(0, space);
    const std::size_t equals = word.find('=');
    const std::string_view name = equals == std::string_view::npos ? word : word.substr(equals + 1);
    if (equals == std::string_view::npos) {
      call.args.push_back(a.value(name));
    } else if (a.given(name) && !a.is_none(name)) {
      call.kwargs.emplace_back(word.substr(0, equals), a.value(name));
    }
    left.remove_prefix(space == std::string_view::npos ? left.size() : space + 1);
  }
  return call;
}

}  // namespace msprobe::execute
