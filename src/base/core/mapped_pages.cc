// SPDX-License-Identifier: Apache-2.0
#include "core/mapped_pages.h"

#include <algorithm>
#include <cstdint>

#include <sys/mman.h>
#include <unistd.h>

namespace msprobe {
namespace {

// Where the kernel maps large pages, a part should not cut through one.
constexpr std::uintptr_t kLargePage = std::uintptr_t{2} << 20;

// A small file goes as a whole when it is closed: giving its pages back before would interrupt the
// other threads twice.
constexpr std::size_t kSmallFile = std::size_t{8} << 20;

// The pages that `part` touches, whole large ones within the file.
std::span<const std::byte> whole_pages(std::span<const std::byte> part,
                                       std::span<const std::byte> file) {
  static const auto kPage = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto file_begin = reinterpret_cast<std::uintptr_t>(file.data());
  const std::uintptr_t file_end = (file_begin + file.size() + kPage - 1) / kPage * kPage;
  const auto begin = reinterpret_cast<std::uintptr_t>(part.data());
  const std::uintptr_t end = begin + part.size();
  const std::uintptr_t from = std::max(begin / kLargePage * kLargePage, file_begin);
  const std::uintptr_t to = std::min((end + kLargePage - 1) / kLargePage * kLargePage, file_end);
  return {file.data() + (from - file_begin), to - from};
}

// Only advice: where a kernel does not know it, the pages come and go one by one.
void advise(std::span<const std::byte> pages, int advice) {
  (void)::madvise(const_cast<std::byte*>(pages.data()), pages.size(), advice);
}

}  // namespace

void MappedPages::bring(const FileBytes& file, std::span<const std::byte> part, bool is_last) {
  if (!file.mapped || part.empty()) return;
  const std::span<const std::byte> pages = whole_pages(part, file.bytes);
  if (file.bytes.size() > kSmallFile) mapped_.push_back(pages);
#ifdef MADV_POPULATE_READ
  // The last large page is brought in by the next part, which has more of it. It is given back
  // here too: that part may be done with it already, and would else leave it behind.
  const bool has_next = !is_last && pages.size() > kLargePage;
  advise(has_next ? pages.first(pages.size() - kLargePage) : pages, MADV_POPULATE_READ);
#else
  static_cast<void>(is_last);
#endif
}

void MappedPages::give_back(const FileBytes& file) {
  if (!file.mapped || file.bytes.size() <= kSmallFile) return;
  mapped_.push_back(whole_pages(file.bytes, file.bytes));
}

MappedPages::~MappedPages() {
  for (const std::span<const std::byte> pages : mapped_) advise(pages, MADV_DONTNEED);
}

}  // namespace msprobe
