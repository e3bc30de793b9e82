#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The conversion script of the documentation, its import line changed, over a generated dump.

usage: torchair_script_check.py PROGRAM
"""

import os
import pathlib
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(SOURCE / "python"))

surfix = "_min_max"


def convert_data_to_info(data):
    return [data.min(), data.max()]


def convert(data_path):
    import numpy as np
    from msprobe.torchair import parse_torchair_dump_data
    npz_surfix, npy_surfix = f"{surfix}.npz", f"{surfix}.npy"
    for cur_path, _, files in os.walk(data_path):
        for file in files:
            if file.endswith(npy_surfix):
                continue
            cur = os.path.join(cur_path, file)
            if file.endswith(".npy"):
                file_name = os.path.splitext(cur)[0]
                np.save(file_name + surfix, convert_data_to_info(np.load(cur)))
                os.remove(cur)
            elif not file.endswith(npz_surfix) and not file.endswith(".txt") and not file.endswith(".swp"):
                inputs, outputs = parse_torchair_dump_data(cur)
                inputs = [convert_data_to_info(ii) for ii in inputs]
                outputs = [convert_data_to_info(ii) for ii in outputs]
                np.savez(cur + npz_surfix, inputs=inputs, outputs=outputs)
                os.remove(cur)


def main() -> int:
    os.environ["MSPROBE_PROGRAM"] = sys.argv[1]
    with tempfile.TemporaryDirectory() as scratch:
        made = pathlib.Path(scratch) / "made"
        subprocess.run(
            [
                sys.executable,
                SOURCE / "tools" / "make_torchair_dump.py",
                made,
                "--dtype",
                "bfloat16",
                "--format",
                "Mul=FRACTAL_NZ",
                "--fault",
                "Mul:scale=1.3",
            ],
            check=True,
        )
        convert(made / "msprobe_ge_dump")
        convert(made / "msprobe_fx_dump")
        result = subprocess.run(
            [sys.argv[1], "compare", "-tp", made / "msprobe_ge_dump", "-gp", made / "msprobe_fx_dump", "-m", "torchair", "-o", scratch],
            capture_output=True,
            text=True,
            check=False,
        )
        fine = (
            "first difference (within the limit)  Mul.output.0" in result.stdout and "0 without counterpart, 0 unreadable" in result.stdout
        )
        print(result.stdout, result.stderr if not fine else "")
        return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
