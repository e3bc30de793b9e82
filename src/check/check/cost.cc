// SPDX-License-Identifier: Apache-2.0
#include "check/cost.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "ops/named_call.h"

namespace msprobe::check {
namespace {

// A call's work does not shrink below this, regardless of its shapes: argument building, dispatch.
constexpr double kCallOverhead = 1e4;
constexpr double kMaxElements = 1e15;  // a hostile shape must not overflow the sums

// The product of the numbers in "[2, 3]" at the front of `text`.
double product(std::string_view text) {
  double elements = 1;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at < end && *at != ']') {
    std::int64_t extent = 0;
    const auto [next, error] = std::from_chars(at, end, extent);
    if (error == std::errc()) {
      elements =
          std::min(elements * static_cast<double>(std::max<std::int64_t>(extent, 0)), kMaxElements);
      at = next;
    } else {
      ++at;
    }
  }
  return elements;
}

struct Elements {
  double total = 0;
  double largest = 0;
};

void add_shapes(std::string_view json, Elements& elements) {
  constexpr std::string_view kKey = "\"shape\"";
  for (std::size_t at = json.find(kKey); at != std::string_view::npos; at = json.find(kKey, at)) {
    at += kKey.size();
    const std::size_t open = json.find('[', at);
    if (open == std::string_view::npos) return;
    const double count = product(json.substr(open + 1));
    elements.total += count;
    elements.largest = std::max(elements.largest, count);
    at = open;
  }
}

}  // namespace

double estimate_cost(const dump::CallSlice& call) {
  Elements elements;
  add_shapes(call.forward_json, elements);
  add_shapes(call.backward_json, elements);
  const double factor =
      ops::NamedCall(call.full_name).traits.heavy ? std::sqrt(elements.largest) : 1;
  return kCallOverhead + std::min(elements.total * std::max(factor, 1.0), kMaxElements);
}

}  // namespace msprobe::check
