#include "torchair/windows.h"

#include <algorithm>

#include <sys/mman.h>
#include <unistd.h>

namespace msprobe::torchair {
namespace {

std::span<const std::byte> whole_pages(std::span<const std::byte> part,
                                       std::span<const std::byte> file) {
  static const auto kPage = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = static_cast<std::size_t>(part.data() - file.data()) / kPage * kPage;
  const std::size_t end = static_cast<std::size_t>(part.data() - file.data()) + part.size();
  return file.subspan(begin, std::min((end + kPage - 1) / kPage * kPage, file.size()) - begin);
}

// Only advice: where a kernel does not know it, the pages come and go one by one.
void advise(std::span<const std::byte> pages, int advice) {
  (void)::madvise(const_cast<std::byte*>(pages.data()), pages.size(), advice);
}

}  // namespace

Window::Window(const ge::Elements& elements, std::uint64_t first, std::uint64_t count,
               std::vector<std::byte>& buffer)
    : dtype_(elements.dtype) {
  const std::size_t size = size_bytes(elements.dtype);
  if (elements.direct()) {
    bytes_ = elements.bytes.subspan(first * size, count * size);
    if (elements.file.mapped && !bytes_.empty()) {
      mapped_ = whole_pages(bytes_, elements.file.bytes);
#ifdef MADV_POPULATE_READ
      advise(mapped_, MADV_POPULATE_READ);
#endif
    }
    return;
  }
  buffer.resize(count * size);
  ge::read_elements(elements, first, count, buffer.data());
  bytes_ = buffer;
  // The elements may come from anywhere in the tensor.
  if (elements.file.mapped) mapped_ = elements.file.bytes;
}

Window::~Window() {
  if (!mapped_.empty()) advise(mapped_, MADV_DONTNEED);
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
