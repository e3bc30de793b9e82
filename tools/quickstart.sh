#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# From nothing to a verdict: installs what is missing, builds, records a small training, checks every call of it on this machine's
# CPU and on a simulated accelerator with two wrong kernels, compares the two devices, and writes a report to look at.
# Seconds if msprobe is installed in the environment of python3 already (a wheel: docs/install.md); else it compiles for minutes.
#
#   tools/quickstart.sh
#   tools/quickstart.sh --built DIR      with what is built in DIR already
set -euo pipefail
cd "$(dirname "$0")/.."

# msprobe of the environment that python3 is of: Python package, program and an engine for its PyTorch.
is_installed() {
  local prefix torch
  engine=
  read -r prefix torch < <(cd / && python3 -c 'import sys, torch, msprobe._collect
print(sys.prefix, ".".join(torch.__version__.split(".")[:2]))' 2>/dev/null) || return 1
  [ -x "$prefix/bin/msprobe" ] || return 1
  engine=$(compgen -G "$prefix/libexec/msprobe/torch-$torch*/msprobe-engine" | head -n 1)
}
# The first compiler that is new enough; CMake looks at CXX.
choose_compiler() {
  local compiler
  for compiler in "${CXX:-}" c++ g++-14 g++-13 g++-12; do
    if [ -n "$compiler" ] && echo '#include <expected>' | "$compiler" -std=c++23 -x c++ -fsyntax-only - 2>/dev/null; then
      export CXX=$compiler
      return
    fi
  done
}

python=python3
if [ "${1:-}" = --built ]; then
  build=$2
elif command -v python3 >/dev/null && is_installed; then
  build=
  python=$(cd / && python3 -c 'import sys; print(sys.executable)')
  echo "msprobe is installed in the environment of $python: nothing is built"
else
  tools/setup.sh
  build=build/quickstart
  choose_compiler
  cmake --preset release -DMSPROBE_TESTS=OFF -DMSPROBE_BENCHMARKS=OFF -B $build >/dev/null
  # Neither the tests nor msprobe-mpi.
  cmake --build $build --target msprobe msprobe-engine msprobe_collect_module
fi
if [ -n "$build" ]; then
  engine=$build/bin/msprobe-engine
  msprobe=$build/bin/msprobe
  python3 -c 'import torch' 2>/dev/null || python=.venv/bin/python
  export PYTHONPATH=$build/python
  out=$build/example
else
  msprobe=$(dirname "$python")/msprobe
  out=$(mktemp -d "${TMPDIR:-/tmp}/msprobe_quickstart.XXXXXX")  # anybody could wait in /tmp for a known name
fi
rm -rf "${build:+$out}"
export MSPROBE_LOG_LEVEL=2

# The checks of a device with wrong kernels end with status 1: that is the point of the example.
fails() { if "$@"; then echo "a wrong kernel was not seen" >&2; exit 1; elif [ $? != 1 ]; then exit 2; fi; }

echo
echo "== a training step of a transformer and a convolutional network is recorded (examples/train.py)"
$python examples/train.py $out
dump=$out/step1/rank0/dump.json

echo
echo "== every call of it, on the CPU"
$msprobe acc_check $dump -d cpu -o $out/cpu
if [ ! -e "$(dirname "$engine")/libmsprobe-sim.so" ]; then
  echo
  echo "The rest needs the simulated accelerator, and that needs PyTorch 2.6 or newer (of 2.6 one in the new C++ ABI, as the CPU build is)."
  exit 0
fi
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
[ -n "$build" ] || { echo "docs/tutorial.md goes on from here."; exit 0; }
bin=$(realpath $build/bin)
[ $python = python3 ] || bin=$bin:$(realpath .venv/bin)  # where PyTorch is
echo "To use msprobe in this shell, and import it in Python:"
echo "export PATH=$bin:\$PATH PYTHONPATH=$(realpath $build/python)\${PYTHONPATH:+:\$PYTHONPATH}"
echo "docs/tutorial.md goes on from here."
