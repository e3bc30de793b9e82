#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Score msprobe probe_device on random configurations of the simulated device.

    python3 tools/score_probe_device.py build/release/bin/msprobe --count 200 --seed 1
    python3 tools/score_probe_device.py build/release/bin/msprobe --count 1 --seed 1 --only products --show

Each configuration is a matrix unit (block, bits, cuts, order, inputs, accumulator), a way with subnormals and overflow, and a few
elementary functions that are off. The card must name them. A field is right if the card's value, or one of those it leaves open
("zero or down", "at least 27"), is the true one; "cannot tell" is not right. Fields that do not show are counted apart: the card
says that every choice gives the same results (how terms are cut, if sums are then rounded to 8 bits). The exit status is 1 if a
claim of high confidence is wrong, or if less than --least of the other fields are right.
"""

import argparse
import collections
import json
import pathlib
import random
import re
import resource
import statistics
import subprocess
import sys
import tempfile

SECTIONS = ["products", "casts", "functions", "reductions"]
DTYPES = ["float32", "float16", "bfloat16"]
FLOAT8 = "float8_e4m3fn"
# Operators whose results can be spoiled, by the name the device knows.
SPOILABLE = ["exp", "log", "tanh", "erf", "sigmoid", "silu", "gelu", "sin", "cos", "rsqrt", "expm1", "log1p", "atan"]
HIDDEN = "every choice gives the same results"
SPOILERS = ["one_ulp", "other_rounding", "times_two"]


def draw(rng: random.Random) -> dict:
    unit = {
        "block": rng.choice([1, 2, 4, 8, 16, 32]),
        "bits": rng.choice([22, 23, 23, 24, 24, 25, 25, 26, 30]),
        "cut": rng.choice(["zero", "zero", "down", "nearest"]),
        "sum": rng.choice(["zero", "down", "nearest", "nearest"]),
        "running": rng.choice(["joined", "joined", "joined", "apart"]),
        "aligned": rng.choice(["factors", "factors", "product"]),
        "inputs": rng.choice(["as_they_are", "as_they_are", "tf32", "hf32", "bfloat16", "float16"]),
        "order": rng.choice(["in_order", "in_order", "reversed", "strided", "halves"]),
        "accumulator": rng.choice(["float32"] * 6 + ["bfloat16", "float16"]),
    }
    if unit["block"] == 1 and unit["order"] == "strided":  # the same as in order
        unit["order"] = "in_order"
    spoiled = {name: rng.choice(SPOILERS) for name in rng.sample(SPOILABLE, 3)}
    return {"unit": unit, "ftz": rng.random() < 0.3, "saturate": rng.random() < 0.3, "spoiled": spoiled}


def profile(config: dict) -> str:
    text = "unit:" + ",".join(f"{key}={value}" for key, value in config["unit"].items())
    return text + ("+ftz" if config["ftz"] else "") + ("+saturate" if config["saturate"] else "")


def rules(config: dict) -> str:
    return "faults:\n" + "".join(f"  - {{fault: {fault}, operators: [{name}]}}\n" for name, fault in config["spoiled"].items())


def allows(value: str, truth: str) -> bool:
    """Whether the claim holds: one value, or several that the card leaves open."""
    if found := re.fullmatch(r"at least (\d+)", value):
        return int(truth) >= int(found[1])
    if found := re.fullmatch(r"(\d+) to (\d+)", value):
        return int(found[1]) <= int(truth) <= int(found[2])
    return truth in value.split(" or ")


def rounding_of(inputs: str, dtype: str) -> str:
    """What a rounding of inputs does to numbers of this dtype, if anything."""
    changes = {"float32": ["tf32", "hf32", "bfloat16", "float16"], "float16": ["bfloat16"], "bfloat16": ["float16"], FLOAT8: []}
    return inputs if inputs in changes[dtype] else "as_they_are"


def product_truth(config: dict) -> dict:
    unit = config["unit"]
    truth = {}
    for dtype in [*DTYPES, FLOAT8]:
        fields = {"block": unit["block"], "order": unit["order"], "fraction bits": unit["bits"], "terms are cut": unit["cut"],
                  "partial sums are cut": unit["sum"], "running sum": unit["running"], "terms are aligned by": unit["aligned"],
                  "accumulator": unit["accumulator"], "depends on run": "no", "depends on shape": "no",
                  "depends on batch position": "no",
                  "input rounding": rounding_of(unit["inputs"], dtype),
                  "subnormal inputs": "flushed to zero" if config["ftz"] else "kept",
                  "subnormal results": "flushed to zero" if config["ftz"] else "kept",
                  "overflow": "largest number" if config["saturate"] else "infinity"}
        # Products of float8 give float32, have no batches, and the simulated device never flushes their factors.
        if dtype == FLOAT8:
            fields.update({"subnormal inputs": "kept", "subnormal results": None, "overflow": None, "depends on batch position": None})
            truth.update({("products", dtype, field): str(value) for field, value in fields.items() if value is not None})
            continue
        # Inputs that are rounded to float16 have no such small and large numbers.
        if unit["inputs"] == "float16" and dtype != "float16":
            fields["subnormal inputs"] = "flushed to zero"
            fields["subnormal results"] = None
            fields["overflow"] = None
        if unit["accumulator"] == "float16" and dtype != "float16":
            fields["subnormal results"] = "flushed to zero"
            fields["subnormal inputs"] = None
        truth.update({("products", dtype, field): str(value) for field, value in fields.items() if value is not None})
    return truth


def cast_truth() -> dict:
    """The simulated device moves numbers from dtype to dtype as the CPU does, whatever its profile."""
    return {("casts", "float32 to float16", "overflow"): "infinity", ("casts", "float32 to bfloat16", "overflow"): "infinity",
            ("casts", "float32 to float16", "subnormal results"): "kept",
            ("casts", "float16 to float32", "subnormal inputs"): "kept",
            ("casts", "float32 to float16", "rounding"): "to nearest, ties to even",
            ("casts", "float32 to bfloat16", "rounding"): "to nearest, ties to even"}


def function_truth(config: dict, plain: dict) -> dict:
    """A function that is not spoiled errs as on the exact device; one that is, by about as much as its fault says."""
    truth = {}
    for key, line in plain.items():
        section, subject, field = key
        if section != "functions" or field not in ("largest error", "subnormals") or line["value"] is None:
            continue
        # An infinity too early is a finite number, and a large error, on a device that saturates.
        early = config["saturate"] and plain[section, subject, "infinities and NaN"]["value"] == "wrong"
        operator = subject.split()[0].removesuffix("_tanh")  # both forms of gelu are one operator
        if operator in config["spoiled"]:
            continue
        if field == "subnormals":
            truth[key] = "flushed to zero" if config["ftz"] else line["value"]
        elif not early:
            truth[key] = line["value"]
    return truth


def reduction_truth(plain: dict) -> dict:
    """Sums and softmax of the simulated device are the CPU's; units compute its attention."""
    return {key: line["value"] for key, line in plain.items()
            if key[0] == "reductions" and key[2].split()[0] in ("sum", "mean", "softmax", "layer_norm") and line["value"] is not None}


