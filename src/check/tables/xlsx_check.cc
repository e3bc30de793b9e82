// SPDX-License-Identifier: Apache-2.0
#include "tables/xlsx_check.h"

#include <algorithm>
#include <utility>

#include "core/file.h"
#include "dump/zip.h"

namespace msprobe::tables {
namespace {

constexpr std::string_view kSheets = "xl/worksheets/sheet";

}  // namespace

void XmlScan::take(std::string_view piece) {
  while (!piece.empty()) {
    const std::size_t at = piece.find(in_tag_ ? '>' : '<');
    const std::string_view part = piece.substr(0, at);
    if (in_tag_) tag_ += part;
    if (at == std::string_view::npos) return;
    piece.remove_prefix(at + 1);
    if (in_tag_) end_tag();
    in_tag_ = !in_tag_;
  }
}

void XmlScan::end_tag() {
  const std::string tag = std::exchange(tag_, {});
  if (tag.empty() || tag.find('<') != std::string::npos) {
    good_ = false;
    return;
  }
  if (tag.front() == '?') return;
  const bool closes = tag.front() == '/';
  const std::size_t start = closes ? 1 : 0;
  const std::string name = tag.substr(start, tag.find_first_of(" /", start) - start);
  if (closes) {
    good_ = good_ && !open_.empty() && open_.back() == name;
    if (good_) open_.pop_back();
    return;
  }
  if (seen_ && open_.empty()) good_ = false;  // a second root
  seen_ = true;
  if (name == "row") ++rows_;
  if (name == "c") ++cells_;
  if (tag.back() != '/') open_.push_back(name);
}

Result<void> check_spreadsheet(const std::filesystem::path& path, std::uint64_t rows,
                               std::uint64_t cells) {
  const Result<FileBytes> file = load_file(path);
  if (!file) return propagate(file);
  const Result<dump::ZipArchive> archive = dump::ZipArchive::open(*file, "spreadsheet");
  if (!archive) return propagate(archive);
  Result<void> whole;
  archive->each([&](const dump::ZipMember& member) {
    if (!whole) return;
    XmlScan scan;
    whole = archive->stream(member, [&](std::string_view piece) { scan.take(piece); });
    if (whole && !scan.is_whole()) {
      whole = fail(ErrorKind::kIo, std::string(member.name) + " is not complete");
    }
    if (!member.name.starts_with(kSheets)) return;
    rows -= std::min(rows, scan.rows());
    cells -= std::min(cells, scan.cells());
  });
  if (whole && (rows != 0 || cells != 0)) {
    whole = fail(ErrorKind::kIo, "rows are missing");
  }
  return whole;
}

}  // namespace msprobe::tables
