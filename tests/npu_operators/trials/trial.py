# SPDX-License-Identifier: Apache-2.0
"""One call of an operator on a right device, and the same with a fault."""

import copy
import dataclasses
import random
import typing

import torch
from arithmetic import BF16, E4M3, E5M2, F16, F32, I8, I32, I64, Device

# A change that a user would call an error, as a share of the size of a row. Smaller ones are not counted as faults.
VISIBLE = {F32: 1e-4, F16: 0.02, BF16: 0.1}


class Made:
    """Random inputs, and random choices, of one seed."""

    def __init__(self, seed):
        self.choice = random.Random(seed)
        self.generator = torch.Generator().manual_seed(seed)

    def normal(self, *shape, dtype=F32, size=1.0):
        return (torch.randn(*shape, generator=self.generator) * size).to(dtype)

    def between(self, low, high, *shape, dtype=F32):
        return (torch.rand(*shape, generator=self.generator) * (high - low) + low).to(dtype)

    def whole(self, low, high, *shape, dtype=I8):
        return torch.randint(low, high, shape, generator=self.generator).to(dtype)

    def order(self, count):
        return torch.randperm(count, generator=self.generator)

    def pick(self, *from_these):
        return self.choice.choice(from_these)

    def ends(self, groups, rows, behind=0):
        """Ends of groups of rows, some empty; `behind` rows belong to none."""
        inner = sorted(self.choice.randint(0, rows - behind) for _ in range(groups - 1))
        if groups > 2 and self.choice.random() < 0.5:
            inner[1] = inner[0]
        return [*inner, rows - behind]


def counts_of(ends):
    return [end - start for start, end in zip([0, *ends], ends)]


@dataclasses.dataclass
class Output:
    value: torch.Tensor | None
    rows: torch.Tensor | None = None  # of value as a matrix: those that are written; None: all
    spoil: bool = True


def garbage(out):
    """The result with what nobody wrote filled with what memory holds."""
    if out.value is None or out.rows is None or bool(out.rows.all()):
        return out.value
    value = out.value.clone()
    bytes_ = value.reshape(out.rows.numel(), -1).view(torch.uint8)
    bytes_[~out.rows] = 0x7E if value.dtype in (F32, I32, I64, F16, BF16) else 0x55
    return bytes_.view(value.dtype).reshape(value.shape)


@dataclasses.dataclass
class Trial:
    api: str
    positional: list  # names
    given: dict  # all arguments by name
    operator: typing.Callable  # (device, arguments) -> [Output]
    faults: list = dataclasses.field(default_factory=list)  # (name, changed arguments)
    in_place: str | None = None  # where the dump has the argument that changes
    single_fault: bool = True  # results may be spoiled element by element
    unordered: bool = False  # indices along the last dimension may have any order
    readings: tuple = ()  # faults that the documents, which leave a question open, allow

    def outputs(self, device, **changes):
        return self.operator(device, {**self.given, **changes})


def matrix(out):
    value = out.value
    rows = 1 if value.dim() == 0 else value.shape[0] if value.dim() == 1 else value.numel() // max(value.shape[-1], 1)
    if out.rows is not None:
        rows = out.rows.numel()
    return value.reshape(rows, -1) if value.numel() else value.reshape(rows, 0)


def differs(right, wrong, unordered=False):
    """Whether a user would call it wrong: somewhere in what is written, by more than rounding."""
    for a, b in zip(right, wrong):
        if unordered and a.value is not None and a.value.dtype == I32:
            a, b = (Output(out.value.sort(-1)[0], out.rows) for out in (a, b))
        if a.value is None or b.value is None or a.value.numel() == 0:
            continue
        if a.value.shape != b.value.shape:
            return True
        x, y = matrix(a), matrix(b)
        if a.rows is not None:
            x, y = x[a.rows], y[a.rows]
        if x.numel() == 0:
            continue
        if x.dtype in VISIBLE:
            x, y = x.double().nan_to_num(0, 1e30, -1e30), y.double().nan_to_num(0, 1e30, -1e30)
            size = x.square().mean(-1, keepdim=True).sqrt() + 1e-30
            if bool(((x - y).abs() > VISIBLE[a.value.dtype] * torch.maximum(size, x.abs())).any()):
                return True
        elif x.dtype in (E4M3, E5M2):
            x, y = x.float(), y.float()
            if bool(((x - y).abs() > 0.3 * x.abs().clamp(min=0.01)).any()):
                return True
        elif x.dtype == I8:
            if bool(((x.int() - y.int()).abs() > 1).any()):
                return True
        elif x.dtype == torch.uint8:
            if not torch.equal(without_signs_of_zeros(x), without_signs_of_zeros(y)):
                return True
        elif not torch.equal(x, y):
            return True
    return False


def without_signs_of_zeros(pairs):
    """Two codes of four bits in a byte: -0 is 0."""
    low, high = pairs & 15, pairs >> 4
    return torch.where(low == 8, 0, low) | torch.where(high == 8, 0, high) << 4


