#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Calls of NPU operators as many right devices compute them, and with faults, judged by msprobe: how many right ones raise an alarm, and
how many faults are seen. Shares nothing with the references in src/run/execute/npu but the vendor's documents.

usage: score.py MSPROBE [--trials N] [--seed S] [--only OPERATOR ...] [--keep FOLDER] [--faults N]

--trials: right calls of each operator (4); --faults: at most so many wrong ones of each right one (5)
Fails with an alarm, or if less than 99 % of the faults are seen.
"""

import argparse
import collections
import copy
import pathlib
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent))

import of_attention
import of_codes
import of_elements
import of_products
import of_routing
import of_serving
import torch
from arithmetic import Device
from check_dump import RANKS, strict_statuses
from recorder import Calls
from trial import Made, record, wrong_results

FORMS = of_products.FORMS | of_codes.FORMS | of_routing.FORMS | of_attention.FORMS | of_elements.FORMS | of_serving.FORMS
LEAST_SEEN = 0.99


def make_calls(calls, operators, trials, faults, seed):
    for place, name in enumerate(sorted(FORMS)):
        if operators and name not in operators:
            continue
        for number in range(trials):
            made = Made(seed + 7919 * place + number)
            forms = FORMS[name]
            trial = forms[number % len(forms)](made)
            right = trial.operator(Device(copy.deepcopy(made.choice)), trial.given)
            record(calls, trial, right, "right")
            wrong = wrong_results(made, trial, right)
            made.choice.shuffle(wrong)
            for fault, outputs in wrong[:faults]:
                record(calls, trial, outputs, fault)


def score(calls, statuses):
    right, seen, wrong = 0, 0, 0
    alarms, missed, unjudged = [], [], []
    for call, label in calls.labels.items():
        status, reason = statuses.get(call, ("not checked", ""))
        rank = RANKS.get(status, 0)
        if rank == 0:
            unjudged.append(f"{call} ({label}): {status} {reason}")
        if label == "right":
            right += 1
            if rank == 3:
                alarms.append(f"{call}: {status}: {reason}")
        else:
            wrong += 1
            seen += rank == 3
            if rank != 3:
                missed.append(f"{call} ({label}): {status}: {reason}")
    operators = len(calls.count)
    share = 100 * seen / max(wrong, 1)
    print(
        f"{len(calls.labels)} calls of {operators} operators: {right} right, {len(alarms)} alarms; "
        f"{wrong} with a fault, {seen} seen ({share:.2f} %)"
    )
    for title, lines in (("alarm", alarms), ("not seen", missed), ("not judged", unjudged)):
        for line in lines:
            print(f"{title}: {line}")
    kinds = collections.Counter(label for label in calls.labels.values())
    print(f"{len(kinds) - 1} kinds of faults")
    return 1 if alarms or unjudged or seen < LEAST_SEEN * wrong else 0


def main():
    torch.set_num_threads(1)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--trials", type=int, default=4)
    parser.add_argument("--faults", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--keep")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="msprobe_trials_") as scratch:
        folder = pathlib.Path(options.keep or scratch)
        folder.mkdir(parents=True, exist_ok=True)
        calls = Calls(folder)
        make_calls(calls, options.only, options.trials, options.faults, options.seed)
        calls.finish()
        return score(calls, strict_statuses(options.program, folder))


sys.exit(main())
