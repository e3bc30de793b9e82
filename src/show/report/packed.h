// SPDX-License-Identifier: Apache-2.0
// Columns as the page of a report takes them: bytes in planes, deflated, in base64.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace msprobe::report {

std::string base64(std::string_view bytes);

// zlib, then base64.
std::string packed_bytes(std::string_view bytes);

// The first bytes of all numbers, then the second, ...: neighbours are alike and deflate well.
// Little-endian, byte 0 first.
std::string packed_integers(std::span<const std::uint32_t> numbers);

// The same for doubles, their fractions rounded to 28 bits: eight digits are enough to look at, and
// the CSV keeps them all.
std::string packed_numbers(std::span<const double> numbers);

}  // namespace msprobe::report
