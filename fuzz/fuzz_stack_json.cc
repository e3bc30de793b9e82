// SPDX-License-Identifier: Apache-2.0
// stack.json: the index, then the frames of some calls.
#include "dump/stack_json.h"
#include "fuzz_input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace msprobe;
  const auto index = dump::index_stacks(file_of(data, size), "stack.json");
  if (!index) return 0;
  for (const char* name : {"Torch.a.0.forward", "Torch.b.0.forward", "a", "b", ""}) {
    const auto frames = index->frames(name);
    static_cast<void>(frames);
  }
  return 0;
}
