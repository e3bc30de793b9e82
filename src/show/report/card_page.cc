// SPDX-License-Identifier: Apache-2.0
#include "report/card_page.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "card/summary.h"
#include "report/junit.h"
#include "report/page.h"

namespace msprobe::report {
namespace {

using card::Card;
using card::Confidence;
using card::Curve;
using card::Line;

constexpr std::string_view kCardHead =
    "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
    "<title>msprobe: card of a device</title>\n";

// In the order of their first lines.
std::vector<std::string> distinct_of(const std::vector<const Line*>& lines,
                                     std::string Line::* part) {
  std::vector<std::string> found;
  for (const Line* line : lines) {
    if (std::ranges::find(found, line->*part) == found.end()) found.push_back(line->*part);
  }
  return found;
}

std::string claim_cell(const Line* line) {
  if (line == nullptr) return "<td></td>";
  const std::string value = line->value.empty() ? "cannot tell" : line->value;
  const std::string sure = line->value.empty() || line->confidence == Confidence::kHigh
                               ? ""
                               : fmt::format(" ({})", name(line->confidence));
  return fmt::format(
      "<td><details><summary class=\"sure-{0}\">{1}{2}</summary><p>{3}</p><p>confidence: "
      "{0}</p></details></td>",
      name(line->confidence), xml_text(value), sure,
      line->evidence.empty() ? "no evidence" : xml_text(line->evidence));
}

// The longer list goes downward.
void add_section(const Card& card, const std::string& section, std::string& out) {
  std::vector<const Line*> lines;
  for (const Line& line : card.lines) {
    if (line.section == section) lines.push_back(&line);
  }
  const std::vector<std::string> subjects = distinct_of(lines, &Line::subject);
  const std::vector<std::string> fields = distinct_of(lines, &Line::field);
  const bool by_subject = subjects.size() > fields.size();
  const std::vector<std::string>& down = by_subject ? subjects : fields;
  const std::vector<std::string>& across = by_subject ? fields : subjects;
  fmt::format_to(std::back_inserter(out),
                 "<section class=\"card-part\"><h2>{0}</h2>\n<div class=\"card-scroll\" "
                 "tabindex=\"0\" role=\"region\" aria-label=\"{0}\"><table><thead><tr><td></td>",
                 xml_text(section));
  for (const std::string& title : across) {
    out += fmt::format("<th scope=\"col\">{}</th>", xml_text(title));
  }
  out += "</tr></thead><tbody>\n";
  for (const std::string& row : down) {
    out += fmt::format("<tr><th scope=\"row\">{}</th>", xml_text(row));
    for (const std::string& column : across) {
      out += claim_cell(
          card::find(card, section, by_subject ? row : column, by_subject ? column : row));
    }
    out += "</tr>\n";
  }
  out += "</tbody></table></div></section>\n";
}

// Where a number lies among all numbers of its dtype: by its bits.
struct Tick {
  int bits;
  std::string_view text;
};
struct Axis {
  std::string_view dtype;
  int most;                 // bits of the largest number
  std::vector<Tick> ticks;  // of positive numbers
};

const Axis* axis_of(std::string_view subject) {
  static const std::vector<Axis> axes = {
      {"float16", 0x7bff, {{0x1c00, "2^-8"}, {0x3c00, "1"}, {0x5c00, "256"}, {0x7bff, "65504"}}},
      {"bfloat16", 0x7f7f, {{0x1f80, "2^-64"}, {0x3f80, "1"}, {0x5f80, "2^64"}, {0x7f7f, "3e38"}}},
  };
  for (const Axis& axis : axes) {
    if (subject.ends_with(fmt::format(" {}", axis.dtype))) return &axis;
  }
  return nullptr;
}

// The plane of one plot, in units of its view box.
constexpr double kWidth = 440, kLeft = 44, kRight = 434, kTop = 8, kBottom = 104, kHeight = 122;
constexpr double kLeastUlp = 0.125;  // what is smaller lies on the axis

class Plot {
 public:
  Plot(const Curve& curve, const Axis& axis) : curve_(curve), axis_(axis) {
    for (const double error : curve.largest) {
      if (std::isfinite(error)) most_ = std::max(most_, error);
    }
    most_ = std::exp2(std::ceil(std::log2(most_)));
  }

  std::string text() const {
    std::string out = fmt::format(
        "<figure><figcaption>{0}</figcaption><svg viewBox=\"0 0 {1} {2}\" role=\"img\" "
        "aria-label=\"{0}: largest error in ulp for every input\">\n",
        xml_text(curve_.subject), kWidth, kHeight);
    add_grid(out);
    out += fmt::format("<path class=\"error\" d=\"{}\"/>\n</svg></figure>\n", path());
    return out;
  }

