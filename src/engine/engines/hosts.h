// SPDX-License-Identifier: Apache-2.0
// The machines whose engines one check uses.
#pragma once

#include <cstddef>

#include "core/result.h"
#include "engines/engine_process.h"

namespace msprobe::engines {

// Host 0 is this machine. Every host has the same devices.
class Hosts {
 public:
  Hosts() = default;
  Hosts(const Hosts&) = delete;
  Hosts& operator=(const Hosts&) = delete;
  virtual ~Hosts() = default;

  virtual std::size_t count() const = 0;
  virtual Result<EngineProcess> start(std::size_t host, const EngineCommand& command) = 0;
};

}  // namespace msprobe::engines
