# SPDX-License-Identifier: Apache-2.0
"""How many false alarms msprobe.verify() raises on the problems' own code, and how many cheats it sees, beside torch.allclose.

score.py [--only NAME ...] [--cheats NAME ...] [--seed N] [--json FILE]
"""
import argparse
import json
import sys
import time

import torch

import msprobe
from cheats import CHEATS
from problems import PROBLEMS, arguments

# Those of the benchmark: of float32, and of both half types.
TOLERANCE = {torch.float32: 1e-4, torch.bfloat16: 1e-2, torch.float16: 1e-2}


def allclose_accepts(kernel, run, args):
    """What a check with the benchmark's tolerance says of one example."""
    try:
        given, wanted = kernel(*args), run(*args)
    except Exception:
        return False
    tolerance = TOLERANCE.get(wanted.dtype, 1e-4)
    return given.shape == wanted.shape and torch.allclose(given.float(), wanted.float(), rtol=tolerance, atol=tolerance)


def score(names, cheats, seed, say):
    result = {"problems": len(names), "alarms": [], "inconclusive": [], "cheats": 0, "seen": 0, "missed": [], "allclose_missed": 0, "seconds": 0.0}
    begun = time.monotonic()
    for name in names:
        run, args = PROBLEMS[name].run, arguments(name)
        honest = msprobe.verify(run, run, args, seed=seed)
        if honest.verdict != "right":
            result["alarms" if honest.verdict == "wrong" else "inconclusive"].append([name, str(honest)])
            say(f"{name}: {honest}")
        for cheat in cheats:
            found = msprobe.verify(CHEATS[cheat](run, args), run, args, seed=seed)
            result["cheats"] += 1
            result["seen"] += found.verdict == "wrong"
            if found.verdict != "wrong":
                result["missed"].append([name, cheat])
                say(f"{name}: {cheat} is missed: {found}")
            result["allclose_missed"] += allclose_accepts(CHEATS[cheat](run, args), run, args)
    result["seconds"] = round(time.monotonic() - begun, 1)
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", default=list(PROBLEMS))
    parser.add_argument("--cheats", nargs="*", default=list(CHEATS))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json")
    words = parser.parse_args()
    torch.set_num_threads(1)
    result = score(words.only, words.cheats, words.seed, lambda text: print(text, flush=True))
    share = 100 * result["seen"] / max(1, result["cheats"])
    print(f"{result['problems']} problems: {len(result['alarms'])} false alarms, {len(result['inconclusive'])} inconclusive; "
          f"{result['seen']} of {result['cheats']} cheats seen ({share:.1f} %); allclose accepts {result['allclose_missed']} of them; {result['seconds']} s")
    if words.json:
        with open(words.json, "w", encoding="utf-8") as file:
            json.dump(result, file, indent=1)
    sys.exit(bool(result["alarms"]))


if __name__ == "__main__":
    main()
