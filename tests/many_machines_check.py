#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The same check on one machine, on the ranks of an MPI job, and in shards: the same bytes each time.

usage: many_machines_check.py MSPROBE MSPROBE_MPI [DUMP_JSON] [--ranks 4] [--shards 5] [-- further options]

Without a dump a synthetic one is made (for the fake engine of the unit tests, which MSPROBE_ENGINE names). One MPI run is left
alone; in another a rank is killed midway, and it is continued.
"""
import argparse, os, subprocess, sys, tempfile, time

from kill_check import children, merged_bytes, result_csv, send, synthetic_dump

KILL = 9


def descendants(pid):
    for child in children(pid):
        yield child
        yield from descendants(child)


def name_of(pid):
    try:
        with open(f"/proc/{pid}/comm") as f:
            return f.read().strip()
    except OSError:
        return ""


def mpirun(ranks):
    return ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", str(ranks)]


def run(command, accepted=(0, 1)):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode not in accepted:
        sys.exit(f"{' '.join(command)}\nended with {done.returncode}:\n{done.stdout}")
    return done.stdout


def wait_for_rows(out, rows, process):
    """True once the result CSV holds so many rows; False when the run ended before."""
    while process.poll() is None:
        result = result_csv(out)
        if result and open(result, "rb").read().count(b"\n") > rows:
            return True
        time.sleep(0.002)
    return False


def lose_a_rank(command, out):
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    if not wait_for_rows(out, 20, process):
        sys.exit("the run ended before a rank could be killed")
    ranks = [pid for pid in descendants(process.pid) if name_of(pid) == "msprobe-mpi"]
    send(max(ranks), KILL)
    status = process.wait()
    if status == 0:
        sys.exit("mpirun did not notice that a rank was killed")
    kept = open(result_csv(out), "rb").read().count(b"\n") - 1
    print(f"a rank of {len(ranks)} killed: mpirun ended with {status}, {kept} rows kept")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("msprobe")
    parser.add_argument("msprobe_mpi")
    parser.add_argument("dump", nargs="?")
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--shards", type=int, default=5)
    parser.add_argument("rest", nargs="*", default=[])
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        dump = args.dump
        if dump is None:
            dump = os.path.join(scratch, "dump.json")
            synthetic_dump(dump, 1500, slow=200)
            os.environ["MSPROBE_FAKE_DIRECTORY"] = scratch

        def command(program, name, *more):
            return [*program, "-api_info", dump, "-d", "cpu", *more, *args.rest], os.path.join(scratch, name)

        def expect_same(what, out):
            if merged_bytes(out) != wanted:
                sys.exit(f"{what}: other bytes than one machine's")
            print(f"{what}: the bytes of one machine")

        one, out = command([args.msprobe, "acc_check"], "one")
        run([*one, "-o", out])
        wanted = merged_bytes(out)
        mpi, out = command([*mpirun(args.ranks), args.msprobe_mpi, "multi_acc_check"], "mpi", "-n", "2")
        run([*mpi, "-o", out])
        expect_same(f"{args.ranks} ranks", out)
        _, out = command([], "lost")
        lose_a_rank([*mpi, "-o", out], out)
        run([*mpi, "-csv_path", result_csv(out)])
        expect_same("continued after the loss of a rank", out)
        shards = []
        for number in range(1, args.shards + 1):
            shard, out = command([args.msprobe, "acc_check"], f"shard{number}", "--shard", f"{number}/{args.shards}")
            run([*shard, "-o", out])
            shards.append(out)
        out = os.path.join(scratch, "merged")
        run([args.msprobe, "merge_checks", *shards, "-o", out])
        expect_same(f"{args.shards} shards", out)


if __name__ == "__main__":
    main()
