// SPDX-License-Identifier: Apache-2.0
#include "dump/npy.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "dump/byte_reader.h"
#include "dump/limits.h"
#include "dump/printable.h"
#include "dump/strided.h"

namespace msprobe::dump {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kMaxHeaderBytes = 1 << 16;

struct DescriptionRow {
  std::string_view code;
  DType dtype;
};

constexpr DescriptionRow kDescriptions[] = {
    {"b1", DType::kBool},      {"i1", DType::kInt8},        {"i2", DType::kInt16},
    {"i4", DType::kInt32},     {"i8", DType::kInt64},       {"u1", DType::kUInt8},
    {"u2", DType::kUInt16},    {"u4", DType::kUInt32},      {"u8", DType::kUInt64},
    {"f2", DType::kFloat16},   {"f4", DType::kFloat32},     {"f8", DType::kFloat64},
    {"c8", DType::kComplex64}, {"c16", DType::kComplex128},
};

// The few forms of Python literals a header has: {'descr': '<f4', 'fortran_order': False, 'shape':
// (2, 3), }. Every function returns false for anything else; at() is the place.
class LiteralReader {
 public:
  explicit LiteralReader(std::string_view text) : text_(text) {}

  std::size_t at() const { return at_; }
  bool at_end() {
    skip_space();
    return at_ == text_.size();
  }
  bool next_is(char c) {
    skip_space();
    return at_ < text_.size() && text_[at_] == c;
  }
  bool take(char c) {
    if (!next_is(c)) return false;
    ++at_;
    return true;
  }
  bool read_string(std::string_view& out) {
    skip_space();
    if (at_ == text_.size() || (text_[at_] != '\'' && text_[at_] != '"')) return false;
    const std::size_t end = text_.find(text_[at_], at_ + 1);
    if (end == std::string_view::npos) return false;
    out = text_.substr(at_ + 1, end - at_ - 1);
    if (out.find('\\') != std::string_view::npos) return false;
    at_ = end + 1;
    return true;
  }
  bool read_bool(bool& out) {
    skip_space();
    for (const bool value : {false, true}) {
      const std::string_view word = value ? "True" : "False";
      if (!text_.substr(at_).starts_with(word)) continue;
      at_ += word.size();
      out = value;
      return true;
    }
    return false;
  }
  // "(2, 3)", "(3,)", "()", and "(3L,)" of Python 2.
  bool read_shape(Shape& out) {
    if (!take('(')) return false;
    while (!next_is(')')) {
      std::int64_t extent = 0;
      skip_space();
      const char* const end = text_.data() + text_.size();
      const auto [stop, error] = std::from_chars(text_.data() + at_, end, extent);
      if (error != std::errc() || extent < 0 || out.size() == kMaxRank) return false;
      at_ = static_cast<std::size_t>(stop - text_.data());
      if (at_ < text_.size() && text_[at_] == 'L') ++at_;
      out.push_back(extent);
      if (!take(',') && !next_is(')')) return false;
    }
    return take(')');
  }

 private:
  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

Failure failure(ErrorKind kind, std::string_view name, std::size_t at, std::string_view text) {
  return fail(kind, fmt::format("{}: byte {}: {}", name, at, text));
}

// "<f4": byte order, kind, bytes.
Result<bool> read_description(std::string_view text, NpyHeader& header, std::string_view name,
                              std::size_t at) {
  const char order = text.empty() ? '\0' : text.front();
  if (text.find('O') != std::string_view::npos) {
    return failure(ErrorKind::kHostile, name, at, "the array holds pickled Python objects");
  }
  if (std::string_view("<>|=").find(order) == std::string_view::npos || order == '\0') {
    return failure(ErrorKind::kFormat, name, at,
                   fmt::format("descr '{}', expected something like '<f4'", printable(text)));
  }
  for (const DescriptionRow& row : kDescriptions) {
    if (text.substr(1) != row.code) continue;
    header.dtype = row.dtype;
    header.big_endian = order == '>';
    return true;
  }
  return failure(ErrorKind::kUnsupported, name, at,
                 fmt::format("arrays of '{}' are not supported", printable(text)));
}

Result<bool> read_literal(std::string_view text, NpyHeader& header, std::string_view name,
                          std::size_t offset) {
  LiteralReader reader(text);
  std::optional<std::string_view> description;
  std::size_t description_at = 0;
  bool fine = reader.take('{');
  bool has_order = false;
  bool has_shape = false;
  while (fine && !reader.next_is('}')) {
    std::string_view key;
    fine = reader.read_string(key) && reader.take(':');
    if (fine && key == "descr" && !description) {
      description_at = offset + reader.at();
      if (reader.next_is('[')) {
        return failure(ErrorKind::kUnsupported, name, description_at,
                       "arrays of structures are not supported");
      }
      fine = reader.read_string(description.emplace());
    } else if (fine && key == "fortran_order" && !std::exchange(has_order, true)) {
      fine = reader.read_bool(header.fortran_order);
    } else if (fine && key == "shape" && !std::exchange(has_shape, true)) {
      fine = reader.read_shape(header.shape);
    } else {
      fine = false;
    }
    fine = fine && (reader.take(',') || reader.next_is('}'));
  }
  if (!fine || !reader.take('}') || !reader.at_end() || !description || !has_order || !has_shape) {
    return failure(ErrorKind::kFormat, name, offset + reader.at(), "not a valid npy header");
  }
  return read_description(*description, header, name, description_at);
}

}  // namespace

Result<NpyHeader> read_npy_header(std::string_view start, std::string_view name) {
  ByteReader reader(std::as_bytes(std::span(start)));
  if (reader.text(kMagic.size()) != kMagic) {
    return failure(ErrorKind::kFormat, name, 0, "not an npy file");
  }
  const auto major = reader.number<std::uint8_t>();
  reader.take(1);
  if (major < 1 || major > 3) {
    return failure(ErrorKind::kUnsupported, name, kMagic.size(),
                   fmt::format("npy version {}, expected 1 to 3", major));
  }
  const std::size_t size =
      major == 1 ? reader.number<std::uint16_t>() : reader.number<std::uint32_t>();
  const std::size_t text_at = reader.at();
  if (size > kMaxHeaderBytes) {
    return failure(ErrorKind::kHostile, name, text_at,
                   fmt::format("an npy header of {} bytes", size));
  }
  const std::string_view text = reader.text(size);
  if (reader.failed()) {
    return failure(ErrorKind::kFormat, name, start.size(), "the npy header is cut off");
  }
  NpyHeader header;
  header.data_at = reader.at();
  const Result<bool> read = read_literal(text, header, name, text_at);
  if (!read) return propagate(read);
  const Result<std::size_t> bytes = byte_count(header.shape, header.dtype);
  if (!bytes) return failure(ErrorKind::kFormat, name, text_at, bytes.error().message);
  header.data_bytes = *bytes;
  return header;
}

Result<Tensor> read_npy(const FileBytes& file, std::string_view name) {
  Result<NpyHeader> header = read_npy_header(file.text(), name);
  if (!header) return propagate(header);
  const std::span<const std::byte> data = file.bytes.subspan(header->data_at);
  if (data.size() != header->data_bytes) {
    return failure(
        ErrorKind::kFormat, name, header->data_at,
        fmt::format("{} bytes of data, the header says {}", data.size(), header->data_bytes));
  }
  std::vector<std::int64_t> strides = contiguous_strides(header->shape, header->fortran_order);
  return to_tensor({header->dtype, std::move(header->shape), std::move(strides), 0,
                    header->big_endian, file.owner, data},
                   name);
}

}  // namespace msprobe::dump
