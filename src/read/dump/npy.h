// SPDX-License-Identifier: Apache-2.0
// .npy files and .npz archives, as numpy.save and numpy.savez write them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/file.h"
#include "core/result.h"
#include "core/tensor.h"

namespace msprobe::dump {

// Versions 1 to 3, both byte orders, both memory orders. `name` opens every message.
Result<Tensor> read_npy(const FileBytes& file, std::string_view name);

// What the header of an array promises.
struct NpyHeader {
  DType dtype = DType::kFloat32;
  bool big_endian = false;
  bool fortran_order = false;
  Shape shape;
  std::size_t data_at = 0;     // bytes before the data
  std::size_t data_bytes = 0;  // of the data
};

// `start` needs to hold the header only, not the data.
Result<NpyHeader> read_npy_header(std::string_view start, std::string_view name);

// The names of the arrays in an archive, without ".npy".
Result<std::vector<std::string>> list_npz(const FileBytes& file, std::string_view name);
Result<Tensor> read_npz(const FileBytes& file, std::string_view array, std::string_view name);

}  // namespace msprobe::dump
