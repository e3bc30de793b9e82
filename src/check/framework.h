// Whose dump it is: the first thing both check commands look at.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/result.h"
#include "dump/dump_json.h"

namespace msprobe::check {

enum class Framework : std::uint8_t { kPyTorch, kMindSpore };

// By the key "framework"; older dumps lack it and are told by their tensor types.
Result<Framework> framework_of(const dump::DumpIndex& dump, const std::filesystem::path& path);

// What a user should know of a dump before it is checked: its level, odd and repeated keys.
std::vector<std::string> warnings_about(const dump::DumpIndex& dump);

}  // namespace msprobe::check
