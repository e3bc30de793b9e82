// SPDX-License-Identifier: Apache-2.0
#include "documented/skip_message.h"

#include <fmt/format.h>

#include "core/call_name.h"

namespace msprobe::documented {
namespace {

constexpr std::string_view kUnsafeNameText = "api name contains special characters, please check!";
constexpr std::string_view kNotSupportedEnd = " not support for acc_check. SKIP.";
constexpr std::string_view kFilteredEnd = " in black list or not in white list. SKIP.";

// Messages whose wording is fixed, by how they begin or end.
struct FixedText {
  std::string_view begin;
  std::string_view end;
  SkipReason reason;
};
constexpr FixedText kFixedTexts[] = {
    {"API ", kNotSupportedEnd, SkipReason::kNotSupported},
    {"API ", kFilteredEnd, SkipReason::kFiltered},
    {"There is not bench function ", "", SkipReason::kNoBench},
    {"Data info Min: ", "info type must be int or float.", SkipReason::kNoStatistics},
    {"function with out=... ", "skip backward.", SkipReason::kOutArgument},
    {kUnsafeNameText, "", SkipReason::kHostile},
};

const FixedText* fixed_text(std::string_view message) {
  for (const FixedText& row : kFixedTexts) {
    if (message.starts_with(row.begin) && message.ends_with(row.end)) return &row;
  }
  return nullptr;
}

// PyTorch says which kernels an operator has on every other device: sixty lines about its own
// sources.
std::string_view without_kernel_table(std::string_view error) {
  const std::size_t end = error.find("\n\n");
  const bool has_table =
      end != std::string_view::npos && error.find(" registered at ", end) != std::string_view::npos;
  return has_table ? error.substr(0, end) : error;
}

}  // namespace

Skip planned_skip(SkipReason reason, std::string_view full_name) {
  if (reason == SkipReason::kHostile) return {reason, std::string(kUnsafeNameText)};
  if (reason == SkipReason::kNotSupported) {
    return {reason, fmt::format("API {}{}", full_name, kNotSupportedEnd)};
  }
  const auto name = parse_call_name(full_name);
  return {reason, fmt::format("API {}{}", name ? name->bare_name : full_name, kFilteredEnd)};
}

std::string skip_message(const Skip& skip) {
  const FixedText* fixed = fixed_text(skip.text);
  if (fixed != nullptr && fixed->reason == skip.reason) return skip.text;
  return fmt::format("{}: {}", name(skip.reason), without_kernel_table(skip.text));
}

SkipReason skip_reason_of(std::string_view message) {
  if (const SkipReason reason = reason_of(message); reason != SkipReason::kNone) return reason;
  const FixedText* fixed = fixed_text(message);
  return fixed == nullptr ? SkipReason::kNone : fixed->reason;
}

}  // namespace msprobe::documented
