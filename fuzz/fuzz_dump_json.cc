// SPDX-License-Identifier: Apache-2.0
// dump.json: the scan of the top level, then every call; the fast scan against the plain loop.
#include <string_view>

#include "dump/dump_json.h"
#include "dump/json_scan.h"
#include "fuzz_input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace msprobe;
  const FileBytes file = file_of(data, size);
  const std::size_t start = file.text().find_first_of("{[");
  if (start != std::string_view::npos && dump::container_end(file.text(), start) !=
                                             dump::container_end_reference(file.text(), start)) {
    std::abort();
  }
  static dump::CallParser parser;
  const auto index = dump::index_dump(file, "dump.json");
  if (!index) return 0;
  for (const dump::CallSlice& slice : index->calls) {
    const auto call = parser.parse(slice, "dump.json");
    if (call && call->full_name != slice.full_name) std::abort();
  }
  return 0;
}
