// SPDX-License-Identifier: Apache-2.0
// The card of a device; what can be read can be written and read again.
#include <cstdlib>
#include <string_view>

#include "card/card_json.h"
#include "fuzz_input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace msprobe::card;
  const auto card = parse_card({reinterpret_cast<const char*>(data), size}, "card.json");
  if (!card) return 0;
  const auto again = parse_card(to_json(*card), "card.json");
  if (!again || !changes(*card, *again).empty()) std::abort();
  return 0;
}
