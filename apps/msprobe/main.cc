// msprobe: pick a command, run it, return its exit status. Never links LibTorch.
#include <exception>
#include <string>
#include <vector>

#include "command_line.h"
#include "core/log.h"

int main(int argc, char** argv) {
  msprobe::log::start();
  try {
    return msprobe::app::run_command_line(std::vector<std::string>(argv + 1, argv + argc));
  } catch (const std::bad_alloc&) {
    msprobe::log::error("out of memory");
  } catch (const std::exception& e) {
    msprobe::log::error("unexpected: {}", e.what());
  }
  return msprobe::app::kCannot;
}
