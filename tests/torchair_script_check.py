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


def archives_are_read(scratch: pathlib.Path) -> list[str]:
    """parse_torchair_dump_data takes an npz that the script made; what else may be in an archive is refused."""
    import numpy as np
    from msprobe.torchair import parse_torchair_dump_data

    wrong = []
    inputs, outputs = np.arange(12, dtype=np.float32).reshape(3, 2, 2), np.array([[1, 2]], dtype=np.int64)
    np.savez(scratch / "both.npz", inputs=inputs, outputs=outputs)
    read = parse_torchair_dump_data(scratch / "both.npz")
    same = [len(side) == len(made) and all(map(np.array_equal, side, made)) for side, made in zip(read, (inputs, outputs))]
    if same != [True, True] or read[0][0].dtype != np.float32 or read[1][0].dtype != np.int64:
        wrong.append(f"both.npz: {read}")
    np.savez(scratch / "one.npz", outputs=outputs)
    if [len(side) for side in parse_torchair_dump_data(scratch / "one.npz")] != [0, 1]:
        wrong.append("one.npz")
    np.savez(scratch / "other.npz", x=outputs)
    np.savez(scratch / "objects.npz", inputs=np.array([{}, None], dtype=object))
    np.savez(scratch / "value.npz", inputs=np.float32(1))
    np.savez(scratch / "many.npz", inputs=np.zeros((1 << 40, 0), dtype=np.float32))
    (scratch / "torn.npz").write_bytes((scratch / "both.npz").read_bytes()[:-40])
    for name in ("other", "objects", "value", "many", "torn"):
        try:
            parse_torchair_dump_data(scratch / f"{name}.npz")
            wrong.append(f"{name}.npz was read")
        except ValueError as error:
            if f"{name}.npz" not in str(error):
                wrong.append(f"{name}.npz: {error}")
    return wrong


def main() -> int:
    os.environ["MSPROBE_PROGRAM"] = sys.argv[1]
    with tempfile.TemporaryDirectory() as scratch:
        wrong = archives_are_read(pathlib.Path(scratch))
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
        print(result.stdout, result.stderr if not fine else "", *wrong, sep="\n")
        return 0 if fine and not wrong else 1


if __name__ == "__main__":
    sys.exit(main())
