// SPDX-License-Identifier: Apache-2.0
// .npy files.
#include "dump/npy.h"
#include "fuzz_input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace msprobe;
  const auto tensor = dump::read_npy(file_of(data, size), "x.npy");
  if (tensor) check_tensor(*tensor);
  return 0;
}
