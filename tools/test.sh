#!/usr/bin/env bash
# Sets up and passes every test: release build, sanitizers, a short run of every fuzzer, formatting.
set -euo pipefail
cd "$(dirname "$0")/.."

tools/setup.sh --dev
tools/check_format.sh
for preset in release asan fuzz; do
  cmake --preset "$preset"
  cmake --build --preset "$preset"
  ctest --preset "$preset" -j "$(nproc)"
done
