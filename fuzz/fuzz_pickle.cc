// SPDX-License-Identifier: Apache-2.0
// The pickle of a .pt file, put into an archive whose checksums are right: mutations of an archive
// hardly ever get that far.
#include <string>
#include <string_view>

#include "dump/files_for_test.h"
#include "dump/pt.h"
#include "fuzz_input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace msprobe;
  const std::string pickle(reinterpret_cast<const char*>(data), size);
  const auto tensor = dump::read_pt(
      dump::file_of(dump::make_zip({{"a/data.pkl", pickle}, {"a/data/0", std::string(24, '\1')}})),
      "x.pt");
  if (tensor) check_tensor(*tensor);
  return 0;
}
