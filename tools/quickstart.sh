#!/usr/bin/env bash
# From nothing to a verdict: installs what is missing, builds, checks the bundled dump on this machine's CPU, and compares two
# devices on the bundled example.
set -euo pipefail
cd "$(dirname "$0")/.."

tools/setup.sh
build=build/quickstart
cmake --preset release -DMSPROBE_TESTS=OFF -DMSPROBE_BENCHMARKS=OFF -B $build >/dev/null
cmake --build $build --target msprobe msprobe-engine
out=${1:-$build/example}
export MSPROBE_LOG_LEVEL=2

echo
echo "== every call of examples/gpt_statistics, on the CPU and on the benchmark"
$build/bin/msprobe acc_check -api_info examples/gpt_statistics/dump.json -d cpu -o "$out"
echo
echo "== two devices, call by call"
status=0
$build/bin/msprobe api_precision_compare -npu examples/two_devices/npu_details.csv \
    -gpu examples/two_devices/gpu_details.csv -o "$out" || status=$?
# Status 1 is the point of the example: the NPU of this story has wrong kernels.
[ "$status" = 1 ]
