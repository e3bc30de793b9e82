// Writes one tensor as torch.save does: a zip of a pickle and the raw bytes, which torch.load and
// the reader of this project take.
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

}  // namespace msprobe::collect
