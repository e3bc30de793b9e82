// SPDX-License-Identifier: Apache-2.0
// Names of the entries of dump.json: one direction of a call, or the gradients of a module's
// parameters; and of debug.json: a value that the training saved.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace msprobe::dump {

enum class EntryKind : std::uint8_t { kForward, kBackward, kParametersGrad, kDebug };
std::string_view name(EntryKind kind);  // "forward"

// "Functional.conv2d.0.forward", "Module.stem.Conv2d.forward.0", "hidden.0.debug"
struct EntryName {
  std::string_view owner;   // "Functional.conv2d", "Module.stem.Conv2d"
  std::string_view number;  // "0"; empty: the name has none
  EntryKind kind = EntryKind::kForward;
  bool is_module = false;  // or a cell of MindSpore

  // Of modules: "stem" and "Conv2d"; of other calls empty.
  std::string_view module_path() const;
  std::string_view module_class() const;
};

// Empty unless one of the last two parts is forward, backward, parameters_grad or debug. The parts
// point into `entry`.
std::optional<EntryName> parse_entry_name(std::string_view entry);

}  // namespace msprobe::dump
