#include "torchair/windows.h"

#include <sys/mman.h>
#include <unistd.h>

namespace msprobe::torchair {
namespace {

// Where the kernel maps large pages, a window should not cut through one.
constexpr std::uintptr_t kLargePage = std::uintptr_t{2} << 20;

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

Window::Window(const ge::Elements& elements, std::uint64_t first, std::uint64_t count) {
  if (!elements.file.mapped || count == 0) return;
  if (!elements.direct()) {
    // The elements may come from anywhere in the tensor.
    mapped_ = whole_pages(elements.file.bytes, elements.file.bytes);
    return;
  }
  const std::size_t size = size_bytes(elements.dtype);
  mapped_ = whole_pages(elements.bytes.subspan(first * size, count * size), elements.file.bytes);
#ifdef MADV_POPULATE_READ
  // The last large page is brought in by the window that has more of it. It is given back here too:
  // that window may be done with it already, and would else leave it behind.
  const bool has_more = mapped_.size() > kLargePage;
  advise(has_more ? mapped_.first(mapped_.size() - kLargePage) : mapped_, MADV_POPULATE_READ);
#endif
}

Window::~Window() {
  if (!mapped_.empty()) advise(mapped_, MADV_DONTNEED);
}

TensorView view_of(const ge::Elements& elements, std::uint64_t first, std::uint64_t count,
                   std::vector<std::byte>& buffer) {
  const std::size_t size = size_bytes(elements.dtype);
  if (elements.direct()) {
    return {elements.dtype, {}, elements.bytes.subspan(first * size, count * size)};
  }
  buffer.resize(count * size);
  ge::read_elements(elements, first, count, buffer.data());
  return {elements.dtype, {}, buffer};
}

std::vector<std::byte>& device_buffer() {
  static thread_local std::vector<std::byte> buffer;
  return buffer;
}

std::vector<std::byte>& bench_buffer() {
  static thread_local std::vector<std::byte> buffer;
  return buffer;
}

}  // namespace msprobe::torchair
