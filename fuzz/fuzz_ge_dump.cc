// GE dump files of every container: headers, layouts, packed types.
#include <algorithm>
#include <vector>

#include "fuzz_input.h"
#include "ge/dump_file.h"
#include "ge/elements.h"

namespace {

// Whatever is accepted must be readable to its last element.
void read_all(const msprobe::ge::DumpTensor& tensor, const msprobe::FileBytes& file) {
  using namespace msprobe;
  if (tensor.absent) return;
  const auto elements = ge::elements_of(tensor, file);
  if (!elements || elements->opaque()) return;
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

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace msprobe;
  const FileBytes file = file_of(data, size);
  const auto dump = ge::read_dump_file(file);
  if (!dump) return 0;
  for (const auto& tensor : dump->inputs) read_all(tensor, file);
  for (const auto& tensor : dump->outputs) read_all(tensor, file);
  return 0;
}
