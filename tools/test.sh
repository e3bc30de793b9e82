#!/usr/bin/env bash
# Sets up and passes the tests: formatting, the release build with everything, the readers and the judgement under sanitizers.
set -euo pipefail
cd "$(dirname "$0")/.."

tools/setup.sh --dev
tools/check_format.sh
cmake --preset release
cmake --build --preset release
ctest --preset release -j "$(nproc)"

cmake --preset asan
cmake --build --preset asan --target core_test dump_test judge_test report_test compare_test
ctest --preset asan -j "$(nproc)" -R '^(core|dump|judge|report|compare)\.'
