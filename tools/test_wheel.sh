#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tries the source package and a wheel with engines for two PyTorch versions: the wheel is made from the source package and checks a
# recorded step and a block of Python with each version. Run by hand; compiles for about 12 minutes on two cores.
#
#   tools/test_wheel.sh OUT      OUT: the source package and the wheel; made there if they are missing
#
# Needs python3 on the PATH with PyTorch (not Debian's), and Debian's libtorch-dev and python3-torch.
set -euo pipefail
cd "$(dirname "$0")/.."
out=$(realpath -m "$1")
mkdir -p "$out"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

if ! ls "$out"/msprobe-*.tar.gz >/dev/null 2>&1; then
  echo "== source package"
  python3 -m venv "$scratch/build"
  "$scratch/build/bin/pip" install --quiet build
  "$scratch/build/bin/python" -m build --sdist --outdir "$out" .
fi
if ! ls "$out"/msprobe-*.whl >/dev/null 2>&1; then
  echo "== wheel, from the source package"
  python3 -m pip wheel --no-deps -w "$out" -C cmake.define.MSPROBE_FURTHER_TORCH=debian "$out"/msprobe-*.tar.gz
fi

cat > "$scratch/block.py" <<'PYTHON'
import torch

import msprobe

model = torch.nn.Sequential(torch.nn.Linear(64, 32), torch.nn.GELU(), torch.nn.Linear(32, 8))
with msprobe.record("dump"):
    model(torch.randn(16, 64)).sum().backward()
result = msprobe.check("dump", device="cpu")
print(f"PyTorch {torch.__version__}: {result}")
assert result.ok and result.checked == 4
PYTHON

try_in() {  # try_in ENVIRONMENT: with the PyTorch that its Python has
  "$1/bin/pip" install --quiet --no-deps --no-index "$out"/msprobe-*.whl
  mkdir "$1/work"
  (cd "$1/work"
   PATH=$1/bin:/usr/bin:/bin
   msprobe --version
   python -m msprobe --version
   msprobe acc_check -api_info "$OLDPWD/examples/gpt_statistics/dump.json" -d cpu -o out --fail-on strict 2>/dev/null
   python "$scratch/block.py")
}

echo "== the PyTorch of python3"
python3 -m venv "$scratch/here"
python3 -c 'import os, torch; print(os.path.dirname(torch.__path__[0]))' \
  > "$("$scratch/here/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/torch_place.pth"
try_in "$scratch/here"
(cd "$scratch/here/work" && ../bin/msprobe self_check --only times_two | tail -n 1)

echo "== Debian's PyTorch"
/usr/bin/python3 -m venv --system-site-packages "$scratch/debian"
try_in "$scratch/debian"
echo "== sizes"
ls -l "$out" | awk 'NF > 8 { print $5, $9 }'
echo "source package and wheel work"
