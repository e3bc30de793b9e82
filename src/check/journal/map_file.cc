// SPDX-License-Identifier: Apache-2.0
#include "journal/map_file.h"

namespace msprobe::journal {

Result<FileBytes> load_maps(const CsvPaths& paths) {
  std::error_code error;
  if (!std::filesystem::exists(paths.maps, error) && !error) return FileBytes{};
  return load_file(paths.maps);
}

}  // namespace msprobe::journal
