#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Sets up and passes the tests: formatting; the release build with everything; all but the engine once more under AddressSanitizer
# and UndefinedBehaviorSanitizer, with a short run of every fuzz target.
set -euo pipefail
cd "$(dirname "$0")/.."

# Prints the output of failing tests again, at the end: a CI log is long and may be cut.
show_failures() {
  echo "what the failing tests printed:"
  awk 'NR == FNR { sub(/^[0-9]+:/, ""); failed[$0]; next }
       / Testing: / { name = $0; sub(/^.* Testing: /, "", name) }
       name in failed' "$1/LastTestsFailed.log" "$1/LastTest.log"
}

tools/setup.sh --dev
tools/check_format.sh
for preset in release asan; do
  cmake --preset $preset
  cmake --build --preset $preset
  ctest --preset $preset -j "$(($(nproc) + 1))" || {  # some tests wait more than they compute
    status=$?
    show_failures build/$preset/Testing/Temporary
    exit $status
  }
done
