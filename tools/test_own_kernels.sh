#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Trials of --kernel, -d inductor and msprobe verify that take minutes or need more than PyTorch: Triton kernels under Triton's interpreter
# against the calls of a small GPT, five models compiled by torch.compile, and the score on single operators and cheats.
#
# usage: tools/test_own_kernels.sh [DIRECTORY]   (default: a scratch directory; it keeps a virtual environment with Triton)
# It needs a build (build/release), a Python with PyTorch (MSPROBE_PYTHON, else .venv's), g++, and PyPI for Triton.
set -euo pipefail
cd "$(dirname "$0")/.."
place=${1:-$(mktemp -d)}
mkdir -p "$place"
python=${MSPROBE_PYTHON:-$PWD/.venv/bin/python}
export PYTHONPATH=$PWD/build/release/python
msprobe=$PWD/build/release/bin/msprobe

echo "== a small GPT and four other models are recorded"
"$python" tests/kernels/record_models.py "$place/models" > "$place/record.log" 2>&1

echo "== Triton kernels under the interpreter, against the calls of the GPT"
if [ ! -x "$place/venv/bin/python" ]; then
  "$python" -m venv "$place/venv"
  "$python" -c 'import site; print(site.getsitepackages()[0])' > "$place"/venv/lib/python3*/site-packages/torch_of.pth
  "$place/venv/bin/pip" install -q triton
fi
check() { TRITON_INTERPRET=1 MSPROBE_PYTHON=$place/venv/bin/python "$msprobe" acc_check "$place/models/gpt" -d cpu --kernel tests/kernels/triton_kernels.py -o "$place/$1" --quiet; }
check triton
for fault in layer_norm softmax matmul; do
  if MSPROBE_TRIAL_FAULT=$fault check "triton_$fault"; then echo "the fault of $fault is missed" >&2; exit 1; fi
done

echo "== each call of five models, compiled by torch.compile"
for model in gpt convolutional recurrent mixer gated; do
  MSPROBE_PYTHON=$python "$msprobe" acc_check "$place/models/$model" -d inductor -o "$place/inductor_$model" --quiet
done

echo "== single operators and twelve cheats of each"
MSPROBE_PROGRAM=$msprobe "$python" tests/kernels/score.py --json "$place/score.json"
