#!/usr/bin/env bash
# From nothing to a verdict: installs what is missing, builds, and compares two devices on the bundled example.
set -euo pipefail
cd "$(dirname "$0")/.."

tools/setup.sh
cmake --preset release -DMSPROBE_TESTS=OFF -DMSPROBE_BENCHMARKS=OFF -DMSPROBE_ENGINE=OFF -B build/quickstart >/dev/null
cmake --build build/quickstart --target msprobe
out=${1:-build/quickstart/example}
status=0
build/quickstart/bin/msprobe api_precision_compare -npu examples/two_devices/npu_details.csv \
    -gpu examples/two_devices/gpu_details.csv -o "$out" || status=$?
# Status 1 is the point of the example: the NPU of this story has a wrong kernel.
[ "$status" -le 1 ]
