// SPDX-License-Identifier: Apache-2.0
// dump.json as a sequence of entries, and every entry's items.
#include "dump/construct_json.h"
#include "dump/entry_index.h"
#include "dump/entry_reader.h"
#include "fuzz_input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace msprobe;
  if (const auto construct = dump::index_construct(file_of(data, size), "construct.json")) {
    static_cast<void>(construct->parents("Torch.a.0.forward"));
  }
  const auto index = dump::index_entries(file_of(data, size), "dump.json");
  if (!index) return 0;
  dump::EntryReader reader;
  dump::Entry entry;
  for (const dump::EntrySlice& slice : index->entries) {
    if (!reader.read(slice, "dump.json", entry)) continue;
    for (const dump::Item& item : entry.items) static_cast<void>(dump::item_name(entry, item));
  }
  return 0;
}
