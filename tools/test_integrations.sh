#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The callbacks for Hugging Face Trainer, Lightning and Accelerate, with the real libraries. Not part of tools/test.sh.
#
#   tools/test_integrations.sh       with what is built in build/release or build/dev
#
# The libraries are installed into their own environment, build/integrations-env (MSPROBE_INTEGRATIONS_ENV names another one).
set -euo pipefail
cd "$(dirname "$0")/.."
env=${MSPROBE_INTEGRATIONS_ENV:-$PWD/build/integrations-env}
if ! "$env/bin/python" -c 'import accelerate, lightning, transformers' >/dev/null 2>&1; then
  python3 -m venv "$env"
  "$env/bin/pip" install --quiet torch==2.13.0
  "$env/bin/pip" install --quiet accelerate lightning transformers
fi
for build in build/release build/dev; do
  if [ -x "$build/bin/msprobe" ]; then
    MSPROBE_PROGRAM=$PWD/$build/bin/msprobe PYTHONPATH=$PWD/$build/python exec "$env/bin/python" -W ignore tests/python_api/integrations.py
  fi
done
echo "build msprobe first: cmake --preset release && cmake --build --preset release, or tools/test.sh" >&2
exit 2
