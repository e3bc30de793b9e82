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

// Bytes are contiguous and row-major, `crc` is their CRC-32. The file is replaced where it exists.
// Returns where in the file the bytes begin.
Result<std::uint64_t> write_pt(const std::string& path, DType dtype,
                               std::span<const std::int64_t> shape,
                               std::span<const std::byte> bytes, std::uint32_t crc);

}  // namespace msprobe::collect
