#!/usr/bin/env python3
"""`msprobe api_precision_compare --profile reference --titles zh` writes what the public tool wrote, cell by cell.

usage: precision_compare_check.py MSPROBE
"""
import csv
import pathlib
import subprocess
import sys
import tempfile

DATA = pathlib.Path(__file__).resolve().parent / "data" / "api_precision_compare"


def table(path):
    with open(path, encoding="utf-8-sig", newline="") as file:
        return list(csv.reader(file))


def main():
    compared, wrong = 0, []
    with tempfile.TemporaryDirectory() as out:
        subprocess.run([sys.argv[1], "api_precision_compare", "-npu", DATA / "npu_details.csv", "-gpu", DATA / "gpu_details.csv", "-o", out,
                        "--profile", "reference", "--titles", "zh"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        for kind in ("details", "result"):
            (found,) = pathlib.Path(out).glob(f"api_precision_compare_{kind}_*.csv")
            wanted, got = table(DATA / "out_v26.0.0" / f"{kind}.csv"), table(found)
            if len(wanted) != len(got):
                wrong.append(f"{kind}: {len(got)} rows instead of {len(wanted)}")
            for theirs, ours in zip(wanted, got):
                for title, cell, own in zip(wanted[0], theirs, ours + [""] * len(theirs)):
                    compared += 1
                    if cell != own:
                        wrong.append(f"{kind}: {theirs[0]}, {title}: {own!r} instead of {cell!r}")
    print("\n".join(wrong[:20]))
    print(f"{compared} cells compared, {len(wrong)} differ")
    return 1 if wrong or not compared else 0


if __name__ == "__main__":
    sys.exit(main())
