#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The other end of the versions: builds the engine on Debian's LibTorch 1.13, without any PyTorch of Python, and passes its
# tests and the bundled examples on it; a nightly job. The newest version is the one tools/test.sh takes.
set -euo pipefail
cd "$(dirname "$0")/.."

tools/setup.sh --torch113
cmake --preset torch113
cmake --build --preset torch113 --target msprobe msprobe-engine aten_test arguments_test execute_test npu_test strict_test \
  msprobe_collect_module
ctest --preset torch113 -R '^((aten|arguments|execute|npu|strict|case|hostile)\.|collector\.(capture|communication|files|function_body|golden|levels|models|processes|surroundings)$)'
