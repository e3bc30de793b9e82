// SPDX-License-Identifier: Apache-2.0
#include "dump/zip.h"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include <fmt/format.h>
#include <zlib.h>

#include "core/crc32.h"
#include "core/memory_share.h"
#include "dump/byte_reader.h"
#include "dump/printable.h"

namespace msprobe::dump {
namespace {

constexpr std::uint32_t kLocalSignature = 0x04034b50;
constexpr std::uint32_t kRowSignature = 0x02014b50;
constexpr std::uint32_t kEnd64Signature = 0x06064b50;
constexpr std::uint32_t kLocator64Signature = 0x07064b50;
constexpr std::size_t kEndBytes = 22;
constexpr std::size_t kLocator64Bytes = 20;
constexpr std::size_t kRowBytes = 46;
constexpr std::uint16_t kEncrypted = 1;
constexpr std::uint16_t kStored = 0;
constexpr std::uint16_t kDeflated = 8;
constexpr std::uint32_t kIn64 = 0xffffffff;  // the number is in the zip64 field
constexpr std::uint16_t kField64 = 1;

// No deflate stream grows by more: 258 bytes for two bits, rounded up.
constexpr std::uint64_t kMaxDeflateRatio = 1032;

constexpr std::size_t kMaxStep = std::size_t{1} << 30;  // zlib counts in 32 bits

struct InflateStream {
  InflateStream() { ready = inflateInit2(&z, -MAX_WBITS) == Z_OK; }
  InflateStream(const InflateStream&) = delete;
  InflateStream& operator=(const InflateStream&) = delete;
  ~InflateStream() {
    if (ready) inflateEnd(&z);
  }
  z_stream z{};
  bool ready = false;
};

// Inflates up to out.size() bytes and returns how many there were; `complete` tells whether the
// stream ended there and nothing of `packed` is left. std::nullopt for a broken stream.
std::optional<std::size_t> inflate_into(std::span<const std::byte> packed, std::span<std::byte> out,
                                        bool& complete) {
  InflateStream stream;
  if (!stream.ready) return std::nullopt;
  std::byte spare{};  // shows whether more would come
  std::span<const std::byte> in = packed;
  std::size_t done = 0;
  while (true) {
    const bool full = done == out.size();
    const std::span<std::byte> target = full ? std::span(&spare, 1) : out.subspan(done);
    const std::size_t in_step = std::min(in.size(), kMaxStep);
    const std::size_t out_step = std::min(target.size(), kMaxStep);
    stream.z.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(in.data()));
    stream.z.avail_in = static_cast<uInt>(in_step);
    stream.z.next_out = reinterpret_cast<Bytef*>(target.data());
    stream.z.avail_out = static_cast<uInt>(out_step);
    const int status = inflate(&stream.z, Z_NO_FLUSH);  // Z_OK only where it got further
    in = in.subspan(in_step - stream.z.avail_in);
    const std::size_t written = out_step - stream.z.avail_out;
    if (full && written > 0) return done;
    done += written;
    complete = status == Z_STREAM_END && in.empty();
    if (status == Z_STREAM_END) return done;
    if (status != Z_OK) return std::nullopt;
  }
}

}  // namespace

Failure ZipArchive::failure(ErrorKind kind, std::uint64_t at, std::string_view text) const {
  return fail(kind, fmt::format("{}: byte {}: {}", name_, at, text));
}

Result<ZipArchive> ZipArchive::open(const FileBytes& file, std::string_view name) {
  ZipArchive archive(file, name);
  const Result<bool> found = archive.find_directory();
  if (!found) return propagate(found);
  const Result<bool> checked = archive.check_directory();
  if (!checked) return propagate(checked);
  return archive;
}

