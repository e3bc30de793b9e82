// Writes one tensor as torch.save does: a zip of a pickle and the raw bytes, which torch.load and the
// reader of this project take.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "core/dtype.h"
#include "core/result.h"

namespace msprobe::collect {

// Bytes are contiguous and row-major. The file is replaced where it exists.
Result<void> write_pt(const std::string& path, DType dtype, std::span<const std::int64_t> shape,
                      std::span<const std::byte> bytes);

}  // namespace msprobe::collect