def spoiled_claims(config: dict, card: dict, plain: dict) -> list:
    """Of each spoiled function: whether the card says that it is less exact than the plain one."""
    found = []
    for name in config["spoiled"]:
        for dtype in DTYPES:
            key = ("functions", f"{name} {dtype}", "correctly rounded")
            if key not in card or card[key]["value"] is None or plain[key]["value"] is None:
                found.append((key, "", False))
                continue
            share = float(card[key]["value"].split()[0])
            found.append((key, card[key]["value"], share < float(plain[key]["value"].split()[0])))
    return found


def child_seconds() -> float:
    """CPU time of the programs that ended: on a busy machine, what one core would need."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def probe(msprobe: str, place: pathlib.Path, only: list, extra: list) -> tuple:
    out = place / "card.json"
    begin = child_seconds()
    words = [msprobe, "probe_device", "-d", "sim", "-o", str(out), *extra]
    for section in only:
        words += ["--only", section]
    done = subprocess.run(words, capture_output=True, text=True)
    seconds = child_seconds() - begin
    assert done.returncode == 0, f"{words}: status {done.returncode}\n{done.stderr}"
    lines = json.loads(out.read_text())["lines"]
    return {(line["section"], line["subject"], line["field"]): line for line in lines}, seconds


def grade(config: dict, card: dict, plain: dict, only: list) -> list:
    """(field, claim, truth, right, confidence) of every field with a known truth."""
    truth = {}
    if not only or "products" in only:
        truth.update(product_truth(config))
    if not only or "casts" in only:
        truth.update(cast_truth())
    if not only or "functions" in only:
        truth.update(function_truth(config, plain))
    if not only or "reductions" in only:
        truth.update(reduction_truth(plain))
    graded = []
    for key, true in truth.items():
        line = card.get(key, {"value": None, "confidence": "none", "evidence": ""})
        if line["value"] is None and line["evidence"] == HIDDEN:
            graded.append((key, None, true, False, "hidden"))
            continue
        right = line["value"] is not None and allows(line["value"], true)
        graded.append((key, line["value"], true, right, line["confidence"]))
    if not only or "functions" in only:
        for key, value, right in spoiled_claims(config, card, plain):
            graded.append((key, value, "less than on the exact device", right, "high" if value else "none"))
    return graded


def share_of(totals: collections.Counter) -> float:
    return totals["right"] / max(1, totals["fields"])


def summary(count: int, totals: collections.Counter, times: list) -> str:
    return (f"{count} configurations, {totals['fields']} fields: {100 * share_of(totals):.2f} % right, {totals['cannot tell']} cannot tell, "
            f"{totals['hidden']} more do not show, {totals['wrong, high']} wrong with high confidence, "
            f"{totals['wrong, medium'] + totals['wrong, low']} with less; CPU time: median {statistics.median(times):.1f} s, longest {max(times):.1f} s")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("msprobe")
    parser.add_argument("--count", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="begin with this configuration of the seed")
    parser.add_argument("--times", type=pathlib.Path, help="write the CPU time of each configuration, in seconds, to this file")
    parser.add_argument("--only", action="append", default=[], help="this section alone")
    parser.add_argument("--functions-in", type=int, help="probe functions in so many of the configurations, and in the others all else")
    parser.add_argument("--least", type=float, default=0.99, help="share of the fields that must be right")
    parser.add_argument("--show", action="store_true", help="print every field that is not right")
    options = parser.parse_args()
    totals: collections.Counter = collections.Counter()
    by_field: collections.Counter = collections.Counter()
    times = []
    with tempfile.TemporaryDirectory() as folder:
        place = pathlib.Path(folder)
        known = [section for section in options.only or SECTIONS if section in ("functions", "reductions")]
        plain = probe(options.msprobe, place, known, [])[0] if known else {}
        for number in range(options.count):
            config = draw(random.Random(options.seed * 100003 + options.first + number))
            (place / "sim.yaml").write_text(rules(config))
            extra = ["--sim-profile", profile(config), "--sim-config", str(place / "sim.yaml")]
            only = options.only
            if options.functions_in is not None and number >= options.functions_in:
                only = [section for section in options.only or SECTIONS if section != "functions"]
            card, seconds = probe(options.msprobe, place, only, extra)
            times.append(seconds)
            for key, value, true, right, confidence in grade(config, card, plain, only):
                if confidence == "hidden":
                    totals["hidden"] += 1
                    continue
                totals["fields"] += 1
                totals["right"] += right
                if right:
                    continue
                kind = "cannot tell" if not value else f"wrong, {confidence}"
                totals[kind] += 1
                by_field[f"{key[0]} {key[2]}: {kind}"] += 1
                if options.show or kind == "wrong, high":
                    print(f"{profile(config)} {config['spoiled']}\n    {' / '.join(key)}: {value}, truth {true}, {confidence}", flush=True)
            if (number + 1) % 20 == 0 and number + 1 < options.count:
                print(summary(number + 1, totals, times), flush=True)
    print(summary(options.count, totals, times))
    if options.times:
        options.times.write_text("".join(f"{seconds:.2f}\n" for seconds in times))
    for name, count in by_field.most_common(20):
        print(f"  {count:5} {name}")
    return 1 if totals["wrong, high"] or share_of(totals) < options.least else 0


if __name__ == "__main__":
    sys.exit(main())
