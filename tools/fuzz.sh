#!/usr/bin/env bash
# A short run of every fuzz target under AddressSanitizer and UndefinedBehaviorSanitizer; a nightly job.
set -euo pipefail
cd "$(dirname "$0")/.."
tools/setup.sh --dev
cmake --workflow --preset fuzz
