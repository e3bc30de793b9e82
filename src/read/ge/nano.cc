// SPDX-License-Identifier: Apache-2.0
// Container B: a head of type-length-value records, then the payload.
#include <fmt/format.h>

#include "dump/byte_reader.h"
#include "dump/limits.h"
#include "ge/dump_file.h"
#include "ge/element_type.h"

namespace msprobe::ge {
namespace {

using dump::ByteReader;

constexpr std::uint32_t kInputs = 4;
constexpr std::uint32_t kOutputs = 5;
constexpr std::size_t kSmallestRecord = 40;  // of an input; bounds the count by the bytes there are
constexpr std::uint32_t kUnknownType = 0xffff;

bool read_dims(std::span<const std::byte> value, Shape& shape) {
  if (value.size() % 8 != 0 || value.size() / 8 > dump::kMaxRank) return false;
  ByteReader reader(value);
  while (reader.left() > 0) {
    const auto dim = reader.number<std::int64_t>();
    shape.push_back(dim < 0 ? -1 : dim);
  }
  return true;
}

bool read_details(std::span<const std::byte> bytes, DumpTensor& tensor) {
  ByteReader reader(bytes);
  while (reader.left() > 0) {
    const auto tag = reader.number<std::uint32_t>();
    const std::span<const std::byte> value = reader.take(reader.number<std::uint32_t>());
    if (reader.failed()) return false;
    if (tag == 0) {
      tensor.has_shape = true;
      if (!read_dims(value, tensor.shape)) return false;
    } else if (tag == 1) {
      if (!read_dims(value, tensor.original_shape)) return false;
    } else if (tag == 2 && tensor.original_op) {
      tensor.original_op->name = {reinterpret_cast<const char*>(value.data()), value.size()};
    }
  }
  return true;
}

bool read_record(ByteReader& reader, bool is_output, DumpTensor& tensor) {
  // A number that no header of the vendor has is kept as a type nobody can read.
  tensor.type = code_of_acl(reader.number<std::uint32_t>()).value_or(kUnknownType);
  tensor.format = reader.number<std::uint32_t>();
  reader.take(4);  // address type
  if (is_output) {
    tensor.original_op.emplace().output_index = reader.number<std::uint32_t>();
    reader.take(8);  // original type and format
  }
  tensor.address = reader.number<std::uint64_t>();
  reader.take(8);  // offset
  tensor.size_bytes = reader.number<std::uint64_t>();
  const std::span<const std::byte> details = reader.take(reader.number<std::uint32_t>());
  if (reader.failed() || !read_details(details, tensor)) return false;
  if (tensor.original_op && tensor.original_op->name.empty()) tensor.original_op.reset();
  return true;
}

bool read_records(std::span<const std::byte> bytes, bool is_output,
                  std::vector<DumpTensor>& tensors) {
  ByteReader reader(bytes);
  const auto count = reader.number<std::uint32_t>();
  if (reader.failed() || count > reader.left() / kSmallestRecord) return false;
  for (std::uint32_t i = 0; i < count; ++i) {
    if (!read_record(reader, is_output, tensors.emplace_back())) return false;
  }
  return true;
}

}  // namespace

Result<DumpFile> read_nano(std::span<const std::byte> bytes) {
  ByteReader reader(bytes);
  const auto head_bytes = reader.number<std::uint64_t>();
  if (head_bytes < 8 || head_bytes > reader.left()) {
    return fail(ErrorKind::kFormat, fmt::format("the file says that its head has {} bytes, {} "
                                                "follow",
                                                head_bytes, reader.left()));
  }
  DumpFile file;
  file.container = Container::kNano;
  ByteReader head(reader.take(head_bytes));
  head.take(8);  // magic, version
  while (head.left() > 0) {
    const auto tag = head.number<std::uint32_t>();
    const std::span<const std::byte> value = head.take(head.number<std::uint32_t>());
    const bool fine = !head.failed() && (tag == kInputs    ? read_records(value, false, file.inputs)
                                         : tag == kOutputs ? read_records(value, true, file.outputs)
                                                           : true);
    if (!fine) return fail(ErrorKind::kFormat, "the head of the file cannot be read");
  }
  const Result<bool> placed = place_payload(file, reader.take(reader.left()), 0);
  if (!placed) return propagate(placed);
  return file;
}

}  // namespace msprobe::ge
