#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Sets up and passes the tests: formatting; the release build with everything; all but the engine once more under AddressSanitizer
# and UndefinedBehaviorSanitizer, with a short run of every fuzz target.
set -euo pipefail
cd "$(dirname "$0")/.."

tools/setup.sh --dev
tools/check_format.sh
for preset in release asan; do
  cmake --preset $preset
  cmake --build --preset $preset
  ctest --preset $preset -j "$(($(nproc) + 1))"  # some tests wait more than they compute
done
