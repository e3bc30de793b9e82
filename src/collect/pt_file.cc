// SPDX-License-Identifier: Apache-2.0
#include "collect/pt_file.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include "collect/io_failure.h"
#include "core/crc32.h"
#include "core/npy_header.h"

namespace msprobe::collect {
namespace {

// The legacy storage class of a dtype; newer dtypes have none and are told by name.
std::string_view storage_class(DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
      return "FloatStorage";
    case DType::kFloat16:
      return "HalfStorage";
    case DType::kBFloat16:
      return "BFloat16Storage";
    case DType::kFloat64:
      return "DoubleStorage";
    case DType::kInt64:
      return "LongStorage";
    case DType::kInt32:
      return "IntStorage";
    case DType::kInt16:
      return "ShortStorage";
    case DType::kInt8:
      return "CharStorage";
    case DType::kUInt8:
      return "ByteStorage";
    case DType::kBool:
      return "BoolStorage";
    case DType::kComplex64:
      return "ComplexFloatStorage";
    case DType::kComplex128:
      return "ComplexDoubleStorage";
    default:
      return {};
  }
}

// Little-endian bytes of the formats below.
class Bytes {
 public:
  Bytes& u16(std::uint64_t value) { return number(value, 2); }
  Bytes& u32(std::uint64_t value) { return number(value, 4); }
  Bytes& u64(std::uint64_t value) { return number(value, 8); }
  Bytes& text(std::string_view value) {
    text_ += value;
    return *this;
  }
  const std::string& str() const { return text_; }

 private:
  Bytes& number(std::uint64_t value, int count) {
    for (int i = 0; i < count; ++i) text_ += static_cast<char>((value >> (8 * i)) & 0xffU);
    return *this;
  }
  std::string text_;
};

// Pickle, protocol 2, of a tensor whose storage is member data/0.
class Pickle {
 public:
  std::string tensor(DType dtype, std::span<const std::int64_t> shape, std::size_t size) {
    const std::string_view storage = storage_class(dtype);
    out_.text("\x80\x02");
    global("torch._utils", storage.empty() ? "_rebuild_tensor_v3" : "_rebuild_tensor_v2");
    out_.text("((");
    string("storage");
    if (storage.empty()) {
      global("torch.storage", "UntypedStorage");
    } else {
      global("torch", storage);
    }
    string("0");
    string("cpu");
    integer(static_cast<std::int64_t>(storage.empty() ? size : size / size_bytes(dtype)));
    out_.text("tQ");  // the persistent id
    integer(0);
    integers(shape);
    std::vector<std::int64_t> strides(shape.size(), 1);
    for (std::size_t d = shape.size(); d-- > 1;) {
      strides[d - 1] = strides[d] * std::max<std::int64_t>(shape[d], 1);
    }
    integers(strides);
    out_.text("\x89");  // requires_grad = False
    global("collections", "OrderedDict");
    out_.text(")R");
    if (storage.empty()) global("torch", name(dtype));
    out_.text("tR.");
    return out_.str();
  }

