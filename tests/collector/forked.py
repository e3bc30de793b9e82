# SPDX-License-Identifier: Apache-2.0
"""Runs scripts, each in a process of its own, that start with PyTorch loaded: to import it takes longer than the small trainings do.

A server imports PyTorch and forks for each script. Hashes of strings are the same in all of them.
"""
import atexit
import json
import os
import runpy
import subprocess
import sys
import tempfile

_server = None


def _ask(arguments, out, errors):
    global _server
    if _server is None:
        _server = subprocess.Popen([sys.executable, "-W", "ignore", os.path.abspath(__file__)], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONHASHSEED": "0"})
        atexit.register(_server.communicate)
    print(json.dumps([arguments, out, errors]), file=_server.stdin, flush=True)
    return int(_server.stdout.readline())


def run_script(*arguments):
    """What the script printed. `arguments`: its path, and what it gets."""
    with tempfile.TemporaryDirectory() as directory:
        out, errors = os.path.join(directory, "out"), os.path.join(directory, "errors")
        status = _ask(arguments, out, errors)
        with open(out, encoding="utf-8") as file, open(errors, encoding="utf-8") as other:
            if status != 0:
                raise RuntimeError(f"{arguments}: status {status}\n{other.read()}")
            return file.read()


def _run_child(arguments, out, errors):
    for number, path in ((0, os.devnull), (1, out), (2, errors)):
        opened = os.open(path, os.O_RDWR | os.O_CREAT)
        os.dup2(opened, number)
        os.close(opened)
    sys.argv = arguments
    sys.path[0] = os.path.dirname(arguments[0])
    runpy.run_path(arguments[0], run_name="__main__")


def _serve():
    import torch
    if hasattr(torch, "compile"):
        import torch._dynamo  # optimizers load it in their first step
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            return _run_child(*json.loads(line))
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


if __name__ == "__main__":
    _serve()