// The end record comes last, with a comment of up to 64 KiB behind it.
Result<bool> ZipArchive::find_directory() {
  constexpr std::size_t kTailBytes = kEndBytes + 0xffff;
  const std::string_view text = file_.text();
  const std::size_t tail_at = text.size() - std::min(text.size(), kTailBytes);
  const std::size_t in_tail = text.substr(tail_at).rfind("PK\x05\x06");
  const std::size_t end = in_tail == std::string_view::npos ? text.size() : tail_at + in_tail;
  ByteReader record(file_.bytes, end);
  record.take(10);
  count_ = record.number<std::uint16_t>();
  directory_size_ = record.number<std::uint32_t>();
  directory_at_ = record.number<std::uint32_t>();
  const auto comment_size = record.number<std::uint16_t>();
  if (record.failed() || record.left() != comment_size) {
    return failure(ErrorKind::kFormat, end, "no zip directory: truncated, or not a zip archive");
  }
  const bool in64 = count_ == 0xffff || directory_size_ == kIn64 || directory_at_ == kIn64;
  if (in64 && end >= kLocator64Bytes) {
    ByteReader locator(file_.bytes, end - kLocator64Bytes);
    const bool is_locator = locator.number<std::uint32_t>() == kLocator64Signature;
    locator.take(4);
    ByteReader record64(file_.bytes, locator.number<std::uint64_t>());
    if (!is_locator || record64.number<std::uint32_t>() != kEnd64Signature) {
      return failure(ErrorKind::kFormat, end, "the zip64 directory is missing");
    }
    record64.take(28);
    count_ = record64.number<std::uint64_t>();
    directory_size_ = record64.number<std::uint64_t>();
    directory_at_ = record64.number<std::uint64_t>();
    if (record64.failed()) return failure(ErrorKind::kFormat, end, "the zip64 directory is cut");
  }
  if (directory_at_ > end || directory_size_ > end - directory_at_ ||
      count_ > directory_size_ / kRowBytes) {
    return failure(ErrorKind::kFormat, end,
                   fmt::format("a zip directory of {} members and {} bytes at byte {} does not fit",
                               count_, directory_size_, directory_at_));
  }
  return true;
}

Result<bool> ZipArchive::check_directory() {
  std::size_t at = directory_at_;
  for (std::size_t i = 0; i < count_; ++i) {
    const std::size_t row_at = at;
    const std::optional<ZipMember> member = row(at);
    if (!member) return failure(ErrorKind::kFormat, row_at, "a broken entry in the zip directory");
    if (!member->readable) continue;
    const bool too_large = member->deflated ? member->size / kMaxDeflateRatio > member->packed_size
                                            : member->size != member->packed_size;
    if (too_large || member->packed_size > file_.bytes.size()) {
      return failure(
          ErrorKind::kHostile, row_at,
          fmt::format("{} claims {} bytes out of {} in a file of {}", printable(member->name),
                      member->size, member->packed_size, file_.bytes.size()));
    }
  }
  return true;
}

// Reads the row at `at` and moves behind it.
std::optional<ZipMember> ZipArchive::row(std::size_t& at) const {
  ByteReader reader(file_.bytes.first(directory_at_ + directory_size_), at);
  const bool is_row = reader.number<std::uint32_t>() == kRowSignature;
  reader.take(4);
  const auto flags = reader.number<std::uint16_t>();
  const auto method = reader.number<std::uint16_t>();
  reader.take(4);
  ZipMember member;
  member.deflated = method == kDeflated;
  member.crc = reader.number<std::uint32_t>();
  member.packed_size = reader.number<std::uint32_t>();
  member.size = reader.number<std::uint32_t>();
  const auto name_size = reader.number<std::uint16_t>();
  const auto extra_size = reader.number<std::uint16_t>();
  const auto comment_size = reader.number<std::uint16_t>();
  reader.take(8);
  member.header_at = reader.number<std::uint32_t>();
  member.name = reader.text(name_size);
  const std::span<const std::byte> extra = reader.take(extra_size);
  reader.take(comment_size);
  if (!is_row || reader.failed()) return std::nullopt;
  member.readable = (flags & kEncrypted) == 0 && (method == kStored || method == kDeflated);
  ByteReader fields(extra);
  while (fields.left() >= 4) {
    const auto id = fields.number<std::uint16_t>();
    ByteReader field(fields.take(fields.number<std::uint16_t>()));
    if (id != kField64) continue;
    for (std::uint64_t* number : {&member.size, &member.packed_size, &member.header_at}) {
      if (*number == kIn64) *number = field.number<std::uint64_t>();
    }
    if (field.failed()) return std::nullopt;
  }
  at = reader.at();
  return member;
}

std::optional<ZipMember> ZipArchive::find(std::string_view name) const {
  std::optional<ZipMember> found;
  each([&](const ZipMember& member) {
    if (member.name == name && !found) found = member;
  });
  return found;
}

Result<std::span<const std::byte>> ZipArchive::packed(const ZipMember& member) const {
  if (!member.readable) {
    return failure(
        ErrorKind::kUnsupported, member.header_at,
        fmt::format("{} is encrypted or packed by an unknown method", printable(member.name)));
  }
  ByteReader header(file_.bytes.first(directory_at_), member.header_at);
  const bool is_header = header.number<std::uint32_t>() == kLocalSignature;
  header.take(22);
  const auto name_size = header.number<std::uint16_t>();
  const auto extra_size = header.number<std::uint16_t>();
  const std::string_view name = header.text(name_size);
  header.take(extra_size);
  const std::span<const std::byte> bytes = header.take(member.packed_size);
  if (!is_header || header.failed() || name != member.name) {
    return failure(ErrorKind::kFormat, member.header_at,
                   fmt::format("{} is not where the zip directory says", printable(member.name)));
  }
  return bytes;
}

