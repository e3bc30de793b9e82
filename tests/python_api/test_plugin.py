# SPDX-License-Identifier: Apache-2.0
"""The pytest plugin, run by a real pytest."""
import os
import pathlib
import subprocess
import sys
import tempfile

try:
    import pytest  # noqa: F401
except ImportError:
    print("skipped: pytest is not installed; tools/setup.sh --dev installs it into .venv")
    sys.exit(77)

FAULTY = str(pathlib.Path(__file__).resolve().parents[2] / "examples" / "faulty_device.yaml")
TESTS = f"""
import pytest, torch

def test_fixture(assert_close):
    assert_close(torch.ones(3), torch.ones(3))

def test_fixture_fails(assert_close):
    assert_close(torch.ones(3), torch.tensor([1, 1, 2.0]))

@pytest.mark.msprobe
def test_good():
    torch.matmul(torch.randn(2, 4, 16), torch.randn(2, 16, 4))

@pytest.mark.msprobe(device="sim", sim_config={FAULTY!r})
def test_wrong_kernel():
    torch.matmul(torch.randn(2, 4, 16), torch.randn(2, 16, 4))

@pytest.mark.msprobe(device="npu:7")
def test_no_device():
    torch.exp(torch.ones(2))

@pytest.mark.msprobe
def test_own_failure():
    assert torch.ones(1).item() == 2
"""

with tempfile.TemporaryDirectory() as directory:
    pathlib.Path(directory, "test_it.py").write_text(TESTS, encoding="utf-8")
    run = subprocess.run([sys.executable, "-m", "pytest", "-rA", "--strict-markers", "test_it.py"],
                         cwd=directory, capture_output=True, text=True, env={**os.environ, "NO_COLOR": "1"})
expected = ["PASSED test_it.py::test_fixture", "FAILED test_it.py::test_fixture_fails", "PASSED test_it.py::test_good",
            "FAILED test_it.py::test_wrong_kernel", "FAILED test_it.py::test_own_failure", "1 of 3 elements (33.3 %) are beyond",
            "sim: NOT OK. 1 API wrong: Torch.matmul (1)", "lost terms", "SKIPPED [1] test_it.py:", "msprobe: no device npu:7", "3 failed, 2 passed, 1 skipped"]
missing = [text for text in expected if text not in run.stdout]
if "During handling" in run.stdout:
    missing.append("a failure without the exception that it was made of")
if missing:
    sys.exit(f"missing in pytest's output: {missing}\n{run.stdout}\n{run.stderr}")
