// SPDX-License-Identifier: Apache-2.0
// make_op_lists python/msprobe: writes the collector's lists from the table of operators.
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "ops/op_lists.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: make_op_lists python/msprobe\n", stderr);
    return 2;
  }
  for (const msprobe::ops::OpList& list : msprobe::ops::op_lists()) {
    const std::filesystem::path path = std::filesystem::path(argv[1]) / list.path;
    std::ofstream file(path, std::ios::binary);
    file << list.text();
    file.close();
    if (!file) {
      std::fprintf(stderr, "make_op_lists: cannot write %s\n", path.c_str());
      return 2;
    }
  }
  return 0;
}
