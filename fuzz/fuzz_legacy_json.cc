// SPDX-License-Identifier: Apache-2.0
// forward_info and backward_info: a NUL byte parts the two files; then every call.
#include <optional>
#include <string_view>

#include "dump/legacy_json.h"
#include "fuzz_input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace msprobe;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::size_t cut = std::min(text.find('\0'), size);
  dump::LegacyFile forward{file_of(data, cut), "forward_info_0.json"};
  std::optional<dump::LegacyFile> backward;
  if (cut < size) {
    backward = dump::LegacyFile{file_of(data + cut + 1, size - cut - 1), "backward_info_0.json"};
  }
  static_cast<void>(dump::is_legacy(forward.file));
  const auto index = dump::index_legacy(std::move(forward), std::move(backward));
  if (!index) return 0;
  static dump::CallParser parser;
  for (const dump::CallSlice& slice : index->calls) {
    const auto call = parser.parse(slice, "forward_info_0.json");
    if (call && call->full_name != slice.full_name) std::abort();
  }
  return 0;
}
