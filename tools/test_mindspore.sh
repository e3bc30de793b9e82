#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The tests that need MindSpore itself, on its CPU: the collector, a comparison with PyTorch, and the device `mindspore`. Not part of tools/test.sh.
#
#   tools/test_mindspore.sh          all of them, with what is built in build/release or build/dev
#
# MindSpore is installed into its own environment, build/mindspore-env (MSPROBE_MINDSPORE_ENV names another one).
set -euo pipefail
cd "$(dirname "$0")/.."

env=${MSPROBE_MINDSPORE_ENV:-$PWD/build/mindspore-env}
python=$env/bin/python
if ! "$python" -c 'import mindspore' >/dev/null 2>&1; then
  echo "installing MindSpore 2.10.0 into $env"
  python3 -m venv "$env"
  "$python" -m pip install --quiet 'mindspore==2.10.0' 'numpy<2'
fi

built=
for build in build/release build/dev; do
  if [ -x "$build/bin/msprobe" ]; then built=$PWD/$build; break; fi
done
if [ -z "$built" ]; then
  echo "build msprobe first: cmake --preset release && cmake --build --preset release, or tools/test.sh" >&2
  exit 2
fi

# The native module of the build directory where it fits this Python, else one made for it.
if PYTHONPATH=$built/python "$python" -c 'import msprobe._collect' >/dev/null 2>&1; then
  export PYTHONPATH=$built/python
else
  "$python" -m pip install --quiet . -C build.targets=msprobe_collect_module -C install.components=collector \
    -C cmake.define.MSPROBE_ENGINE=OFF
fi

export GLOG_v=4
"$python" -W ignore tests/mindspore/test_collector.py
"$python" -W ignore tests/mindspore/compare_check.py "$built/bin/msprobe"

export MSPROBE_MINDSPORE_PYTHON=$python
python3 tests/mindspore/differential.py "$built/bin/msprobe"
