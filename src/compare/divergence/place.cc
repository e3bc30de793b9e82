// SPDX-License-Identifier: Apache-2.0
#include "divergence/place.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "core/call_command.h"
#include "core/call_name.h"
#include "dump/entry_name.h"

namespace msprobe::divergence {
namespace {

// A frame is "File train.py, line 31, in forward, \n y = x @ w".
bool is_in_library(std::string_view frame) {
  constexpr std::array<std::string_view, 4> kLibraries{"site-packages", "dist-packages",
                                                       "/torch/nn/", "/lib/python"};
  const std::string_view path = frame.substr(0, frame.find(", line"));
  return std::ranges::any_of(kLibraries, [path](std::string_view library) {
    return path.find(library) != std::string_view::npos;
  });
}

std::string one_line(std::string_view text) {
  std::string line;
  for (const char c : text) {
    const bool space = c == ' ' || c == '\n' || c == '\r' || c == '\t';
    if (static_cast<unsigned char>(c) < 0x20 && !space) continue;
    if (!space)
      line += c;
    else if (!line.empty() && line.back() != ' ')
      line += ' ';
  }
  while (line.ends_with(' ')) line.pop_back();
  return line;
}

}  // namespace

void PlaceFinder::open() {
  if (opened_) return;
  opened_ = true;
  const std::filesystem::path directory = dump_.parent_path();
  const auto keep = [](auto& place, auto opened) {
    using Index = typename decltype(opened)::value_type;
    if (opened) place = std::make_shared<const Index>(*std::move(opened));
  };
  if (!open_.stacks) keep(open_.stacks, dump::open_stacks(directory / "stack.json"));
  if (!open_.modules) keep(open_.modules, dump::open_construct(directory / "construct.json"));
}

CallPlace PlaceFinder::find(std::string_view entry) {
  open();
  CallPlace place;
  const std::optional<dump::EntryName> name = dump::parse_entry_name(entry);
  if (!name) return place;
  const bool numbered = !name->number.empty();  // a name that is not made like others has none
  const std::string call =
      numbered ? fmt::format("{}.{}", name->owner, name->number) : std::string(name->owner);
  // Only forward calls have frames; a backward call is found by its forward call's.
  const std::string forward = name->is_module
                                  ? fmt::format("{}.forward.{}", name->owner, name->number)
                                  : fmt::format("{}.forward", call);
  if (open_.stacks)
    place.stack = open_.stacks->frames(forward).value_or(std::vector<std::string>());
  const auto own = std::ranges::find_if_not(place.stack, is_in_library);
  if (own != place.stack.end())
    place.source = one_line(*own);
  else if (!place.stack.empty())
    place.source = one_line(place.stack.front());
  if (open_.modules) place.module = open_.modules->parent(entry);
  if (open_.modules && place.module.empty()) place.module = open_.modules->parent(forward);
  if (!name->is_module && !name->owner.starts_with("Distributed.") &&
      !name->owner.starts_with("MintDistributed.")) {
    place.rerun = CallCommand("acc_check").add("-api_info", dump_.string()).text_for(call);
  }
  return place;
}

}  // namespace msprobe::divergence
