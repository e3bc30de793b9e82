#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Only the calls of a broken or hostile engine are lost: msprobe ends by itself, with a true status and little memory.

usage: hostile_engine_check.py PROGRAM FAKE_ENGINE

This script is the engine too: it starts the fake engine and spoils what that says on its way to msprobe (--spoil, from HOSTILE_ENGINE).
"""
import json
import os
import pathlib
import random
import resource
import struct
import subprocess
import sys
import tempfile
import threading

HEAD = struct.Struct("<QB")
HELLO, FATAL, RUN, REQUEST, RESPONSE, OPERATION, RESULT = range(7)
CALLS = 12
MOST_MEGABYTES = 400


def frames(stream):
    """(kind, payload) of each frame that arrives."""
    while True:
        head = stream.read(HEAD.size)
        if len(head) < HEAD.size:
            return
        size, kind = HEAD.unpack(head)
        yield kind, stream.read(size)


def framed(kind, payload):
    return HEAD.pack(len(payload), kind) + payload


def announced(size, kind, sent):
    """A frame that promises `size` bytes, and a flood of `sent` bytes."""
    yield HEAD.pack(size, kind)
    piece = bytes(1 << 20)
    for _ in range(sent >> 20):
        yield piece


def flipped(payload, numbers):
    spoiled = bytearray(payload)
    for _ in range(3):
        spoiled[numbers.randrange(len(spoiled))] ^= 1 << numbers.randrange(8)
    return bytes(spoiled)


# What becomes of a frame: pieces that are written. `numbers`: chosen anew for each engine.
SPOILED = {
    "honest": lambda kind, payload, numbers: [framed(kind, payload)],
    "long hello": lambda kind, payload, numbers: announced(2 << 30, HELLO, 512 << 20),
    "long response": lambda kind, payload, numbers:
        [framed(kind, payload)] if kind == HELLO else announced(2 << 30, RESPONSE, 512 << 20),
    "longest length": lambda kind, payload, numbers:
        [framed(kind, payload)] if kind == HELLO else announced((1 << 64) - 1, RESPONSE, 1 << 20),
    "requests come back": lambda kind, payload, numbers:
        [framed(kind, payload)] if kind == HELLO else announced(1 << 30, REQUEST, 512 << 20),
    "hello again": lambda kind, payload, numbers: [framed(HELLO, payload), framed(HELLO, payload)],
    "another kind": lambda kind, payload, numbers: [framed(kind, payload) if kind == HELLO else framed(RESULT, payload)],
    "no kind": lambda kind, payload, numbers: [framed(kind, payload) if kind == HELLO else framed(200, payload)],
    "cut": lambda kind, payload, numbers: [framed(kind, payload if kind == HELLO else payload[: len(payload) // 2])],
    "longer": lambda kind, payload, numbers: [framed(kind, payload if kind == HELLO else payload + b"more")],
    "another call": lambda kind, payload, numbers:
        [framed(kind, payload if kind == HELLO else struct.pack("<Q", 1 << 40) + payload[8:])],
    "twice": lambda kind, payload, numbers: [framed(kind, payload)] * (1 if kind == HELLO else 2),
    "flipped bits": lambda kind, payload, numbers: [framed(kind, payload if kind == HELLO else flipped(payload, numbers))],
    "flipped hello": lambda kind, payload, numbers: [framed(kind, flipped(payload, numbers))],
    "noise": lambda kind, payload, numbers: [framed(kind, payload) if kind == HELLO else numbers.randbytes(10_000)],
    "byte by byte": lambda kind, payload, numbers: [bytes([byte]) for byte in framed(kind, payload)],
}


def engine(how):
    """Stands between msprobe and the fake engine."""
    real = subprocess.Popen([os.environ["HOSTILE_ENGINE_REAL"], *sys.argv[1:]], stdin=sys.stdin, stdout=subprocess.PIPE)
    if how == "floods errors":
        def flood():
            while True:
                os.write(2, b"e" * 65536)
        threading.Thread(target=flood, daemon=True).start()
        how = "honest"
    numbers = random.Random(os.getpid())
    try:
        for kind, payload in frames(real.stdout):
            if how == "closes" and kind != HELLO:
                break
            for piece in SPOILED.get(how, SPOILED["honest"])(kind, payload, numbers):
                while piece:
                    piece = piece[os.write(1, piece):]
    except BrokenPipeError:
        pass
    real.kill()
    real.wait()
    os._exit(0)


def dump(path):
    entry = {"input_args": [], "input_kwargs": {}, "output": []}
    path.write_text(json.dumps({"task": "statistics", "level": "L1", "framework": "pytorch", "dump_data_dir": None,
                                "data": {f"Torch.a.{i}.forward": entry for i in range(CALLS)}}))


def rows(out):
    found = list(out.glob("accuracy_checking_result_*.csv"))
    return len(found[0].read_text().splitlines()) - 1 if found else 0


def limit_memory():
    """What msprobe itself may take; an engine inherits the limit, but needs less. A sanitizer needs terabytes of addresses."""
    resource.setrlimit(resource.RLIMIT_DATA, (MOST_MEGABYTES << 20, MOST_MEGABYTES << 20))


def main():
    program, fake = map(os.path.abspath, sys.argv[1:3])
    failures = []
    with tempfile.TemporaryDirectory() as directory:
        scratch = pathlib.Path(directory)
        dump(scratch / "dump.json")
        proxy = scratch / "engine"
        proxy.write_text(f"#!/bin/sh\nexec {sys.executable} {os.path.abspath(__file__)} \"$@\"\n")
        proxy.chmod(0o755)
        for how in [*SPOILED, "floods errors", "closes"]:
            out = scratch / how.replace(" ", "_")
            environment = dict(os.environ, HOSTILE_ENGINE=how, HOSTILE_ENGINE_REAL=fake, MSPROBE_FAKE_DIRECTORY=directory)
            words = [program, "acc_check", "-api_info", str(scratch / "dump.json"), "-d", "cpu", "-o", str(out), "--engine", str(proxy),
                     "--timeout", "20"]
            process = subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                       preexec_fn=None if "--without-limit" in sys.argv else limit_memory)
            try:
                said = process.communicate(timeout=120)[0].decode(errors="replace")
            except subprocess.TimeoutExpired:
                process.kill()
                failures.append(f"{how}: no end")
                continue
            status = process.returncode
            honest = how in ("honest", "byte by byte", "floods errors")
            if status not in (0, 1, 2) or (honest and status != 0) or "out of memory" in said:
                failures.append(f"{how}: status {status}: {said[-500:]}")
            elif status != 2 and rows(out) != CALLS:
                failures.append(f"{how}: status {status} with {rows(out)} of {CALLS} calls")
            print(f"{how}: {status}, {rows(out)} rows", flush=True)
    print("\n".join(failures))
    return 1 if failures else 0


if __name__ == "__main__":
    if "HOSTILE_ENGINE" in os.environ:
        engine(os.environ["HOSTILE_ENGINE"])
    sys.exit(main())
