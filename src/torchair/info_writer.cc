#include "torchair/info_writer.h"

#include <fmt/format.h>
#include <zlib.h>

namespace msprobe::torchair {
namespace {

std::string_view description(DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return "|b1";
    case DType::kUInt8:
      return "|u1";
    case DType::kInt8:
      return "|i1";
    case DType::kUInt16:
      return "<u2";
    case DType::kUInt32:
      return "<u4";
    case DType::kUInt64:
      return "<u8";
    case DType::kInt16:
      return "<i2";
    case DType::kInt32:
      return "<i4";
    case DType::kInt64:
      return "<i8";
    case DType::kFloat16:
      return "<f2";
    case DType::kFloat64:
      return "<f8";
    case DType::kComplex64:
      return "<c8";
    case DType::kComplex128:
      return "<c16";
    default:
      return "<f4";
  }
}

void put(std::string& out, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i, value >>= 8) out.push_back(static_cast<char>(value & 0xff));
}

}  // namespace

DType numpy_dtype(DType dtype) {
  switch (dtype) {
    case DType::kBFloat16:
    case DType::kFloat8E4M3:
    case DType::kFloat8E5M2:
    case DType::kHiFloat8:
      return DType::kFloat32;
    case DType::kComplex32:
      return DType::kComplex64;
    default:
      return dtype;
  }
}

std::string npy_header(DType dtype, std::span<const std::int64_t> shape) {
  constexpr std::size_t kPrefix = 10;
  constexpr std::size_t kAlignment = 64;
  std::string extents = fmt::format("{}", fmt::join(shape, ", "));
  if (shape.size() == 1) extents += ',';
  std::string text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}",
                                 description(dtype), extents);
  const std::size_t whole = (kPrefix + text.size() + 1 + kAlignment - 1) / kAlignment * kAlignment;
  text.append(whole - kPrefix - text.size() - 1, ' ');
  text += '\n';
  std::string header("\x93NUMPY\x01\x00", 8);
  put(header, text.size(), 2);
  return header + text;
}

std::string make_npz(const std::vector<std::pair<std::string, std::string>>& arrays) {
  constexpr std::uint64_t kVersion = 20;
  constexpr std::uint64_t kFirstOfJanuary1980 = 0x21;
  std::string archive;
  std::string directory;
  for (const auto& [array, content] : arrays) {
    const std::string name = array + ".npy";
    const uLong crc =
        crc32(0, reinterpret_cast<const Bytef*>(content.data()), static_cast<uInt>(content.size()));
    std::string shared;
    put(shared, kVersion, 2);
    put(shared, 0, 4);  // flags, stored
    put(shared, 0, 2);
    put(shared, kFirstOfJanuary1980, 2);
    put(shared, crc, 4);
    put(shared, content.size(), 4);
    put(shared, content.size(), 4);
    put(shared, name.size(), 2);
    put(shared, 0, 2);
    const std::size_t header_at = archive.size();
    archive += "PK\x03\x04";
    archive += shared + name + content;
    directory += "PK\x01\x02";
    put(directory, kVersion, 2);
    directory += shared;
    put(directory, 0, 2 + 2 + 2 + 4);  // comment, disk, attributes
    put(directory, header_at, 4);
    directory += name;
  }
  const std::size_t directory_at = archive.size();
  archive += directory;
  archive += "PK\x05\x06";
  put(archive, 0, 4);
  put(archive, arrays.size(), 2);
  put(archive, arrays.size(), 2);
  put(archive, directory.size(), 4);
  put(archive, directory_at, 4);
  put(archive, 0, 2);
  return archive;
}

}  // namespace msprobe::torchair
