// SPDX-License-Identifier: Apache-2.0
// Graph text.
#include <string_view>

#include "fuzz_input.h"
#include "ge/graph_text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto file = msprobe::file_of(data, size);
  const auto graph = msprobe::ge::read_graph_text(file.text());
  if (graph.ops.size() > size) std::abort();
  return 0;
}