Result<MemberBytes> ZipArchive::read(const ZipMember& member, std::size_t max_bytes,
                                     LateChecksum* late) const {
  if (member.size > max_bytes) {
    return failure(ErrorKind::kFormat, member.header_at,
                   fmt::format("{} has {} bytes, more than the {} wanted", printable(member.name),
                               member.size, max_bytes));
  }
  const Result<std::span<const std::byte>> bytes = packed(member);
  if (!bytes) return propagate(bytes);
  MemberBytes content{file_.owner, *bytes};
  if (member.deflated) {
    std::shared_ptr<std::byte[]> memory = inflated_share().take(member.size);
    if (memory == nullptr) {
      return failure(
          ErrorKind::kHostile, member.header_at,
          fmt::format("{} inflates to {} bytes; compressed tensors get {} bytes together, half of "
                      "this machine's memory",
                      printable(member.name), member.size, inflated_share().most_bytes()));
    }
    const std::span<std::byte> out(memory.get(), member.size);
    bool complete = false;
    const std::optional<std::size_t> done = inflate_into(*bytes, out, complete);
    if (done != member.size || !complete) {
      return failure(
          ErrorKind::kFormat, member.header_at,
          fmt::format("{} does not inflate to its {} bytes", printable(member.name), member.size));
    }
    content = {std::move(memory), out};
  }
  const auto damaged = [&] {
    return failure(
        ErrorKind::kFormat, member.header_at,
        fmt::format("{} is damaged: its checksum is not {:08x}", member.name, member.crc));
  };
  if (late != nullptr && !member.deflated) {  // in the file, which stays
    *late = {content.bytes, member.crc, damaged().error().message};
  } else if (crc32(0, content.bytes) != member.crc) {
    return damaged();
  }
  return content;
}

Result<void> ZipArchive::stream(const ZipMember& member,
                                const std::function<void(std::string_view)>& take) const {
  const Result<std::span<const std::byte>> bytes = packed(member);
  if (!bytes) return propagate(bytes);
  std::uint32_t crc = 0;
  std::uint64_t size = 0;
  const auto hand_on = [&](std::span<const std::byte> piece) {
    crc = crc32(crc, piece);
    size += piece.size();
    take({reinterpret_cast<const char*>(piece.data()), piece.size()});
  };
  if (!member.deflated) {
    hand_on(*bytes);
  } else {
    constexpr std::size_t kPiece = std::size_t{1} << 18;
    std::vector<std::byte> out(kPiece);
    InflateStream stream;
    std::span<const std::byte> left = *bytes;
    int status = stream.ready ? Z_OK : Z_MEM_ERROR;
    while (status == Z_OK && size <= member.size) {
      const std::size_t given = std::min<std::size_t>(left.size(), kPiece);
      stream.z.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(left.data()));
      stream.z.avail_in = static_cast<uInt>(given);
      stream.z.next_out = reinterpret_cast<Bytef*>(out.data());
      stream.z.avail_out = static_cast<uInt>(out.size());
      status = inflate(&stream.z, Z_NO_FLUSH);  // Z_OK only where it got further
      left = left.subspan(given - stream.z.avail_in);
      hand_on(std::span(out).first(out.size() - stream.z.avail_out));
    }
    if (status != Z_STREAM_END) size = member.size + 1;
  }
  if (size == member.size && crc == member.crc) return {};
  return failure(ErrorKind::kFormat, member.header_at,
                 fmt::format("{} is damaged", printable(member.name)));
}

Result<std::string> ZipArchive::read_start(const ZipMember& member, std::size_t count) const {
  const Result<std::span<const std::byte>> bytes = packed(member);
  if (!bytes) return propagate(bytes);
  std::string start(std::min<std::uint64_t>(count, member.size), '\0');
  const std::span<std::byte> out = std::as_writable_bytes(std::span(start));
  if (!member.deflated) {
    std::ranges::copy(bytes->first(out.size()), out.begin());
    return start;
  }
  bool complete = false;
  if (inflate_into(*bytes, out, complete) != out.size()) {
    return failure(ErrorKind::kFormat, member.header_at,
                   fmt::format("{} does not inflate", printable(member.name)));
  }
  return start;
}

}  // namespace msprobe::dump
