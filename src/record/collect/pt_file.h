// SPDX-License-Identifier: Apache-2.0
// Writes one tensor as torch.save does, a zip of a pickle and the raw bytes, or as numpy.save does.
// torch.load, numpy.load and the readers of this project take them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "core/dtype.h"
#include "core/result.h"

namespace msprobe::collect {

// Bytes are contiguous and row-major, `crc` is their CRC-32. The file must not exist.
Result<void> write_pt(const std::string& path, DType dtype, std::span<const std::int64_t> shape,
                      std::span<const std::byte> bytes, std::uint32_t crc);

// The same for an npy. REQUIRES: a dtype that numpy has.
Result<void> write_npy(const std::string& path, DType dtype, std::span<const std::int64_t> shape,
                       std::span<const std::byte> bytes);

}  // namespace msprobe::collect
