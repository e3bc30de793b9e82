// SPDX-License-Identifier: Apache-2.0
#include "dump/pt.h"

#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "dump/pickle.h"
#include "dump/printable.h"
#include "dump/strided.h"
#include "dump/zip.h"

namespace msprobe::dump {
namespace {

constexpr std::string_view kPickleName = "/data.pkl";
constexpr std::size_t kMaxPickleBytes = 1 << 20;  // one tensor needs some hundred
// What a file begins with that torch.save wrote before it wrote archives: two pickles of numbers.
constexpr std::string_view kLegacyMagic = "\x80\x02\x8a\x0al\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.";

// "archive" of "archive/data.pkl": every member is in that folder.
Result<std::string_view> find_folder(const ZipArchive& archive, std::string_view name) {
  std::optional<std::string_view> folder;
  bool twice = false;
  archive.each([&](const ZipMember& member) {
    if (!member.name.ends_with(kPickleName)) return;
    twice = twice || folder.has_value();
    folder = member.name.substr(0, member.name.size() - kPickleName.size());
  });
  if (!folder || twice) {
    return fail(
        ErrorKind::kFormat,
        fmt::format("{}: {} data.pkl in the archive, expected one: not written by torch.save", name,
                    twice ? "more than one" : "no"));
  }
  return *folder;
}

Result<bool> is_big_endian(const ZipArchive& archive, std::string_view folder,
                           std::string_view name) {
  const std::optional<ZipMember> member = archive.find(fmt::format("{}/byteorder", folder));
  if (!member) return false;
  const Result<MemberBytes> order = archive.read(*member, 16);
  if (!order) return propagate(order);
  if (order->text() == "little") return false;
  if (order->text() == "big") return true;
  return fail(ErrorKind::kFormat, fmt::format("{}: byte order {}, expected little or big", name,
                                              printable(order->text())));
}

Result<PickledTensor> read_description(const FileBytes& file, const ZipArchive& archive,
                                       std::string_view folder, std::string_view name) {
  const std::optional<ZipMember> member = archive.find(fmt::format("{}{}", folder, kPickleName));
  const Result<MemberBytes> pickle = archive.read(*member, kMaxPickleBytes);
  if (!pickle) return propagate(pickle);
  // A stored pickle lies in the file; the places in a deflated one are its own.
  const std::size_t offset =
      member->deflated ? 0 : static_cast<std::size_t>(pickle->bytes.data() - file.bytes.data());
  return read_pickled_tensor(pickle->bytes, name, offset);
}

struct SavedStorage {
  MemberBytes bytes;
  std::uint64_t at = 0;  // where it begins in the file, for messages
};

Result<SavedStorage> read_storage(const ZipArchive& archive, std::string_view folder,
                                  const PickledTensor& tensor, std::string_view name,
                                  LateChecksum* late) {
  const std::string path = fmt::format("{}/data/{}", folder, tensor.storage_key);
  const std::optional<ZipMember> member = archive.find(path);
  if (!member) {
    return fail(ErrorKind::kFormat, fmt::format("{}: no {} in the archive", name, printable(path)));
  }
  if (member->size != tensor.storage_bytes) {
    return fail(ErrorKind::kFormat, fmt::format("{}: byte {}: {} has {} bytes, the pickle says {}",
                                                name, member->header_at, printable(path),
                                                member->size, tensor.storage_bytes));
  }
  Result<MemberBytes> bytes = archive.read(*member, tensor.storage_bytes, late);
  if (!bytes) return propagate(bytes);
  return SavedStorage{*std::move(bytes), member->header_at};
}

}  // namespace

Result<Tensor> read_pt(const FileBytes& file, std::string_view name, LateChecksum* late) {
  if (file.text().starts_with(kLegacyMagic)) {
    return fail(ErrorKind::kUnsupported,
                fmt::format("{}: byte 0: written in the format torch.save had before version 1.6; "
                            "load it and save it again",
                            name));
  }
  const Result<ZipArchive> archive = ZipArchive::open(file, name);
  if (!archive) return propagate(archive);
  const Result<std::string_view> folder = find_folder(*archive, name);
  if (!folder) return propagate(folder);
  Result<PickledTensor> described = read_description(file, *archive, *folder, name);
  if (!described) return propagate(described);
  const Result<bool> big_endian = is_big_endian(*archive, *folder, name);
  if (!big_endian) return propagate(big_endian);
  Result<SavedStorage> storage = read_storage(*archive, *folder, *described, name, late);
  if (!storage) return propagate(storage);
  const std::string place = fmt::format("{}: byte {}", name, storage->at);
  Result<Tensor> tensor = to_tensor(
      {described->dtype, std::move(described->shape), std::move(described->strides),
       described->offset, *big_endian, std::move(storage->bytes.owner), storage->bytes.bytes},
      place);
  if (tensor && described->conjugated) tensor = negated(*tensor, true, place);
  if (tensor && described->negated) tensor = negated(*tensor, false, place);
  return tensor;
}

}  // namespace msprobe::dump
