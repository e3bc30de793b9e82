#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds msprobe for aarch64 and runs its unit tests under qemu, with NEON and with SVE at two widths; then checks recorded outputs, whose
# CSVs must have the bytes that they have on x86-64 (tests/same_digits). On an aarch64 machine the same without qemu.
#
#   tools/test_aarch64.sh WORK               folders without LibTorch; WORK: a directory for the root and the build, about 2 GB
#   tools/test_aarch64.sh WORK --engine      also the engine and its tests, on PyTorch of aarch64 (2 GB more)
#   tools/test_aarch64.sh WORK --build-only  does not run tests
#
# Needs Debian 12, root, and Linux 6.7 or newer for tests that start programs. Nothing of the system is changed: the root is made of Debian's packages
# in WORK, and programs of aarch64 start others through a registration that only this script sees (tools/aarch64/emulated.sh).
# Takes hours of one core, most of it compiling; run by hand.
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(realpath -m "$1")
shift
engine=OFF tests=1
for option in "$@"; do
  case $option in
    --engine) engine=ON ;;
    --build-only) tests= ;;
    *) sed -n '6,8s/^# *//p' "$0" >&2; exit 2 ;;
  esac
done
torch_version=2.7.1  # the newest whose wheel for aarch64 is small: those from 2.11 on bring CUDA
numpy_version=1.26.4

. tools/aarch64/root.sh
make_aarch64_root "$work"
options=(-DMSPROBE_ENGINE=$engine)
if [ $engine = ON ]; then
  if [ ! -d "$work/torch/torch" ]; then
    echo "== PyTorch $torch_version for aarch64"
    python3 -m venv "$work/pip"
    "$work/pip/bin/pip" download --quiet --no-deps --only-binary :all: --implementation cp --python-version 3.11 --abi cp311 \
      --platform manylinux_2_28_aarch64 --platform manylinux2014_aarch64 -d "$work/wheels" torch==$torch_version numpy==$numpy_version
    for wheel in "$work"/wheels/*.whl; do python3 -m zipfile -e "$wheel" "$work/torch"; done
  fi
  options+=(-DMSPROBE_TORCH="$work/torch/torch")
fi

echo "== build"
build=$work/build
cmake --preset release -B "$build" -DCMAKE_TOOLCHAIN_FILE="$PWD/cmake/aarch64.cmake" "${options[@]}" -DMSPROBE_BENCHMARKS=OFF \
  -DMSPROBE_PYTHON=/usr/bin/python3 -DPython3_INCLUDE_DIR="$work/root/usr/include/python3.11" > "$work/configure.log"
tools/aarch64/emulated.sh cmake --build "$build"
[ -n "$tests" ] || exit 0

# Neoverse N1 is next to Kunpeng 920: NEON. SVE is 256 bits wide on Neoverse V1, 512 on A64FX.
for cpu in neoverse-n1 max,sve256=on max,sve512=on; do
  echo "== unit tests, $cpu"
  # Left out: what is told from results of 16-bit arithmetic takes minutes for each unit here; the folder graph is the host's; in the namespace
  # nobody can become another user.
  QEMU_CPU=$cpu tools/aarch64/emulated.sh ctest --test-dir "$build" -L unit -j2 -E 'RandomUnit|folder_graph|ADirectoryThatMayNotBeEntered' --timeout 1800 --output-on-failure
done
if [ $engine = ON ]; then
  for cpu in neoverse-n1 max,sve512=on; do
    echo "== digits of recorded outputs, $cpu"
    QEMU_CPU=$cpu tools/aarch64/emulated.sh python3 tests/same_digits_check.py "$build/bin/msprobe"
  done
fi
echo "aarch64 works"
