// SPDX-License-Identifier: Apache-2.0
// Messages between the machines of a check, and the command of an engine in one.
#include <cstdlib>
#include <string>
#include <string_view>

#include "cluster/command_text.h"
#include "cluster/message_bytes.h"
#include "fuzz_input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace msprobe::cluster;
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto message = message_of(data[0] % 2, text);
  if (message && to_bytes(*message) != text) std::abort();
  const auto command = decode_command(text);
  const auto again = decode_command(encode_command(command));
  if (again.arguments != command.arguments || again.program != command.program) std::abort();
  return 0;
}
