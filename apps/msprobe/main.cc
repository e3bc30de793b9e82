// SPDX-License-Identifier: Apache-2.0
// msprobe: pick a command, run it, return its exit status. Never links LibTorch.
#include "command_line.h"

int main(int argc, char** argv) {
  using namespace msprobe::app;
  return run_main([&] {
    return run_command_line(
        {"msprobe", "checks what an accelerator computes against a higher-precision benchmark",
         commands()},
        {argv + 1, argv + argc});
  });
}
