// SPDX-License-Identifier: Apache-2.0
// A file below a directory is opened by a name that may go through links, which must not lead out
// of the directory.
#pragma once

#include <string>

namespace msprobe {

// The descriptor, for reading; -1 with errno otherwise. EXDEV, ELOOP: a link leads out of the
// directory, or in circles. By openat2; kernels before 5.6 do not have it, nor do some containers.
int open_beneath(int directory, const std::string& name);

// The same without openat2: every component is opened by itself, and links are followed here.
int open_beneath_by_components(int directory, const std::string& name);

}  // namespace msprobe
