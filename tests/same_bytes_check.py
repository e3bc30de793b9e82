#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A call's rows do not depend on how the check was run: any number of engines, any order of the dump, any selection of calls.

usage: same_bytes_check.py MSPROBE DUMP_JSON [-- further options]
"""
import csv, glob, json, os, random, shutil, subprocess, sys, tempfile


def check(program, dump, out, *options):
    command = [program, options[0], "-api_info", dump, "-o", out, "-d", "cpu", *options[1:]]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode not in (0, 1):
        sys.exit(f"{' '.join(command)}\nended with {done.returncode}:\n{done.stdout}")
    result, = glob.glob(os.path.join(out, "accuracy_checking_result_*.csv"))
    return result, result.replace("_result_", "_details_")


def bytes_of(paths):
    maps = paths[0].replace("_result_", "_maps_").replace(".csv", ".jsonl")
    return [open(path, "rb").read() for path in [*paths, maps] if path != maps or os.path.exists(maps)]


def rows_by_call(paths):
    """{call: [its rows of both files]}, without the command that names the dump."""
    rows = {}
    for path in paths:
        with open(path, encoding="utf-8-sig", newline="") as f:
            reader = csv.reader(f)
            titles = next(reader)
            keep = [i for i, title in enumerate(titles) if title != "Rerun Command"]
            for row in reader:
                call = row[0].split(".forward.output")[0].split(".backward.output")[0]
                rows.setdefault(call, []).append([row[i] for i in keep])
    return rows


def shuffled(dump, path):
    """The same entries in another order; a call's two entries stay in theirs."""
    with open(dump) as f:
        content = json.load(f)
    items = list(content["data"].items())
    calls = {}
    for key, entry in items:
        calls.setdefault(key.rsplit(".", 1)[0], []).append((key, entry))
    names = list(calls)
    random.Random(7).shuffle(names)
    content["data"] = {key: entry for name in names for key, entry in calls[name]}
    with open(path, "w") as f:
        json.dump(content, f)
    return names


def main():
    program, dump, *rest = [arg for arg in sys.argv[1:] if arg != "--"]
    dump = os.path.abspath(dump)
    with tempfile.TemporaryDirectory() as scratch:
        one = check(program, dump, os.path.join(scratch, "one"), "acc_check", *rest)
        wanted, wanted_rows = bytes_of(one), rows_by_call(one)
        for name, options in {"again": ["acc_check"], "3 jobs": ["acc_check", "--jobs", "3"],
                              "4 workers": ["multi_acc_check", "-n", "4"]}.items():
            got = check(program, dump, os.path.join(scratch, name.replace(" ", "_")), *options, *rest)
            if bytes_of(got) != wanted:
                sys.exit(f"{name}: other bytes")
            print(f"{name}: the same bytes")
        copy = os.path.join(scratch, "copy")
        os.mkdir(copy)
        if os.path.isdir(os.path.join(os.path.dirname(dump), "dump_tensor_data")):
            shutil.copytree(os.path.join(os.path.dirname(dump), "dump_tensor_data"), os.path.join(copy, "dump_tensor_data"))
        names = shuffled(dump, os.path.join(copy, "dump.json"))
        got = rows_by_call(check(program, os.path.join(copy, "dump.json"), os.path.join(scratch, "shuffled"), "acc_check", *rest))
        if got != wanted_rows:
            sys.exit(f"another order: other rows for {[call for call in wanted_rows if got.get(call) != wanted_rows[call]][:5]}")
        print(f"another order of {len(names)} calls: the same rows")
        some = names[: max(1, len(names) // 5)]
        only = [word for name in some for word in ("--only", name)]
        got = rows_by_call(check(program, dump, os.path.join(scratch, "some"), "acc_check", *only, *rest))
        if got != {call: rows for call, rows in wanted_rows.items() if call in some}:
            sys.exit("a selection: other rows")
        print(f"{len(some)} calls alone: the same rows")


if __name__ == "__main__":
    main()
