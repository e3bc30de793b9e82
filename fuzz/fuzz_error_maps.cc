// SPDX-License-Identifier: Apache-2.0
// A line of accuracy_checking_maps_{timestamp}.jsonl.
#include <string_view>

#include "fuzz_input.h"
#include "report/error_maps.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto row = msprobe::report::row_of_map_line({reinterpret_cast<const char*>(data), size});
  static_cast<void>(row);
  return 0;
}
