// SPDX-License-Identifier: Apache-2.0
#include "execute/replay_dialect.h"

#include <algorithm>

namespace msprobe::execute {
namespace {

using AnyDialect = const ReplayDialect& (*)();
constexpr AnyDialect kDialects[] = {&pytorch_dialect, &mindspore_dialect, &mindtorch_dialect};

}  // namespace

const ReplayDialect& pytorch_dialect() {
  static const ReplayDialect dialect{.name = "pytorch"};
  return dialect;
}

const ReplayDialect* find_dialect(std::string_view name) {
  const auto found =
      std::ranges::find(kDialects, name, [](AnyDialect dialect) { return dialect().name; });
  return found == std::end(kDialects) ? nullptr : &(*found)();
}

void set_dialect(const ReplayDialect& dialect, ExecuteOptions& options) {
  options.dialect = &dialect;
  options.arguments.adjust = dialect.adjusts;
  options.arguments.replay.hf32 = options.replay().hf32 && dialect.adjusts;
}

}  // namespace msprobe::execute
