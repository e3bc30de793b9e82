#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The real torch_npu over a stand-in for CANN (tests/cann): makes an environment with the released packages, builds the stand-in,
# and checks calls, failures, messages and the collector on it. Says nothing about the accuracy of an NPU.
#
#   tools/test_torch_npu.sh [--built DIR] [--environment DIR] [TEST ...]
#
# --built: a build of msprobe and its engine for PyTorch 2.13 (build/torch_npu/msprobe is made otherwise)
# --environment: where the Python environment is, or is made (build/torch_npu/environment)
set -euo pipefail
cd "$(dirname "$0")/.."
torch_version=2.13.0
work=build/torch_npu
environment=$work/environment
built=

while [ $# -gt 0 ]; do
  case $1 in
    --built) built=$2; shift 2 ;;
    --environment) environment=$2; shift 2 ;;
    *) break ;;
  esac
done

[ -n "$built" ] || MSPROBE_NO_TORCH=1 tools/setup.sh
mkdir -p $work
python=$environment/bin/python
if ! "$python" -c 'import importlib.util as u, sys; sys.exit(not (u.find_spec("torch") and u.find_spec("torch_npu")))' 2>/dev/null; then
  python3 -m venv "$environment"
  "$environment/bin/pip" install --quiet "torch==$torch_version" numpy pyyaml decorator
  "$environment/bin/pip" install --quiet --no-deps "torch-npu==$torch_version"
fi
python=$(realpath -s "$python")

if [ -z "$built" ]; then
  built=$work/msprobe
  torch=$("$python" -c 'import importlib.util as u; print(u.find_spec("torch").submodule_search_locations[0])')
  cmake --preset release -DMSPROBE_TESTS=OFF -DMSPROBE_BENCHMARKS=OFF -DMSPROBE_TORCH="$torch" -DMSPROBE_PYTHON="$python" -B $built >/dev/null
  cmake --build $built
fi

launcher=()
command -v ccache >/dev/null && launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
cmake -S tests/cann -B $work/cann -G Ninja -DMSPROBE_CANN_PYTHON="$python" "${launcher[@]}" >/dev/null
cmake --build $work/cann

"$python" tests/cann/check.py "$built/bin/msprobe" "$python" $work/cann/lib "$@"
