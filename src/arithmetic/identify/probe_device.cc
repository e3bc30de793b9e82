// SPDX-License-Identifier: Apache-2.0
#include "identify/probe_device.h"

#include <algorithm>

#include <fmt/format.h>

#include "identify/casts.h"
#include "identify/functions.h"
#include "identify/products.h"
#include "identify/reductions.h"

namespace msprobe::identify {
namespace {

using Say = std::function<void(const std::string&)>;

void append(card::Card& card, std::vector<card::Line> lines) {
  std::ranges::move(lines, std::back_inserter(card.lines));
}

constexpr DType kDTypes[] = {DType::kFloat32, DType::kFloat16, DType::kBFloat16};

void probe_products(const Compute& compute, const Say& say, card::Card& card) {
  std::vector<DType> dtypes(std::begin(kDTypes), std::end(kDTypes));
  dtypes.push_back(DType::kFloat8E4M3);
  for (const DType dtype : dtypes) {
    say(fmt::format("products {}", name(dtype)));
    append(card, describe_products(compute, dtype));
  }
}

void probe_casts(const Compute& compute, const Say& say, card::Card& card) {
  say("casts");
  for (const CastPair& pair : cast_pairs()) append(card, describe_cast(compute, pair));
}

void probe_functions(const Compute& compute, const Say& say, card::Card& card) {
  for (const DType dtype : kDTypes) {
    say(fmt::format("functions {}", name(dtype)));
    const std::vector<double> inputs = function_inputs(dtype);
    for (const ReferenceFunction& function : reference_functions()) {
      describe_function(compute, function, dtype, inputs, card);
    }
  }
}

void probe_reductions(const Compute& compute, const Say& say, card::Card& card) {
  for (const DType dtype : kDTypes) {
    say(fmt::format("reductions {}", name(dtype)));
    append(card, describe_reductions(compute, dtype));
  }
}

struct Section {
  std::string_view name;
  void (*probe)(const Compute& compute, const Say& say, card::Card& card);
};
constexpr Section kSections[] = {
    {"products", &probe_products},
    {"casts", &probe_casts},
    {"functions", &probe_functions},
    {"reductions", &probe_reductions},
};

}  // namespace

std::vector<std::string> section_names() {
  std::vector<std::string> names;
  for (const Section& section : kSections) names.emplace_back(section.name);
  return names;
}

card::Card probe_device(const Compute& compute, const std::vector<std::string>& sections,
                        const Say& say) {
  card::Card card;
  for (const Section& section : kSections) {
    if (!sections.empty() && std::ranges::find(sections, section.name) == sections.end()) continue;
    section.probe(compute, say, card);
  }
  return card;
}

}  // namespace msprobe::identify
