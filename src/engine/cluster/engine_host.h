// SPDX-License-Identifier: Apache-2.0
// The side of the other machines: starts the engines that host 0 asks for and carries bytes between
// them and it.
#pragma once

#include "cluster/transport.h"

namespace msprobe::cluster {

// Until host 0 says quit, or `interrupt` (a descriptor) becomes readable. Engines that still run
// then are killed.
void serve_engines(Transport& transport, int interrupt);

}  // namespace msprobe::cluster
