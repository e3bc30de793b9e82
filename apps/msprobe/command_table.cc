#include <array>

#include "command.h"

namespace msprobe::app {
namespace {

constexpr std::array<Command, 0> kCommands{};

}  // namespace

std::span<const Command> commands() { return kCommands; }

}  // namespace msprobe::app
