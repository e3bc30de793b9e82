// SPDX-License-Identifier: Apache-2.0
// One GE dump file: the tensors of one execution of an operator, described; their bytes stay in the
// file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/file.h"
#include "core/result.h"
#include "core/tensor.h"

namespace msprobe::ge {

// The operator before fusion whose output this is, where GE knows it.
struct OriginalOp {
  std::string name;
  std::uint32_t output_index = 0;
};

struct DumpTensor {
  std::uint32_t type = 0;    // see element_type()
  std::uint32_t format = 2;  // see TensorFormat
  std::uint32_t sub_format = 0;
  bool has_shape = false;  // false: the header says nothing; true and empty: a scalar
  Shape shape;             // as it lies on the device; -1: not known
  Shape original_shape;    // as the network sees it; empty: as `shape`
  std::uint64_t size_bytes = 0;
  std::uint64_t address = 0;
  std::optional<OriginalOp> original_op;
  bool absent = false;  // the file has no bytes for it
  std::span<const std::byte> bytes;
};

enum class Container : std::uint8_t {
  kLengthPrefixed,  // A: length, DumpData, payload
  kNano,            // B: a type-length-value head, payload
  kSingleMessage,   // C: one DumpData with the data inside
};

struct DumpFile {
  Container container = Container::kLengthPrefixed;
  std::string op_name;     // unescaped; empty in container B
  std::uint64_t time = 0;  // microseconds; 0 where the header does not say
  std::vector<DumpTensor> inputs;
  std::vector<DumpTensor> outputs;
  std::vector<std::pair<std::string, std::string>> attributes;
  std::uint64_t trailing_bytes = 0;  // behind the last tensor
};

// Recognises the container. The spans point into `file`. An error says why no tensor of the file
// can be trusted: empty, too short, no header, or cut off; of kind kUnsupported where it never was
// a dump.
Result<DumpFile> read_dump_file(const FileBytes& file);

// The parts of it; `bytes` is the whole file.
Result<DumpFile> read_length_prefixed(std::span<const std::byte> bytes);
Result<DumpFile> read_nano(std::span<const std::byte> bytes);
Result<DumpFile> read_single_message(std::span<const std::byte> bytes);

// The payload behind a header: inputs, outputs, then `other_bytes` of buffers and work spaces.
Result<bool> place_payload(DumpFile& file, std::span<const std::byte> payload,
                           std::uint64_t other_bytes);

}  // namespace msprobe::ge
