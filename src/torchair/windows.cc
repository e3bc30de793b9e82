#include "torchair/windows.h"

#include <sys/mman.h>
#include <unistd.h>

namespace msprobe::torchair {
namespace {

// Where the kernel maps large pages, a window should not cut through one.
constexpr std::uintptr_t kLargePage = std::uintptr_t{2} << 20;

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

Window::Window(const ge::Elements& elements, std::uint64_t first, std::uint64_t count) {
  if (count == 0) return;
  if (elements.pieces.empty()) bring(elements, first, count);
  // Rows that begin before the window or end behind it are brought whole, unless there is only one.
  const std::uint64_t last = first + count - 1;
  for (const ge::Piece& piece : elements.pieces) {
    const std::uint64_t all = piece.elements.count;
    std::uint64_t from = elements.offsets.empty() ? first / elements.row * piece.run : 0;
    std::uint64_t to = elements.offsets.empty() ? (last / elements.row + 1) * piece.run : all;
    if (piece.run == all && elements.offsets.empty()) {
      from = std::clamp(first, piece.start, piece.start + all) - piece.start;
      to = std::clamp(last + 1, piece.start, piece.start + all) - piece.start;
    }
    if (to > from) bring(piece.elements, from, to - from);
  }
}

void Window::bring(const ge::Elements& elements, std::uint64_t first, std::uint64_t count) {
  if (!elements.file.mapped) return;
  // A small file goes as a whole when it is closed: giving its pages back before would interrupt
  // the other threads twice.
  const bool is_small = elements.file.bytes.size() <= kSmallFile;
  if (!elements.direct()) {
    if (is_small) return;
    // The elements may come from anywhere in the tensor.
    mapped_.push_back(whole_pages(elements.file.bytes, elements.file.bytes));
    return;
  }
  const std::size_t size = size_bytes(elements.dtype);
  const std::span<const std::byte> pages =
      whole_pages(elements.bytes.subspan(first * size, count * size), elements.file.bytes);
  if (!is_small) mapped_.push_back(pages);
#ifdef MADV_POPULATE_READ
  // The last large page is brought in by the next window, which has more of it. It is given back
  // here too: that window may be done with it already, and would else leave it behind.
  const bool has_next = first + count < elements.count && pages.size() > kLargePage;
  advise(has_next ? pages.first(pages.size() - kLargePage) : pages, MADV_POPULATE_READ);
#endif
}

Window::~Window() {
  for (const std::span<const std::byte> pages : mapped_) advise(pages, MADV_DONTNEED);
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