 private:
  void global(std::string_view module, std::string_view what) {
    out_.text("c").text(module).text("\n").text(what).text("\n");
  }
  void string(std::string_view value) { out_.text("X").u32(value.size()).text(value); }
  void integer(std::int64_t value) {
    if (value >= 0 && value <= 0x7fffffff) {
      out_.text("J").u32(static_cast<std::uint64_t>(value));
    } else {
      out_.text("\x8a\x08").u64(static_cast<std::uint64_t>(value));  // LONG1 of eight bytes
    }
  }
  void integers(std::span<const std::int64_t> values) {
    out_.text("(");
    for (const std::int64_t value : values) integer(value);
    out_.text("t");
  }
  Bytes out_;
};

struct Member {
  std::string name;
  std::uint64_t size = 0;
  std::uint32_t crc = 0;
  std::uint64_t offset = 0;  // of its local header
};

constexpr std::uint64_t kMax32 = 0xffffffff;
constexpr std::uint64_t kAlignment = 64;  // of every member's bytes, as PyTorch lays them

bool needs_zip64(const Member& member) { return member.size >= kMax32 || member.offset >= kMax32; }

Bytes& common_fields(Bytes& out, const Member& member, std::uint64_t extra_size) {
  const std::uint64_t size = needs_zip64(member) ? kMax32 : member.size;
  out.u16(0).u16(0).u16(0).u16(0x0021);  // flags, stored, 1980-01-01 00:00
  return out.u32(member.crc).u32(size).u32(size).u16(member.name.size()).u16(extra_size);
}

std::string local_header(const Member& member) {
  Bytes zip64;
  if (needs_zip64(member)) zip64.u16(1).u16(16).u64(member.size).u64(member.size);
  // The padding field "FB" of PyTorch moves the bytes to an aligned place.
  const std::uint64_t end = member.offset + 30 + member.name.size() + zip64.str().size() + 4;
  const std::uint64_t padding = (kAlignment - end % kAlignment) % kAlignment;
  Bytes out;
  out.text("PK\x03\x04").u16(needs_zip64(member) ? 45 : 20);
  common_fields(out, member, zip64.str().size() + 4 + padding);
  out.text(member.name).text(zip64.str()).text("FB").u16(padding);
  return out.text(std::string(padding, 'Z')).str();
}

std::string central_entry(const Member& member) {
  Bytes zip64;
  if (needs_zip64(member))
    zip64.u16(1).u16(24).u64(member.size).u64(member.size).u64(member.offset);
  Bytes out;
  out.text("PK\x01\x02").u16(0).u16(needs_zip64(member) ? 45 : 20);
  common_fields(out, member, zip64.str().size());
  out.u16(0).u16(0).u16(0).u32(0).u32(needs_zip64(member) ? kMax32 : member.offset);
  return out.text(member.name).text(zip64.str()).str();
}

std::string end_of_archive(std::size_t count, std::uint64_t offset, std::uint64_t size) {
  Bytes out;
  if (offset >= kMax32) {
    out.text("PK\x06\x06").u64(44).u16(45).u16(45).u32(0).u32(0).u64(count).u64(count);
    out.u64(size).u64(offset);
    out.text("PK\x06\x07").u32(0).u64(offset + size).u32(1);
  }
  out.text("PK\x05\x06").u16(0).u16(0).u16(count).u16(count).u32(size);
  return out.u32(std::min(offset, kMax32)).u16(0).str();
}

std::span<const std::byte> as_bytes(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

struct Archive {
  std::vector<std::string> texts;  // own what is not the tensor's
  std::vector<std::span<const std::byte>> pieces;
};

Archive make_archive(std::string_view pickle, std::span<const std::byte> bytes, std::uint32_t crc) {
  struct Content {
    std::string_view name;
    std::span<const std::byte> bytes;
    std::uint32_t crc;
  };
  const auto text = [](std::string_view name, std::string_view content) {
    return Content{name, as_bytes(content), crc32(content)};
  };
  const Content contents[] = {text("archive/data.pkl", pickle),
                              text("archive/byteorder", "little"),
                              {"archive/data/0", bytes, crc},
                              text("archive/version", "3\n")};
  Archive archive;
  archive.texts.reserve(std::size(contents) + 1);  // the pieces point into its strings
  std::string directory;
  std::uint64_t offset = 0;
  for (const Content& content : contents) {
    const Member member{std::string(content.name), content.bytes.size(), content.crc, offset};
    archive.texts.push_back(local_header(member));
    directory += central_entry(member);
    offset += archive.texts.back().size();
    offset += content.bytes.size();
    archive.pieces.push_back(as_bytes(archive.texts.back()));
    archive.pieces.push_back(content.bytes);
  }
  archive.texts.push_back(directory +
                          end_of_archive(std::size(contents), offset, directory.size()));
  archive.pieces.push_back(as_bytes(archive.texts.back()));
  return archive;
}

Result<void> write_pieces(int fd, const std::string& path,
                          std::vector<std::span<const std::byte>> pieces) {
  std::size_t first = 0;
  while (first < pieces.size()) {
    std::vector<iovec> vectors;
    for (std::size_t i = first; i < pieces.size(); ++i) {
      vectors.push_back({const_cast<std::byte*>(pieces[i].data()), pieces[i].size()});
    }
    const ssize_t written = ::writev(fd, vectors.data(), static_cast<int>(vectors.size()));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return io_failure(path);
    auto rest = static_cast<std::size_t>(written);
    while (first < pieces.size() && rest >= pieces[first].size()) rest -= pieces[first++].size();
    if (first < pieces.size()) pieces[first] = pieces[first].subspan(rest);
  }
  return {};
}

Result<void> write_file(const std::string& path,
                        const std::vector<std::span<const std::byte>>& pieces) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0640);
  if (fd < 0) return io_failure(path);
  Result<void> written = write_pieces(fd, path, pieces);
  if (::close(fd) != 0 && written) written = io_failure(path);
  if (!written) ::unlink(path.c_str());  // a part of a file helps nobody, and the disk may be full
  return written;
}

}  // namespace

Result<void> write_pt(const std::string& path, DType dtype, std::span<const std::int64_t> shape,
                      std::span<const std::byte> bytes, std::uint32_t crc) {
  const std::string pickle = Pickle().tensor(dtype, shape, bytes.size());
  return write_file(path, make_archive(pickle, bytes, crc).pieces);
}

Result<void> write_npy(const std::string& path, DType dtype, std::span<const std::int64_t> shape,
                       std::span<const std::byte> bytes) {
  const std::string header = npy_header(dtype, shape);
  return write_file(path, {as_bytes(header), bytes});
}

}  // namespace msprobe::collect
