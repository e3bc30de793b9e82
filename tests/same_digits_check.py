#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The same digits on every machine: checks of recorded outputs (-d recorded) against the CSVs in tests/same_digits.

usage: same_digits_check.py MSPROBE [--update]

Inputs, outputs and the verdicts' arithmetic are ours; the benchmark in float64 is PyTorch's, whose kernels differ between processors. So the
result CSVs must be the same bytes. Of the details CSVs a cell may differ where its column depends on the benchmark's last digits (MOVES),
by no more than CLOSE of its value.
"""
import csv, glob, math, os, re, subprocess, sys, tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
DUMPS = ("data/dumps/convnet_tensor", "data/dumps/gpt2_fp32_tensor", "data/replay", "cases/recorded_two_wrong_calls",
         "cases/mindspore_tiny_outputs")
MOVES = ("Cosine similarity", "Maximum absolute error", "Error balance", "Root-mean-square error (RMSE)", "Maximum relative error",
         "Mean relative error", "Maximum ULP error", "Mean ULP error", "Error Over Bound")
CLOSE = 1e-6


def run(program, dump, out):
    command = [program, "acc_check", "-api_info", os.path.join(HERE, dump, "dump.json"), "-d", "recorded", "-o", out]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode not in (0, 1):
        sys.exit(f"{' '.join(command)}\nended with {done.returncode}:\n{done.stdout}{done.stderr}")
    texts = {}
    for kind in ("result", "details"):
        path, = glob.glob(os.path.join(out, f"accuracy_checking_{kind}_*.csv"))
        with open(path, encoding="utf-8-sig", newline="") as file:
            text = re.sub(r"_\d{14}\b", "_{timestamp}", file.read())
        texts[kind] = text.replace(os.path.dirname(HERE), "{source}")
    return texts


def is_close(one, other):
    try:
        return math.isclose(float(one), float(other), rel_tol=CLOSE, abs_tol=1e-13)
    except ValueError:
        return False


def differences(expected, found):
    """Lines for what may not differ, and the number of cells that may and do."""
    expected, found = list(csv.reader(expected.splitlines())), list(csv.reader(found.splitlines()))
    if expected[0] != found[0] or len(expected) != len(found):
        return ["other columns, or another number of rows"], 0
    wrong, moved = [], 0
    for before, after in zip(expected[1:], found[1:]):
        for title, one, other in zip(expected[0], before, after):
            if one == other:
                continue
            if title in MOVES and is_close(one, other):
                moved += 1
            else:
                wrong.append(f"{before[0]}: {title}: {one!r}, here {other!r}")
    return wrong, moved


def main():
    program, update = sys.argv[1], "--update" in sys.argv[2:]
    failed = False
    for dump in DUMPS:
        name = os.path.basename(dump)
        with tempfile.TemporaryDirectory(prefix="same_digits_") as out:
            texts = run(program, dump, out)
        for kind, text in texts.items():
            path = os.path.join(HERE, "same_digits", f"{name}.{kind}.csv")
            if update:
                with open(path, "w", encoding="utf-8", newline="") as file:
                    file.write(text)
                continue
            with open(path, encoding="utf-8", newline="") as file:
                expected = file.read()
            wrong, moved = (["other bytes"], 0) if kind == "result" and text != expected else differences(expected, text)
            for line in wrong:
                print(f"{name}, {kind}: {line}")
            failed = failed or bool(wrong)
            same = "same bytes" if text == expected else f"{moved} cells by the benchmark's last digits"
            print(f"{name}, {kind}: {'FAILED' if wrong else same}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
