// SPDX-License-Identifier: Apache-2.0
// GE dump files of every container: headers, layouts, packed types, slices put together.
#include <algorithm>
#include <vector>

#include "fuzz_input.h"
#include "ge/dump_file.h"
#include "ge/elements.h"
#include "ge/joined.h"
#include "ge/slice_info.h"

namespace {

// Whatever is accepted must be readable to its last element.
void read_all(const msprobe::Result<msprobe::ge::Elements>& elements) {
  using namespace msprobe;
  if (!elements) return;
  constexpr std::uint64_t kPart = 64;
  std::vector<std::byte> part(kPart * size_bytes(elements->dtype));
  unsigned sum = 0;
  for (std::uint64_t first = 0; first < elements->count; first += kPart) {
    const std::uint64_t n = std::min(kPart, elements->count - first);
    ge::read_elements(*elements, first, n, part.data());
    for (const std::byte byte : part) sum += std::to_integer<unsigned>(byte);
  }
  volatile unsigned sink = sum;
  static_cast<void>(sink);
}

// The outputs of a file with themselves, as its attribute says they were cut.
void read_joined(const msprobe::ge::DumpFile& dump, const msprobe::FileBytes& file) {
  using namespace msprobe;
  const auto info = ge::read_slice_info(dump);
  if (!info) return;
  constexpr std::uint32_t kNumbers[] = {0, 1};
  const ge::JoinPlan plan = ge::plan_join(*info, kNumbers, dump.inputs.size(), dump.outputs.size());
  for (std::size_t i = 0; i < dump.outputs.size(); ++i) {
    if (plan.outputs[i].slices.size() != 2 || dump.outputs[i].absent) continue;
    const ge::TensorSlice slice{&dump.outputs[i], file};
    const ge::TensorSlice slices[] = {slice, slice};
    read_all(ge::join_slices(slices, plan.outputs[i].axis));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace msprobe;
  const FileBytes file = file_of(data, size);
  const auto dump = ge::read_dump_file(file);
  if (!dump) return 0;
  for (const auto* side : {&dump->inputs, &dump->outputs}) {
    for (const auto& tensor : *side) {
      if (!tensor.absent) read_all(ge::elements_of(tensor, file));
    }
  }
  read_joined(*dump, file);
  return 0;
}
