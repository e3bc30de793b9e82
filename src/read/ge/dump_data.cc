// SPDX-License-Identifier: Apache-2.0
// Containers A and C: the message DumpData, with the tensors behind it or inside it.
#include <cstring>
#include <limits>

#include <fmt/format.h>

#include "dump/limits.h"
#include "ge/dump_file.h"
#include "ge/wire.h"

namespace msprobe::ge {
namespace {

// More than any operator has; what a hostile header may make us allocate.
constexpr std::size_t kMaxTensors = 1U << 16;

// Where the fields of OpInput and of OpOutput differ.
struct TensorFields {
  std::uint32_t original_op;
  std::uint32_t data;
  std::uint32_t size;
  std::uint32_t original_shape;
  std::uint32_t sub_format;
  std::uint32_t address;
};
constexpr std::uint32_t kNone = 0;
constexpr TensorFields kInputFields{kNone, 4, 5, 6, 7, 8};
constexpr TensorFields kOutputFields{4, 5, 6, 7, 8, 9};

bool is_bytes(const WireField& field) { return field.type == WireType::kBytes; }
bool is_number(const WireField& field) { return field.type == WireType::kVarint; }

// A dimension beyond 2^63 is a negative number: not known.
std::int64_t extent(std::uint64_t dim) {
  return dim <= std::uint64_t{std::numeric_limits<std::int64_t>::max()}
             ? static_cast<std::int64_t>(dim)
             : -1;
}

bool read_shape(const WireField& message, Shape& shape) {
  if (!is_bytes(message)) return false;
  WireReader reader(message.bytes);
  for (WireField field; reader.next(field);) {
    if (field.number != 1) continue;
    if (is_number(field)) {
      shape.push_back(extent(field.value));
    } else if (is_bytes(field)) {
      WireReader packed(field.bytes);
      for (std::uint64_t dim = 0; !packed.at_end();) {
        if (!packed.number(dim) || shape.size() > dump::kMaxRank) return false;
        shape.push_back(extent(dim));
      }
    } else {
      return false;
    }
    if (shape.size() > dump::kMaxRank) return false;
  }
  return !reader.failed();
}

bool read_original_op(const WireField& message, DumpTensor& tensor) {
  if (!is_bytes(message)) return false;
  OriginalOp op;
  WireReader reader(message.bytes);
  for (WireField field; reader.next(field);) {
    if (field.number == 1 && is_bytes(field)) op.name = field.text();
    if (field.number == 2 && is_number(field)) {
      op.output_index = static_cast<std::uint32_t>(field.value);
    }
  }
  if (reader.failed()) return false;
  if (!op.name.empty()) tensor.original_op = std::move(op);
  return true;
}

bool read_number(const WireField& field, auto& number) {
  if (!is_number(field)) return false;
  number = static_cast<std::remove_reference_t<decltype(number)>>(field.value);
  return true;
}

bool read_tensor(const WireField& message, const TensorFields& fields, DumpTensor& tensor) {
  if (!is_bytes(message)) return false;
  tensor.format = 0;  // what the wire format leaves out is 0
  WireReader reader(message.bytes);
  bool fine = true;
  for (WireField field; fine && reader.next(field);) {
    const std::uint32_t number = field.number;
    if (number == 1) {
      fine = read_number(field, tensor.type);
    } else if (number == 2) {
      fine = read_number(field, tensor.format);
    } else if (number == 3) {
      tensor.has_shape = true;
      fine = read_shape(field, tensor.shape);
    } else if (number == fields.original_op) {
      fine = read_original_op(field, tensor);
    } else if (number == fields.data) {
      fine = is_bytes(field);
      tensor.bytes = field.bytes;
    } else if (number == fields.size) {
      fine = read_number(field, tensor.size_bytes);
    } else if (number == fields.original_shape) {
      fine = read_shape(field, tensor.original_shape);
    } else if (number == fields.sub_format) {
      fine = read_number(field, tensor.sub_format);
    } else if (number == fields.address) {
      fine = read_number(field, tensor.address);
    }
  }
  return fine && !reader.failed();
}

bool read_attribute(const WireField& message, DumpFile& file) {
  if (!is_bytes(message)) return false;
  std::pair<std::string, std::string> attribute;
  WireReader reader(message.bytes);
  for (WireField field; reader.next(field);) {
    if (field.number == 1 && is_bytes(field)) attribute.first = field.text();
    if (field.number == 2 && is_bytes(field)) attribute.second = field.text();
  }
  file.attributes.push_back(std::move(attribute));
  return !reader.failed();
}

// Adds the size of a buffer or a work space; both have it in field 3.
bool add_size(const WireField& message, std::uint64_t& total) {
  if (!is_bytes(message)) return false;
  WireReader reader(message.bytes);
  for (WireField field; reader.next(field);) {
    if (field.number == 3 && is_number(field) &&
        __builtin_add_overflow(total, field.value, &total)) {
      return false;
    }
  }
  return !reader.failed();
}

struct DumpData {
  DumpFile file;
  std::string version;
  std::uint64_t other_bytes = 0;
};

std::optional<DumpData> read_dump_data(std::span<const std::byte> bytes) {
  DumpData data;
  WireReader reader(bytes);
  bool fine = true;
  for (WireField field; fine && reader.next(field);) {
    switch (field.number) {
      case 1:
        fine = is_bytes(field);
        data.version = field.text();
        break;
      case 2:
        fine = read_number(field, data.file.time);
        break;
      case 3:
        fine = data.file.outputs.size() < kMaxTensors &&
               read_tensor(field, kOutputFields, data.file.outputs.emplace_back());
        break;
      case 4:
        fine = data.file.inputs.size() < kMaxTensors &&
               read_tensor(field, kInputFields, data.file.inputs.emplace_back());
        break;
      case 5:
      case 8:
        fine = add_size(field, data.other_bytes);
        break;
      case 6:
        fine = is_bytes(field);
        data.file.op_name = field.text();
        break;
      case 7:
        fine = data.file.attributes.size() < kMaxTensors && read_attribute(field, data.file);
        break;
      default:
        break;  // later versions add fields
    }
  }
  if (!fine || reader.failed()) return std::nullopt;
  return data;
}

}  // namespace

Result<bool> place_payload(DumpFile& file, std::span<const std::byte> payload,
                           std::uint64_t other_bytes) {
  std::uint64_t all = other_bytes;
  std::uint64_t addressed = other_bytes;
  for (auto* tensors : {&file.inputs, &file.outputs}) {
    for (const DumpTensor& tensor : *tensors) {
      if (__builtin_add_overflow(all, tensor.size_bytes, &all)) {
        return fail(ErrorKind::kFormat, "the header names more bytes than any file has");
      }
      if (tensor.address != 0) addressed += tensor.size_bytes;
    }
  }
  // The writer leaves out tensors without a device address. Writers that never set one leave out
  // nothing.
  const bool skips =
      payload.size() != all && addressed > other_bytes && payload.size() == addressed;
  if (!skips && payload.size() < all) {
    return fail(ErrorKind::kFormat,
                fmt::format("the file ends in the middle of the tensor data: {} bytes, the header "
                            "says {}",
                            payload.size(), all));
  }
  std::size_t at = 0;
  for (auto* tensors : {&file.inputs, &file.outputs}) {
    for (DumpTensor& tensor : *tensors) {
      tensor.absent = skips && tensor.address == 0 && tensor.size_bytes > 0;
      if (tensor.absent) continue;
      tensor.bytes = payload.subspan(at, tensor.size_bytes);
      at += tensor.size_bytes;
    }
  }
  file.trailing_bytes = payload.size() - (skips ? addressed : all);
  return true;
}

Result<DumpFile> read_length_prefixed(std::span<const std::byte> bytes) {
  std::uint64_t header_bytes = 0;
  if (bytes.size() <= sizeof(header_bytes)) {
    return fail(ErrorKind::kFormat, fmt::format("the file has only {} bytes", bytes.size()));
  }
  std::memcpy(&header_bytes, bytes.data(), sizeof(header_bytes));
  const std::span<const std::byte> rest = bytes.subspan(sizeof(header_bytes));
  if (header_bytes == 0 || header_bytes > rest.size()) {
    return fail(ErrorKind::kFormat,
                fmt::format("the file says that its header has {} bytes, {} follow", header_bytes,
                            rest.size()));
  }
  std::optional<DumpData> data = read_dump_data(rest.first(header_bytes));
  if (!data) return fail(ErrorKind::kFormat, "the header is not a DumpData message");
  const Result<bool> placed =
      place_payload(data->file, rest.subspan(header_bytes), data->other_bytes);
  if (!placed) return propagate(placed);
  return std::move(data->file);
}

Result<DumpFile> read_single_message(std::span<const std::byte> bytes) {
  std::optional<DumpData> data = read_dump_data(bytes);
  if (!data || data->version.empty() || data->version == "2.0") {
    return fail(ErrorKind::kFormat, "the file is not a DumpData message of version 1.0");
  }
  data->file.container = Container::kSingleMessage;
  for (auto* tensors : {&data->file.inputs, &data->file.outputs}) {
    for (DumpTensor& tensor : *tensors) {
      tensor.absent = tensor.bytes.empty() && tensor.size_bytes > 0;
      if (!tensor.absent && tensor.size_bytes > tensor.bytes.size()) {
        return fail(ErrorKind::kFormat, fmt::format("a tensor of {} bytes, the header says {}",
                                                    tensor.bytes.size(), tensor.size_bytes));
      }
      tensor.size_bytes = tensor.absent ? tensor.size_bytes : tensor.bytes.size();
    }
  }
  return std::move(data->file);
}

}  // namespace msprobe::ge
