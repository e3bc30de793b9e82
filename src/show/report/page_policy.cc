// SPDX-License-Identifier: Apache-2.0
#include <charconv>

#include <fmt/format.h>

#include "report/packed.h"
#include "report/page.h"

namespace msprobe::report {

std::string policy_source(const PageFile& file) {
  std::string hash;
  for (std::size_t i = 0; i + 1 < file.sha256.size(); i += 2) {
    unsigned byte = 0;
    std::from_chars(file.sha256.data() + i, file.sha256.data() + i + 2, byte, 16);
    hash += static_cast<char>(byte);
  }
  return fmt::format("'sha256-{}'", base64(hash));
}

}  // namespace msprobe::report
