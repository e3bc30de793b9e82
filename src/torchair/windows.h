// A part of a tensor in memory, for as long as it is needed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/tensor.h"
#include "ge/elements.h"

namespace msprobe::torchair {

// Elements first .. first + count - 1 of a tensor. A mapped file is used where it is: its pages are
// mapped in one call and given back at the end, so that what stays resident is the window, not the
// tensor. Anything else is read into `buffer`.
class Window {
 public:
  Window(const ge::Elements& elements, std::uint64_t first, std::uint64_t count,
         std::vector<std::byte>& buffer);
  ~Window();
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;

  TensorView view() const { return {dtype_, {}, bytes_}; }

 private:
  DType dtype_;
  std::span<const std::byte> bytes_;
  std::span<const std::byte> mapped_;  // whole pages around the window; empty: nothing to give back
};

// One buffer for each side and thread.
std::vector<std::byte>& device_buffer();
std::vector<std::byte>& bench_buffer();

}  // namespace msprobe::torchair