 private:
  double x_of(double share) const { return kLeft + share * (kRight - kLeft); }
  double y_of(double error) const {
    const double share =
        std::log2(std::max(error, kLeastUlp) / kLeastUlp) / std::log2(most_ / kLeastUlp);
    return kBottom - share * (kBottom - kTop);
  }

  void add_grid(std::string& out) const {
    const auto steps = static_cast<int>(std::log2(most_ / kLeastUlp));
    const int step = std::max(1, (steps + 3) / 4);
    for (int power = 0; power <= steps; power += step) {
      const double error = std::ldexp(kLeastUlp, power);
      fmt::format_to(std::back_inserter(out),
                     "<line class=\"grid\" x1=\"{0}\" x2=\"{1}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\"/>"
                     "<text x=\"{3}\" y=\"{4:.1f}\" text-anchor=\"end\">{5}{6:.3g}</text>\n",
                     kLeft, kRight, y_of(error), kLeft - 4, y_of(error) + 3,
                     power == 0 ? "&lt; " : "", error);
    }
    fmt::format_to(std::back_inserter(out),
                   "<line class=\"half\" x1=\"{0}\" x2=\"{1}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\"/>\n",
                   kLeft, kRight, y_of(0.5));
    add_tick(0, "0", out);
    for (const Tick& tick : axis_.ticks) {
      add_tick(tick.bits, tick.text, out);
      add_tick(-tick.bits, fmt::format("-{}", tick.text), out);
    }
  }

  void add_tick(int bits, std::string_view title, std::string& out) const {
    const double share = (static_cast<double>(bits) / axis_.most + 1) / 2;
    const std::string_view anchor = share == 0 ? "start" : share == 1 ? "end" : "middle";
    fmt::format_to(std::back_inserter(out),
                   "<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"{}\">{}</text>\n", x_of(share),
                   kHeight - 4, anchor, title);
  }

  // A line for each run of parts that have a finite result.
  std::string path() const {
    std::string out;
    bool drawing = false;
    const auto count = static_cast<double>(curve_.largest.size());
    for (std::size_t at = 0; at < curve_.largest.size(); ++at) {
      const double error = curve_.largest[at];
      const bool there = std::isfinite(error) && error >= 0;
      if (there) {
        const double left = x_of(static_cast<double>(at) / count);
        const double right = x_of(static_cast<double>(at + 1) / count);
        fmt::format_to(std::back_inserter(out), "{}{:.1f} {:.1f}H{:.1f}", drawing ? "L" : "M", left,
                       y_of(error), right);
      }
      drawing = there;
    }
    return out;
  }

  const Curve& curve_;
  const Axis& axis_;
  double most_ = 1;
};

void add_curves(const Card& card, std::string& out) {
  std::string plots;
  for (const Curve& curve : card.curves) {
    const Axis* axis = axis_of(curve.subject);
    if (axis != nullptr && !curve.largest.empty()) plots += Plot(curve, *axis).text();
  }
  if (plots.empty()) return;
  out +=
      "<section class=\"card-part\"><h2>Errors over the whole range</h2>\n<p class=\"note\">Every "
      "finite number of the dtype, from the lowest to the highest in the order of its bits, in 256 "
      "equal parts: the largest error of each part in ulp. Correctly rounded results are at most "
      "half an ulp off (dashed). A gap: no finite and normal result.</p>\n<div class=\"curves\">\n";
  out += plots + "</div></section>\n";
}

void add_summary(const Card& card, std::string& out) {
  const std::vector<std::string> sentences = card::summary(card);
  if (sentences.empty()) return;
  out += "<section class=\"card-part\"><h2>In short</h2>\n";
  for (const std::string& sentence : sentences) out += "<p>" + xml_text(sentence) + "</p>\n";
  out += "</section>\n";
}

}  // namespace

std::string card_page(const Card& card) {
  std::string out(kCardHead);
  fmt::format_to(std::back_inserter(out),
                 "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                 "style-src {} {}\">\n<style>{}</style>\n<style>{}</style>\n",
                 policy_source(kPageStyle), policy_source(kCardStyle), kPageStyle.text,
                 kCardStyle.text);
  fmt::format_to(std::back_inserter(out),
                 "</head>\n<body>\n<header class=\"top\"><h1>Card of {}</h1><p "
                 "class=\"note\">PyTorch {}, msprobe {}. Open a value to see what it rests "
                 "on.</p></header>\n<main>\n",
                 xml_text(card.device), xml_text(card.torch), xml_text(card.msprobe));
  add_summary(card, out);
  std::vector<const Line*> lines;
  for (const Line& line : card.lines) lines.push_back(&line);
  for (const std::string& section : distinct_of(lines, &Line::section))
    add_section(card, section, out);
  add_curves(card, out);
  return out + "</main>\n</body>\n</html>\n";
}

}  // namespace msprobe::report
