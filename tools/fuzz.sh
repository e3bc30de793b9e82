#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A longer search of every fuzz target under AddressSanitizer and UndefinedBehaviorSanitizer: a nightly job. The test command runs
# each for a fixed number of executions. What is found new is kept in build/asan/fuzz/found.
#
#   tools/fuzz.sh [SECONDS]    for each target (default 60)
set -euo pipefail
cd "$(dirname "$0")/.."
tools/setup.sh --dev
cmake --preset asan
cmake --build --preset asan --target fuzzers
for seeds in fuzz/corpus/*/; do
  name=$(basename "$seeds")
  build/asan/bin/fuzz_"$name" -max_total_time="${1:-60}" -timeout=10 -rss_limit_mb=2048 "build/asan/fuzz/found/$name" "$seeds"
done