def changed_element(made, value):
    """Another number in the place of one that is not small."""
    flat = value.reshape(-1)
    if value.dtype in VISIBLE:
        finite = flat.double().nan_to_num(0)
        place = int(finite.abs().argmax()) if made.choice.random() < 0.3 else made.choice.randrange(flat.numel())
        flat[place] = flat[place] + (0.25 * finite.square().mean().sqrt() + 0.05 * finite[place].abs()).to(value.dtype)
        return
    place = made.choice.randrange(flat.numel())
    if value.dtype in (E4M3, E5M2):
        bytes_ = flat.view(torch.uint8)
        bytes_[place] = bytes_[place] ^ 16
    elif value.dtype == I8:
        flat[place] = int(flat[place]) - 3 if int(flat[place]) > 0 else int(flat[place]) + 3
    elif value.dtype == torch.uint8:
        flat[place] = int(flat[place]) ^ 32 if int(flat[place]) & 7 else int(flat[place]) ^ 2
    else:
        flat[place] = int(flat[place]) ^ 0x20


def spoilers():
    """name -> function that changes the rows of a result, in bytes."""

    def exchanged(made, rows):
        i, j = made.choice.sample(range(rows.shape[0]), 2)
        rows[[i, j]] = rows[[j, i]]

    def last_rows(made, rows):
        rows[-max(1, rows.shape[0] // 4) :] = 0

    def last_columns(made, rows):
        rows[:, -max(1, min(16, rows.shape[1] // 2)) :] = 0

    def stale(made, rows):
        width = max(1, rows.shape[1] // 3)
        start = made.choice.randrange(rows.shape[1] - width + 1)
        some = slice(start, start + width)
        rows[:, some] = rows.roll(1, 0)[:, some]

    def shifted(made, rows):
        rows[made.choice.randrange(rows.shape[0])] = rows[made.choice.randrange(rows.shape[0])].roll(1)

    def tiles(made, rows):
        width = min(16, rows.shape[1] // 2)
        first, second = rows[:, :width].clone(), rows[:, width : 2 * width].clone()
        rows[:, :width], rows[:, width : 2 * width] = second, first

    return {
        "two rows exchanged": exchanged,
        "last rows not computed": last_rows,
        "last columns not computed": last_columns,
        "stale block": stale,
        "row shifted by one": shifted,
        "two tiles exchanged": tiles,
    }


SPOILERS = spoilers()
ELEMENT, ARITHMETIC = ("one wrong element", "all a little larger"), ("terms of the sum lost", "codes cut off, not rounded")


def spoiled(made, right, name):
    """The outputs with one of them spoiled."""
    outputs = copy.deepcopy(right)
    places = [i for i, out in enumerate(outputs) if out.value is not None and out.spoil and out.value.numel() > 1 and matrix(out).numel()]
    if not places:
        return None
    out = outputs[made.choice.choice(places)]
    rows = matrix(out)
    written = rows[out.rows] if out.rows is not None else rows.clone()
    if written.numel() == 0 or (written.shape[0] < 2 and name in ("two rows exchanged",)):
        return None
    if name == "one wrong element":
        changed_element(made, written)
    elif name == "all a little larger":
        if written.dtype not in VISIBLE:
            return None
        written = (written.float() * (1 + 4 * VISIBLE[written.dtype])).to(written.dtype)
    else:
        as_integers = written.contiguous()
        kind = as_integers.dtype
        if kind in (E4M3, E5M2):
            as_integers = as_integers.view(torch.uint8)
        SPOILERS[name](made, as_integers)
        written = as_integers.view(kind)
    if out.rows is not None:
        whole = rows.clone()
        if whole.dtype in (E4M3, E5M2):
            whole.view(torch.uint8)[out.rows] = written.view(torch.uint8)
        else:
            whole[out.rows] = written
        written = whole
    out.value = written.reshape(out.value.shape)
    return outputs


def wrong_results(made, trial, right):
    """(fault, outputs) of every fault that shows."""
    same = copy.deepcopy(made.choice)

    def device():
        made_again = copy.deepcopy(same)
        return Device(made_again)

    found = []
    for name, changes in trial.faults:
        found.append((name, trial.outputs(device(), **changes)))
    for attribute, name in (("loses_terms", ARITHMETIC[0]), ("truncates", ARITHMETIC[1])):
        broken = device()
        setattr(broken, attribute, True)
        found.append((name, trial.outputs(broken)))
    if trial.single_fault:
        for name in (*SPOILERS, *ELEMENT):
            outputs = spoiled(made, right, name)
            if outputs is not None:
                found.append((name, outputs))
    return [(name, outputs) for name, outputs in found if name not in trial.readings and differs(right, outputs, trial.unordered)]


def record(calls, trial, outputs, label):
    args = [trial.given[name] for name in trial.positional]
    kwargs = {name: value for name, value in trial.given.items() if name not in trial.positional and not name.startswith("_")}
    values = [garbage(out) for out in outputs]
    if trial.in_place is None:
        calls.record(trial.api, args, kwargs, values, label)
    else:
        calls.record(trial.api, args, kwargs, [None], label, {trial.in_place: values[0]})
