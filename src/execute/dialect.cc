#include "execute/dialect.h"

#include <algorithm>

namespace msprobe::execute {
namespace {

using AnyDialect = const Dialect& (*)();
constexpr AnyDialect kDialects[] = {&pytorch_dialect, &mindspore_dialect, &mindtorch_dialect};

}  // namespace

const Dialect& pytorch_dialect() {
  static const Dialect dialect{.name = "pytorch"};
  return dialect;
}

const Dialect* find_dialect(std::string_view name) {
  const auto found =
      std::ranges::find(kDialects, name, [](AnyDialect dialect) { return dialect().name; });
  return found == std::end(kDialects) ? nullptr : &(*found)();
}

void set_dialect(const Dialect& dialect, ExecuteOptions& options) {
  options.dialect = &dialect;
  options.arguments.adjust = dialect.adjusts;
}

}  // namespace msprobe::execute
