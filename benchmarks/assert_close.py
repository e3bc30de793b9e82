# SPDX-License-Identifier: Apache-2.0
"""msprobe.testing.assert_close beside torch.testing.assert_close: time and extra memory, interleaved, medians.

    PYTHONPATH=build/release/python .venv/bin/python benchmarks/assert_close.py [MILLIONS_OF_ELEMENTS [TURNS]]
"""
import os
import resource
import statistics
import subprocess
import sys
import time

import torch

from msprobe.testing import assert_close


def pair_of(count: int):
    expected = torch.randn(count)
    return expected * (1 + 1e-7), expected


def peak_growth(kind: str, count: int) -> int:
    """Bytes by which the resident peak of a separate process grows in one comparison."""
    return int(subprocess.run([sys.executable, __file__, "--memory", kind, str(count)], capture_output=True, text=True, check=True).stdout)


def measure_memory(kind: str, count: int) -> None:
    function = {"msprobe": assert_close, "torch": torch.testing.assert_close}[kind]
    function(*pair_of(1000))
    actual, expected = pair_of(count)
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")  # the peak begins again here
    before = _peak()
    function(actual, expected)
    print(max(_peak() - before, 0))


def _peak() -> int:
    with open("/proc/self/status") as file:
        for line in file:
            if line.startswith("VmHWM"):
                return int(line.split()[1]) << 10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


def main() -> None:
    count = int(sys.argv[1] if len(sys.argv) > 1 else 64) << 20
    turns = int(sys.argv[2] if len(sys.argv) > 2 else 9)
    actual, expected = pair_of(count)
    functions = {"msprobe": assert_close, "torch": torch.testing.assert_close}
    seconds = {name: [] for name in functions}
    for _ in range(turns):
        for name, function in functions.items():
            begin = time.perf_counter()
            function(actual, expected)
            seconds[name].append(time.perf_counter() - begin)
    medians = {name: statistics.median(times) for name, times in seconds.items()}
    for name, median in medians.items():
        grown = peak_growth(name, count)
        print(f"{name:8} {1000 * median:9.1f} ms   extra memory {100 * grown / (8 * count):6.2f} % of the input")
    print(f"ratio    {medians['torch'] / medians['msprobe']:9.1f}   ({os.cpu_count()} cores, {torch.get_num_threads()} threads of PyTorch)")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--memory"]:
        measure_memory(sys.argv[2], int(sys.argv[3]))
    else:
        main()
