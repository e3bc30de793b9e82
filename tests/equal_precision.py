#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The engine computes what Python computed: a recorded dump replayed in equal precision, then the same dump with faults.

usage: equal_precision.py ENGINE DUMP_FOLDER

DUMP_FOLDER must replay with nothing beyond 2 ulp. Then each fault is put into a copy of its own, and must be found and named.
Standard library only.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

SUMMARY = re.compile(r"^(outputs|gradients): (\d+) calls, (\d+) did not run; "
                     r"(\d+) equal, (\d+) within 2 ulp, (\d+) beyond, (\d+) not comparable$", re.M)


def replay(engine, folder, *more):
    command = [engine, "--replay", os.path.join(folder, "dump.json"), "--equal-precision", *more]
    run = subprocess.run(command, capture_output=True, text=True, timeout=1200)
    return run.returncode, run.stdout + run.stderr


def change_file(folder, name):
    """Flips a bit of the exponent of the first element; the archive's checksum is put right."""
    import zipfile
    path = os.path.join(folder, "dump_tensor_data", name)
    with zipfile.ZipFile(path) as old:
        members = [(info.filename, old.read(info)) for info in old.infolist()]
    with zipfile.ZipFile(path, "w") as new:
        for member, data in members:
            if member.endswith("/data/0"):
                data = data[:3] + bytes([data[3] ^ 0x01]) + data[4:]
            new.writestr(member, data)


def change_entry(folder, entry, change):
    path = os.path.join(folder, "dump.json")
    with open(path) as file:
        document = json.load(file)
    change(document["data"][entry])
    with open(path, "w") as file:
        json.dump(document, file)


def drop_output(entry):
    entry["output"].append(entry["output"][0])


def other_argument(entry):
    entry["input_args"][1]["value"] = 4


FAULTS = {
    "a recorded output of another value": (
        lambda folder: change_file(folder, "Functional.linear.0.forward.output.0.pt"),
        r"^outputs:[^;]*;.* 1 beyond.*\n  beyond: Functional\.linear\.0 0: .* ulp$"),
    "a recorded gradient of another value": (
        lambda folder: change_file(folder, "Functional.relu.0.backward.output.0.pt"),
        r"^gradients:[^;]*;.* 1 beyond.*\n  beyond: Functional\.relu\.0 0: .* ulp$"),
    "an output too many": (
        lambda folder: change_entry(folder, "Tensor.view.0.forward", drop_output), r"beyond: Tensor\.view\.0 "),
    "another argument": (
        lambda folder: change_entry(folder, "Tensor.add_.0.forward", other_argument), r"beyond: Tensor\.add_\.0 0: .* ulp$"),
    "a missing file": (
        lambda folder: os.remove(os.path.join(folder, "dump_tensor_data", "Torch.cat.0.forward.input.0.0.pt")),
        r"did not run: 1 x missing_data: .* \(Torch\.cat\.0\)$"),
}


def main():
    engine, folder = sys.argv[1:]
    failures = []
    status, text = replay(engine, folder)
    print(text)
    found = SUMMARY.findall(text)
    if status != 0 or [row[0] for row in found] != ["outputs", "gradients"]:
        failures.append(f"the whole dump: status {status}")
    if any(int(row[3]) == 0 or int(row[5]) != 0 for row in found):
        failures.append("the whole dump: nothing equal, or something beyond 2 ulp")
    for fault, (make, wanted) in FAULTS.items():
        with tempfile.TemporaryDirectory(prefix="msprobe_replay_") as place:
            copy = os.path.join(place, "dump")
            shutil.copytree(folder, copy)
            make(copy)
            status, text = replay(engine, copy)
            if status != 1 or not re.search(wanted, text, re.M):
                failures.append(f"{fault}: status {status}\n{text}")
    status, text = replay(engine, folder, "--only", "Torch.no_such.0")
    if status != 1:
        failures.append(f"no call at all: status {status}")
    print(*failures, sep="\n")
    sys.exit(1 if failures else 0)


main()
