// SPDX-License-Identifier: Apache-2.0
#include "terminal/layout.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "core/visible_text.h"

namespace msprobe::terminal {
namespace {

constexpr std::array<std::string_view, 6> kCodes{"", "31", "33", "32", "1", "2"};

// Words go on lines as they fit; one that is wider than a line has its own line.
class Lines {
 public:
  Lines(std::size_t indent, const Style& style) : indent_(indent), style_(style) {}

  // The text must not be split.
  void put(std::string_view text, Paint paint, std::size_t gap) {
    const std::size_t width = shown_width(text);
    if (column_ > 0 && column_ + gap + width > style_.columns) {
      text_ += '\n';
      text_.append(indent_, ' ');
      column_ = indent_;
    } else if (column_ > 0) {
      text_.append(gap, ' ');
      column_ += gap;
    }
    text_ += painted(text, paint, style_.colour);
    column_ += width;
  }

  void put_words(std::string_view text, Paint paint, std::size_t gap) {
    while (!text.empty()) {
      const std::size_t end = std::min(text.find(' '), text.size());
      if (end > 0) put(text.substr(0, end), paint, std::exchange(gap, 1));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
  }

  std::string take() { return std::move(text_) + "\n"; }

 private:
  std::size_t indent_;
  const Style& style_;
  std::size_t column_ = 0;
  std::string text_;
};

}  // namespace

std::size_t shown_width(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

std::string painted(std::string_view text, Paint paint, bool colour) {
  const std::string_view code = kCodes[static_cast<std::size_t>(paint)];
  if (!colour || code.empty()) return visible_line(text);
  return fmt::format("\033[{}m{}\033[0m", code, visible_line(text));
}

std::string flow(std::span<const Field> fields, std::size_t gap, std::size_t indent,
                 const Style& style) {
  Lines lines(indent, style);
  for (const Field& field : fields) {
    if (field.text.empty()) continue;
    // Messages of several lines become one, which is wrapped as it fits.
    std::string text = field.text;
    std::ranges::replace(text, '\n', ' ');
    text = visible_line(text);
    const bool fits = indent + shown_width(text) <= style.columns;
    if (fits) {
      lines.put(text, field.paint, gap);
    } else {
      lines.put_words(text, field.paint, gap);
    }
  }
  return lines.take();
}

}  // namespace msprobe::terminal
