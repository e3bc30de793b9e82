// SPDX-License-Identifier: Apache-2.0
// .npz archives: every array in them.
#include "dump/npy.h"
#include "fuzz_input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace msprobe;
  const FileBytes file = file_of(data, size);
  const auto arrays = dump::list_npz(file, "x.npz");
  if (!arrays) return 0;
  for (const std::string& array : *arrays) {
    const auto tensor = dump::read_npz(file, array, "x.npz");
    if (tensor) check_tensor(*tensor);
  }
  return 0;
}
