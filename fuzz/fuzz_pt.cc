// SPDX-License-Identifier: Apache-2.0
// .pt files: the archive as it is.
#include "dump/pt.h"
#include "fuzz_input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace msprobe;
  const auto tensor = dump::read_pt(file_of(data, size), "x.pt");
  if (tensor) check_tensor(*tensor);
  return 0;
}
