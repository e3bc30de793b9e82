#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What tools/test_wheels.sh does in a root: installs the wheels beside PyTorch and uses what they bring.
#
#   try.sh TORCH [PYTHON]     beside wheels/ and msprobe/ (examples and tools of the repository)
set -euo pipefail
cd "$(dirname "$0")"
. /etc/os-release
python=${2:-python3}
[ ! -d /opt/python/lib ] || export LD_LIBRARY_PATH=/opt/python/lib  # a Python that was mounted
echo "$PRETTY_NAME, $("$python" --version), $(uname -m), as $(id -un)"
command -v c++ cc gcc g++ && { echo "there is a compiler" >&2; exit 1; }
"$python" -m venv env
export PATH=$PWD/env/bin:$PATH
pip install --quiet "$1" numpy pytest
start=$(date +%s)
pip install --quiet --no-index wheels/msprobe*.whl
msprobe --version
msprobe acc_check -api_info msprobe/examples/gpt_statistics/dump.json -d cpu -o first 2>/dev/null | tail -n 2
echo "first verdict after $(($(date +%s) - start)) seconds"

msprobe/tools/quickstart.sh | grep -v '^$' | tail -n 12
msprobe self_check --only times_two --only one_nan | tail -n 3

mkdir tests
cat > tests/test_plugin.py <<'PYTHON'
import pytest
import torch


@pytest.mark.msprobe(device="cpu")
def test_every_call_is_replayed():
    torch.nn.functional.linear(torch.ones(2, 3, requires_grad=True), torch.ones(4, 3)).sum().backward()


def test_assert_close(assert_close):
    assert_close(torch.ones(10), torch.ones(10))
    with pytest.raises(AssertionError):
        assert_close(torch.ones(10), torch.zeros(10))
PYTHON
python -m pytest -q tests
python - <<'PYTHON'
import torch

import msprobe

with msprobe.record("dump"):
    torch.nn.functional.gelu(torch.randn(16, 64, requires_grad=True)).sum().backward()
result = msprobe.check("dump", device="cpu")
print(f"PyTorch {torch.__version__}: {result}")
assert result.ok
PYTHON
