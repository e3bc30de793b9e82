// SPDX-License-Identifier: Apache-2.0
// A matrix product as a black box: what a device makes of float32 numbers, or of numbers of a
// narrower dtype that are written as float32.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "units/unit.h"

namespace msprobe::identify {

// Row-major; the result has rows x columns numbers.
using Multiply = std::function<std::vector<float>(
    const units::Shape& shape, std::span<const float> left, std::span<const float> right)>;

// What comes in and goes out. Both ends of the range keep clear of overflow and of subnormals.
// Results of kFloat8 (e4m3fn) are float32.
enum class Format : std::uint8_t { kFloat32, kFloat16, kBFloat16, kFloat8 };

// A float32 rounded to the format, to nearest: as a factor, and as a result.
float rounded_to(Format format, float value);
float rounded_result(Format format, float value);

}  // namespace msprobe::identify
