#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# From nothing to a verdict: installs what is missing, builds, records a small training, checks every call of it on this machine's
# CPU and on a simulated accelerator with two wrong kernels, compares the two devices, and writes a report to look at.
#
#   tools/quickstart.sh
#   tools/quickstart.sh --built DIR      with what is built in DIR already
set -euo pipefail
cd "$(dirname "$0")/.."

if [ "${1:-}" = --built ]; then
  build=$2
else
  tools/setup.sh
  build=build/quickstart
  cmake --preset release -DMSPROBE_TESTS=OFF -DMSPROBE_BENCHMARKS=OFF -B $build >/dev/null
  cmake --build $build
fi
out=$build/example
rm -rf $out
msprobe=$build/bin/msprobe
python=python3
python3 -c 'import torch' 2>/dev/null || python=.venv/bin/python
export MSPROBE_LOG_LEVEL=2

# The checks of a device with wrong kernels end with status 1: that is the point of the example.
fails() { if "$@"; then echo "a wrong kernel was not seen" >&2; exit 1; elif [ $? != 1 ]; then exit 2; fi; }

echo
echo "== a training step of a transformer and a convolutional network is recorded (examples/train.py)"
PYTHONPATH=$build/python $python examples/train.py $out
dump=$out/step1/rank0/dump.json

echo
echo "== every call of it, on the CPU"
$msprobe acc_check $dump -d cpu -o $out/cpu
echo
echo "== every call of it, on a simulated accelerator with two wrong kernels (examples/faulty_device.yaml)"
fails $msprobe acc_check $dump -d sim --sim-config examples/faulty_device.yaml -o $out/sim
echo
echo "== the two devices side by side"
fails $msprobe api_precision_compare -npu $out/sim/accuracy_checking_details_*.csv -gpu $out/cpu/accuracy_checking_details_*.csv -o $out
$msprobe report $out/sim/accuracy_checking_result_*.csv $out/cpu/accuracy_checking_result_*.csv --dump $dump -o $out/report.html
echo
echo "the report: $(realpath $out/report.html)"
echo
bin=$(realpath $build/bin)
[ $python = python3 ] || bin=$bin:$(realpath .venv/bin)  # where PyTorch is
echo "To use msprobe in this shell, and import it in Python:"
echo "export PATH=$bin:\$PATH PYTHONPATH=$(realpath $build/python)\${PYTHONPATH:+:\$PYTHONPATH}"
echo "docs/tutorial.md goes on from here."
