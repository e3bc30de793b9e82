// SPDX-License-Identifier: Apache-2.0
// Statistics files of CANN, file names and mapping.csv.
#include "fuzz_input.h"
#include "ge/file_name.h"
#include "ge/statistics_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace msprobe;
  const auto file = file_of(data, size);
  (void)ge::read_statistics(file.text());
  (void)ge::parse_file_name(file.text());
  for (const ge::Mapping& row : ge::read_mapping(file.text())) (void)ge::parse_file_name(row.real);
  return 0;
}
