#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a whole check costs beside its operators, pinned to one core; medians of --repeats interleaved runs.

usage: check.py MSPROBE [--repeats 9] [--dump DUMP_JSON --yardstick BARE_LOOP_PY]
       check.py MSPROBE --large [--repeats 3]

  a small call        adding two tensors of 24 elements, generated inputs: microseconds of the whole check per call (msprobe, engine,
                      operators), from the difference of a long and a short dump, so without start-up; beside it what the two
                      operator runs alone take in Python
  a file              how much more a call takes whose two inputs are stored, per file
  the first verdict   seconds from the start to the first row in the result CSV
  memory              resident peak of msprobe and its engine, over a short and a long dump
  --large             instead of all this: GPT-2 and ResNet-50 of real width, recorded here (large_models.py), CPU seconds of a check of
                      real data and of statistics, start-up included, beside plain_loop.py, which only loads and runs the calls
  --dump, --yardstick a real-data dump, and a script that only loads and runs its calls in Python (it prints "... in SECONDS s")
"""
import argparse, glob, json, os, re, resource, statistics, subprocess, sys, tempfile, time, timeit

SHORT, LONG = 1000, 21000


def pinned():
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def tensor(file=None):
    record = {"type": "torch.Tensor", "dtype": "torch.float32", "shape": [4, 6], "Max": 2.0, "Min": -2.0, "Mean": 0.1, "Norm": 5.0,
              "requires_grad": False}
    return {**record, "data_name": file} if file else record


def write_dump(directory, calls, stored):
    """`stored`: each call has its own two files, as a recording has."""
    os.makedirs(os.path.join(directory, "dump_tensor_data"))
    data = {}
    for i in range(calls):
        files = [f"Torch.add.{i}.forward.input.{k}.pt" if stored else None for k in (0, 1)]
        data[f"Torch.add.{i}.forward"] = {"input_args": [tensor(f) for f in files], "input_kwargs": {}, "output": [tensor()]}
        for file in filter(None, files):
            os.link(stored, os.path.join(directory, "dump_tensor_data", file))
    path = os.path.join(directory, "dump.json")
    with open(path, "w") as f:
        json.dump({"task": "tensor" if stored else "statistics", "level": "L1", "framework": "pytorch",
                   "dump_data_dir": "dump_tensor_data" if stored else None, "data": data}, f)
    return path


def seconds_of(program, dump, scratch):
    with tempfile.TemporaryDirectory(dir=scratch) as out:
        start = time.perf_counter()
        done = subprocess.run([program, "acc_check", "-api_info", dump, "-o", out, "-d", "cpu"], capture_output=True, text=True,
                              preexec_fn=pinned)
        taken = time.perf_counter() - start
    if done.returncode not in (0, 1):
        sys.exit(done.stdout + done.stderr)
    return taken


def seconds_to_first_row(program, dump, scratch):
    with tempfile.TemporaryDirectory(dir=scratch) as out:
        start = time.perf_counter()
        process = subprocess.Popen([program, "acc_check", "-api_info", dump, "-o", out, "-d", "cpu"], stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL, preexec_fn=pinned)
        while process.poll() is None:
            found = glob.glob(os.path.join(out, "accuracy_checking_result_*.csv"))
            if found and open(found[0], "rb").read().count(b"\n") > 1:
                break
            time.sleep(0.001)
        taken = time.perf_counter() - start
        process.kill()
        process.wait()
    return taken


def peak_megabytes(program, dump, scratch):
    """The larger of msprobe and its engine, run in a child so that each figure is its own."""
    code = ("import resource, subprocess, sys; subprocess.run(sys.argv[1:], capture_output=True); "
            "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)")
    with tempfile.TemporaryDirectory(dir=scratch) as out:
        done = subprocess.run([sys.executable, "-c", code, program, "acc_check", "-api_info", dump, "-o", out, "-d", "cpu"],
                              capture_output=True, text=True)
    return int(done.stdout) / 1024


def operator_microseconds():
    import torch
    torch.set_num_threads(1)
    single = torch.randn(4, 6)
    double = single.double()
    return min(timeit.repeat(lambda: (torch.add(single, single), torch.add(double, double)), number=20000, repeat=5)) / 20000 * 1e6


def median_of(repeats, **ways):
    times = {name: [] for name in ways}
    for _ in range(repeats):
        for name, way in ways.items():
            times[name].append(way())
    return {name: statistics.median(taken) for name, taken in times.items()}


def small_calls(program, repeats, scratch):
    import torch
    stored = os.path.join(scratch, "stored.pt")
    torch.save(torch.randn(4, 6), stored)
    dumps = {f"{kind}_{calls}": write_dump(os.path.join(scratch, f"{kind}_{calls}"), calls, stored if kind == "real" else None)
             for kind in ("random", "real") for calls in (SHORT, LONG)}
    times = median_of(repeats, **{name: (lambda dump=dump: seconds_of(program, dump, scratch)) for name, dump in dumps.items()})
    per_call = {kind: (times[f"{kind}_{LONG}"] - times[f"{kind}_{SHORT}"]) / (LONG - SHORT) * 1e6 for kind in ("random", "real")}
    print(
        f"a small call       {per_call['random']:6.1f} us, of which operators {operator_microseconds():.1f} us "
        "(50 us beside them are allowed)"
    )
    print(f"a file             {(per_call['real'] - per_call['random']) / 2:6.1f} us (25 us are allowed)")
    first = median_of(repeats, first=lambda: seconds_to_first_row(program, dumps[f"random_{LONG}"], scratch))["first"]
    print(f"the first verdict  {first:6.2f} s  (0.5 s are allowed)")
    print(f"memory             {peak_megabytes(program, dumps[f'random_{SHORT}'], scratch):6.0f} MB over {SHORT} calls, "
          f"{peak_megabytes(program, dumps[f'random_{LONG}'], scratch):.0f} MB over {LONG}")


def yardstick_seconds(script, dump):
    done = subprocess.run([sys.executable, script, dump], capture_output=True, text=True, preexec_fn=pinned)
    return float(re.search(r"in ([0-9.]+) s", done.stdout).group(1))


def cpu_seconds_of(program, dump, scratch):
    def used():
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime
    before = used()
    seconds_of(program, dump, scratch)
    return used() - before


def large_calls(program, repeats, scratch):
    here = os.path.dirname(os.path.abspath(__file__))
    for model in ("gpt2", "resnet50"):
        dumps = {}
        for task in ("tensor", "statistics"):
            path = os.path.join(scratch, model + task)
            subprocess.run([sys.executable, os.path.join(here, "large_models.py"), model, task, path], check=True, stdout=subprocess.DEVNULL)
            dumps[task] = os.path.join(path, "step0", "rank0", "dump.json")
        times = median_of(repeats, real=lambda: cpu_seconds_of(program, dumps["tensor"], scratch),
                          generated=lambda: cpu_seconds_of(program, dumps["statistics"], scratch),
                          plain=lambda: yardstick_seconds(os.path.join(here, "plain_loop.py"), dumps["tensor"]))
        print(f"{model:10} real data {times['real']:6.2f} s, the loop in Python alone {times['plain']:.2f} s: "
              f"{times['real'] / times['plain']:.2f} (1.2 is wanted); statistics {times['generated']:.2f} s: "
              f"{times['generated'] / times['real']:.2f} of real data (1.2 is wanted)")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--dump")
    parser.add_argument("--yardstick")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        if args.large:
            large_calls(args.program, args.repeats, scratch)
            return
        small_calls(args.program, args.repeats, scratch)
        if args.dump and args.yardstick:
            seconds_of(args.program, args.dump, scratch)  # warms the page cache
            times = median_of(3, ours=lambda: seconds_of(args.program, args.dump, scratch),
                              theirs=lambda: yardstick_seconds(args.yardstick, args.dump))
            print(f"a whole dump       {times['ours']:6.2f} s, start-up included; the loop in Python alone {times['theirs']:.2f} s: "
                  f"{times['ours'] / times['theirs']:.0%} (50 % are allowed)")


if __name__ == "__main__":
    main()
