#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Disturb a check again and again, continue it each time, and compare the bytes with an undisturbed run.

usage: kill_check.py PROGRAM [DUMP_JSON] [--kills 20] [--workers 4] [--seed 1] [--only DISTURBANCE...] [--tmpfs] [--without-run-file]
                     [-- further options]

Without a dump a synthetic one is made (for the fake engine of the unit tests, which MSPROBE_ENGINE names).
Each round starts a check with several workers and then, at a random moment, does one of: SIGKILL to msprobe, SIGKILL to one of
its engines, SIGTERM to msprobe, or a full disk (a file-size limit that the CSVs outgrow). The check is continued with -csv_path
until it ends by itself. With --tmpfs (as root) the results lie on a file system in memory, and a full disk is that one made too
small. With --without-run-file, accuracy_checking_run_*.txt is deleted before each continuation: the two documented CSVs must do.
The merged pair must equal that of one worker that nobody disturbed. With the fake engine the calls computed are counted too: a
kill may cost at most the window and what was in flight.
"""
import argparse, collections, glob, json, os, random, resource, shutil, signal, subprocess, sys, tempfile, time

WINDOW = 256
DISTURBANCES = ["kill msprobe", "kill an engine", "SIGTERM", "full disk"]


def synthetic_dump(path, calls, slow=0):
    """`slow` of the calls take 20 ms."""
    names = ["Torch.a" if i % 11 else "Torch.mapped" if i % 2 else "Torch.lost" for i in range(calls)]
    if slow:
        names[:: calls // slow] = ["Torch.slow"] * len(names[:: calls // slow])
    entry = {"input_args": [], "input_kwargs": {}, "output": []}
    data = {f"{name}.{i}.forward": entry for i, name in enumerate(names)}
    with open(path, "w") as f:
        json.dump({"task": "statistics", "level": "L1", "framework": "pytorch", "dump_data_dir": None, "data": data}, f)


def result_csv(out):
    found = glob.glob(os.path.join(out, "accuracy_checking_result_*.csv"))
    return found[0] if found else None


def read(path):
    with open(path, "rb") as f:
        return f.read()


def merged_bytes(out):
    """Of the result CSV, the details CSV and the error maps, if there are any."""
    result = result_csv(out)
    maps = result.replace("_result_", "_maps_").replace(".csv", ".jsonl")
    return read(result), read(result.replace("_result_", "_details_")), read(maps) if os.path.exists(maps) else None


def children(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as f:
            return [int(child) for child in f.read().split()]
    except OSError:
        return []


def start(command, limit_bytes=None):
    def limit():
        if limit_bytes is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit_bytes, resource.RLIM_INFINITY))
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, preexec_fn=limit)


def send(pid, number):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


class Disk:
    """Where the results lie: a directory, or a small file system of its own."""

    def __init__(self, path, tmpfs):
        self.path, self.tmpfs = path, tmpfs
        os.makedirs(path)
        if tmpfs:
            subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1g", "none", path], check=True)

    def resize(self, kilobytes):
        subprocess.run(["mount", "-o", f"remount,size={kilobytes}k", self.path], check=True)

    def used_kilobytes(self):
        info = os.statvfs(self.path)
        return (info.f_blocks - info.f_bfree) * info.f_frsize // 1024

    def close(self):
        if self.tmpfs:
            subprocess.run(["umount", self.path], check=True)


def fill_up(command, disk, random_numbers, size):
    """A run that meets a full disk."""
    free = random_numbers.randrange(1000, max(size, 1001))
    if not disk.tmpfs:
        process = start(command, free)
        return process.communicate()[1], process.returncode
    disk.resize(disk.used_kilobytes() + free // 1024)
    process = start(command)
    said = process.communicate()[1]
    disk.resize(1 << 20)
    return said, process.returncode


def disturb(command, disk, how, random_numbers, longest, size):
    """One disturbed run; its exit status and what it said."""
    if how == "full disk":
        said, code = fill_up(command, disk, random_numbers, size)
        if code == 2 and "space" not in said and "too large" not in said:
            return 99, f"a full disk is not named: {said[-300:]}"
        return code, said
    process = start(command)
    time.sleep(random_numbers.random() * longest)
    if how == "kill msprobe":
        send(process.pid, signal.SIGKILL)
    elif how == "SIGTERM":
        send(process.pid, signal.SIGTERM)
    elif how == "kill an engine":
        engines = children(process.pid)
        if engines:
            send(random_numbers.choice(engines), signal.SIGKILL)
    said = process.communicate()[1]
    return process.returncode, said


def logged_calls():
    path = os.path.join(os.environ.get("MSPROBE_FAKE_DIRECTORY", "/nowhere"), "calls.log")
    return sum(1 for _ in open(path)) if os.path.exists(path) else None


def main():
    argv, further = sys.argv[1:], []
    if "--" in argv:
        argv, further = argv[: argv.index("--")], argv[argv.index("--") + 1:]
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("program"), p.add_argument("dump", nargs="?")
    p.add_argument("--kills", type=int, default=20), p.add_argument("--workers", type=int, default=4)
    p.add_argument("--seed", type=int, default=1), p.add_argument("--only", nargs="+", choices=DISTURBANCES, default=DISTURBANCES)
    p.add_argument("--tmpfs", action="store_true"), p.add_argument("--without-run-file", action="store_true")
    a = p.parse_args(argv)
    numbers = random.Random(a.seed)
    scratch = tempfile.mkdtemp(prefix="msprobe_kill_")
    failures, counts, costliest = [], collections.Counter(), 0
    disk = Disk(os.path.join(scratch, "disk"), a.tmpfs)
    try:
        os.environ.setdefault("MSPROBE_FAKE_DIRECTORY", scratch)
        dump = a.dump or os.path.join(scratch, "dump.json")
        if not a.dump:
            synthetic_dump(dump, 3000)
        calm = os.path.join(scratch, "calm")
        began = time.perf_counter()
        one = start([a.program, "acc_check", "-api_info", dump, "-o", calm, *further])
        said = one.communicate()[1]
        seconds = time.perf_counter() - began
        if result_csv(calm) is None:
            sys.exit(f"the undisturbed run failed: {said[-500:]}")
        wanted = merged_bytes(calm)
        per_run, status = logged_calls(), one.returncode
        disturbed = 0
        while disturbed < a.kills and not failures:
            out = os.path.join(disk.path, f"out{disturbed}")
            base = [a.program, "multi_acc_check", "-api_info", dump, "-o", out, "-n", str(a.workers), *further]
            before, kills_here = logged_calls(), 0
            while True:
                resume = ["-csv_path", result_csv(out)] if os.path.isdir(out) and result_csv(out) else []
                if resume and a.without_run_file:
                    for forgotten in glob.glob(os.path.join(out, "accuracy_checking_run_*.txt")):
                        os.remove(forgotten)
                calm_now = kills_here >= 5 or disturbed >= a.kills
                if calm_now:
                    process = start(base + resume)
                    said = process.communicate()[1]
                    code = process.returncode
                else:
                    how = numbers.choice(a.only)
                    code, said = disturb(base + resume, disk, how, numbers, seconds, max(map(len, wanted)))
                    counts[how] += 1
                    disturbed += 1
                    kills_here += 1
                if code == status:
                    break
                if calm_now:
                    failures.append(f"an undisturbed continuation ended with {code}: {said[-500:]}")
                    break
                if code not in (2, -signal.SIGKILL, -signal.SIGTERM):
                    failures.append(f"{how}: ended with {code}: {said[-500:]}")
                    break
            if failures:
                break
            if merged_bytes(out) != wanted:
                failures.append(f"round {disturbed}: the bytes differ")
                shutil.copytree(out, os.path.join(tempfile.gettempdir(), "msprobe_kill_differs"), dirs_exist_ok=True)
            if before is not None and kills_here:
                again = (logged_calls() - before - per_run) / kills_here
                costliest = max(costliest, again)
                if again > WINDOW + 16 * a.workers:
                    failures.append(f"round {disturbed}: {again:.0f} calls computed again per disturbance")
            shutil.rmtree(out)
    finally:
        disk.close()
        shutil.rmtree(scratch, ignore_errors=True)
    print(f"{disturbed} disturbances {dict(counts)}, one worker alone {seconds:.1f} s, at most {costliest:.0f} calls computed "
          f"again per disturbance; {'; '.join(failures) or 'same bytes every time'}")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
