// SPDX-License-Identifier: Apache-2.0
#include "collect/pt_file.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/uio.h>
#include <unistd.h>

#include "collect/io_failure.h"
#include "core/crc32.h"
#include "core/little_endian.h"
#include "core/new_file.h"
#include "core/npy_header.h"
#include "core/stored_zip.h"

namespace msprobe::collect {
namespace {

// The legacy storage class of a dtype; newer dtypes have none and are written by name.
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
  LittleEndian out_;
};

constexpr std::uint64_t kAlignment = 64;  // of every member's bytes, as PyTorch lays them

std::span<const std::byte> as_bytes(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
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
  Descriptor file = create_in_place(path);
  if (!file) return io_failure(path);
  Result<void> written = write_pieces(file.get(), path, pieces);
  if (!file.close() && written) written = io_failure(path);
  if (!written) ::unlink(path.c_str());  // a part of a file helps nobody, and the disk may be full
  return written;
}

}  // namespace

Result<void> write_pt(const std::string& path, DType dtype, std::span<const std::int64_t> shape,
                      std::span<const std::byte> bytes, std::uint32_t crc) {
  const std::string pickle = Pickle().tensor(dtype, shape, bytes.size());
  const auto text = [](std::string name, std::string_view content) {
    return StoredMember{std::move(name), as_bytes(content), crc32(content)};
  };
  const StoredMember members[] = {text("archive/data.pkl", pickle),
                                  text("archive/byteorder", "little"),
                                  {"archive/data/0", bytes, crc},
                                  text("archive/version", "3\n")};
  return write_file(path, make_stored_zip(members, kAlignment).pieces);
}

Result<void> write_npy(const std::string& path, DType dtype, std::span<const std::int64_t> shape,
                       std::span<const std::byte> bytes) {
  const std::string header = npy_header(dtype, shape);
  return write_file(path, {as_bytes(header), bytes});
}

}  // namespace msprobe::collect
