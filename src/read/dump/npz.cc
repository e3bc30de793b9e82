// SPDX-License-Identifier: Apache-2.0
// The archive around .npy files.
#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "dump/npy.h"
#include "dump/printable.h"
#include "dump/zip.h"

namespace msprobe::dump {
namespace {

constexpr std::string_view kSuffix = ".npy";
constexpr std::size_t kHeaderBytes = (1 << 16) + 12;  // enough for every header that is read

}  // namespace

Result<std::vector<std::string>> list_npz(const FileBytes& file, std::string_view name) {
  const Result<ZipArchive> archive = ZipArchive::open(file, name);
  if (!archive) return propagate(archive);
  std::vector<std::string> arrays;
  archive->each([&](const ZipMember& member) {
    if (!member.name.ends_with(kSuffix)) return;
    arrays.emplace_back(member.name.substr(0, member.name.size() - kSuffix.size()));
  });
  return arrays;
}

Result<Tensor> read_npz(const FileBytes& file, std::string_view array, std::string_view name) {
  const Result<ZipArchive> archive = ZipArchive::open(file, name);
  if (!archive) return propagate(archive);
  const std::string place = fmt::format("{}: {}", name, printable(array));
  const std::optional<ZipMember> member = archive->find(fmt::format("{}{}", array, kSuffix));
  if (!member) return fail(ErrorKind::kFormat, fmt::format("{} is not in the archive", place));
  // The header first: the size the directory claims must be the one the shape needs.
  const Result<std::string> start = archive->read_start(*member, kHeaderBytes);
  if (!start) return propagate(start);
  const Result<NpyHeader> header = read_npy_header(*start, place);
  if (!header) return propagate(header);
  if (member->size < header->data_at || member->size - header->data_at != header->data_bytes) {
    return fail(ErrorKind::kFormat,
                fmt::format("{}: byte {}: {} bytes after a header of {}, which promises {}", place,
                            member->header_at, member->size, header->data_at, header->data_bytes));
  }
  const Result<MemberBytes> bytes = archive->read(*member, member->size);
  if (!bytes) return propagate(bytes);
  return read_npy(*bytes, place);
}

}  // namespace msprobe::dump
