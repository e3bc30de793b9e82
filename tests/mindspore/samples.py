#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A real-data dump of every API in samples.txt, in MindSpore's format, with results and gradients that PyTorch computed in Python.

usage: samples.py OUT_DIRECTORY
The call is written down as MindSpore's caller makes it; the result comes from PyTorch's spelling of the same call, so a check of
the dump on device `recorded` passes only where names and arguments are mapped rightly.
"""
import json
import pathlib
import sys

import numpy
import torch
import torch.nn.functional as F

HERE = pathlib.Path(__file__).parent
DTYPES = {torch.float16: "Float16", torch.bfloat16: "BFloat16", torch.float32: "Float32", torch.float64: "Float64",
          torch.bool: "Bool", torch.uint8: "UInt8", torch.int32: "Int32", torch.int64: "Int64",
          torch.complex64: "Complex64", torch.complex128: "Complex128"}
RANDOM = "random"
NOT_RUN = "!"


def rows():
    """(api, arguments, PyTorch's spelling or None) of every sample, and {api: reason} of what is not run."""
    samples, left_out = [], {}
    for line in (HERE / "samples.txt").read_text().splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        api, arguments, *torch_call = [cell.strip() for cell in line.split("|")]
        if arguments == NOT_RUN:
            left_out[api] = torch_call[0]
        else:
            samples.append((api, arguments, torch_call[0] if torch_call else None))
    return samples, left_out


def attention(q, k, v, heads, scale, mask=None):
    split = lambda t: t.unflatten(-1, (heads, -1)).transpose(1, 2)
    return attention_bnsd(split(q), split(k), split(v), scale, mask).transpose(1, 2).flatten(2)


def attention_bnsd(q, k, v, scale, mask=None):
    scores = q.double() @ k.double().transpose(-1, -2) * scale
    if mask is not None:
        scores = scores.masked_fill(mask.bool(), float("-inf"))
    return (scores.softmax(-1) @ v.double()).to(q.dtype)


def tensors():
    g = torch.Generator().manual_seed(7)
    normal = lambda *shape: torch.randn(*shape, generator=g)
    unit = lambda *shape: 0.1 + 0.8 * torch.rand(*shape, generator=g)
    integers = lambda high, *shape: torch.randint(0, high, shape, generator=g)
    m = normal(4, 4)
    pool = torch.nn.functional.max_pool2d(normal(2, 3, 6, 6), 2, return_indices=True)
    special = normal(3, 4)
    special[0, 1], special[1, 2], special[2, 3] = float("nan"), float("inf"), -float("inf")
    with_nan = normal(3, 4)
    with_nan[1, 1] = float("nan")
    return dict(
        x=normal(3, 4), x2=normal(3, 4), y=normal(3, 4), z=unit(3, 4), p=unit(3, 4), big=1.5 + unit(3, 4), h=normal(3, 4).half(),
        v=normal(4), u=normal(4), v4=unit(4), v5=unit(5), m=m, n=normal(4, 4), spd=m @ m.t() + 4 * torch.eye(4), c=normal(2, 3, 4),
        d=normal(2, 4, 5), e=normal(2, 3, 5), c22=normal(2, 3, 4), d22=normal(2, 4, 5), m2=normal(3, 5), im=normal(2, 3, 6, 6),
        w=normal(4, 3, 3, 3), wt=normal(3, 4, 2, 2), im3=normal(1, 2, 4, 4, 4), w3=normal(3, 2, 2, 2, 2), r3=normal(3), s3=unit(3),
        cols=normal(1, 8, 4), grid=2 * unit(2, 4, 4, 2) - 1, i=integers(6, 5), j=integers(6, 5), k0=integers(3, 3, 2),
        g=integers(4, 3, 4), ix=integers(4, 3), tg=integers(5, 6), tg3=integers(4, 3), lp=normal(6, 5).log_softmax(1),
        bo=normal(3, 4) > 0, bq=normal(3, 4) > 0, t3=normal(2, 3), t4=normal(2, 3), q1=normal(1, 3, 4), s0=normal(1),
        so=normal(3, 6).sort(1)[0], xn=special, xnn=with_nan, unp=pool[0], unpi=pool[1],
        aq=normal(1, 8, 32).half(), ak=normal(1, 8, 32).half(), av=normal(1, 8, 32).half(),
        am=torch.ones(8, 8).triu(1).byte(), an=normal(1, 2, 8, 16).half(),
        ao=normal(1, 2, 8, 16).half(), ap=normal(1, 2, 8, 16).half(), m3=normal(4, 4))


class Writer:
    def __init__(self, out: pathlib.Path):
        self.out, self.data = out, {}
        (out / "dump_tensor_data").mkdir(parents=True, exist_ok=True)

    def value(self, value, name):
        if value is None:
            return None
        if isinstance(value, torch.Tensor):
            plain = value.detach()
            stored = plain.float() if plain.dtype == torch.bfloat16 else plain
            numpy.save(self.out / "dump_tensor_data" / (name + ".npy"), stored.contiguous().numpy())
            return {"type": "mindspore.Tensor", "dtype": DTYPES[plain.dtype], "shape": list(plain.shape), "Max": None,
                    "Min": None, "Mean": None, "Norm": None, "data_name": name + ".npy"}
        if isinstance(value, numpy.ndarray):
            numpy.save(self.out / "dump_tensor_data" / (name + ".npy"), value)
            return {"type": "numpy.ndarray", "dtype": str(value.dtype), "shape": list(value.shape), "data_name": name + ".npy"}
        if isinstance(value, torch.dtype):
            return {"type": "mindspore.dtype", "value": DTYPES[value]}
        if isinstance(value, (list, tuple)):
            return [self.value(item, f"{name}.{i}") for i, item in enumerate(value)]
        return {"type": type(value).__name__, "value": value}

    def finish(self, task="tensor", framework="mindspore"):
        document = {"task": task, "level": "L1", "framework": framework, "dump_data_dir": "./dump_tensor_data",
                    "data": self.data}
        (self.out / "dump.json").write_text(json.dumps(document))


def torch_spelling(api, arguments):
    group, name = api.split(".", 1)
    return f"{'F' if group == 'MintFunctional' else 'torch'}.{name}({arguments})"


def record(writer, call, arguments, torch_call):
    known = tensors()
    for tensor in known.values():
        if tensor.is_floating_point():
            tensor.requires_grad_(True)
    space = dict(known, torch=torch, F=F, attention=attention, attention_bnsd=attention_bnsd)
    positional, keywords = eval(f"(lambda *a, **k: (a, k))({arguments})", space)
    result = eval(torch_call, space)
    outputs = list(result) if isinstance(result, (list, tuple)) else [result]
    if isinstance(result, list) and not any(isinstance(x, torch.Tensor) for x in result):
        outputs = [result]
    writer.data[call + ".forward"] = {
        "input_args": [writer.value(x, f"{call}.forward.input.{i}") for i, x in enumerate(positional)],
        "input_kwargs": {k: writer.value(x, f"{call}.forward.kwargs.{k}") for k, x in keywords.items()},
        "output": [writer.value(x, f"{call}.forward.output.{i}") for i, x in enumerate(outputs)]}
    slots = [x for x in positional if isinstance(x, torch.Tensor)]
    wanted = [x for x in slots if x.is_floating_point()]
    roots = [x for x in outputs if isinstance(x, torch.Tensor) and x.requires_grad]
    if not wanted or not roots:
        return
    generator = torch.Generator().manual_seed(3)
    arriving = [torch.randn(x.shape, generator=generator, dtype=torch.float64).to(x.dtype) for x in roots]
    found = dict(zip(map(id, wanted), torch.autograd.grad(roots, wanted, arriving, allow_unused=True)))
    of_root = dict(zip(map(id, roots), arriving))
    writer.data[call + ".backward"] = {
        "input": [writer.value(of_root.get(id(x)), f"{call}.backward.input.{i}") for i, x in enumerate(outputs)],
        "output": [writer.value(found.get(id(x)), f"{call}.backward.output.{i}") for i, x in enumerate(slots)]}


def write(out: pathlib.Path):
    """Writes the dump; returns the calls whose results are random."""
    writer, counts, drawn = Writer(out), {}, set()
    for api, arguments, torch_call in rows()[0]:
        index = counts.setdefault(api, 0)
        counts[api] += 1
        call = f"{api}.{index}"
        if torch_call == RANDOM:
            drawn.add(call)
            torch_call = None
        if api == "MintFunctional.normal":
            torch_call = f"torch.normal({arguments})"
        torch.manual_seed(11)
        try:
            record(writer, call, arguments, torch_call or torch_spelling(api, arguments))
        except Exception as error:
            raise RuntimeError(f"{call}({arguments}): {error}") from error
    writer.finish()
    return drawn


# Calls of a model that MSAdapter runs: PyTorch's names and arguments, MindSpore's tensors.
ADAPTER = [
    ("Torch.matmul", "x, m", "torch.matmul(x, m)"),
    ("Torch.cat", "[x, y], 1", "torch.cat([x, y], 1)"),
    ("Torch.max", "x, 1", "torch.max(x, 1)"),
    ("Torch.where", "bo, x, y", "torch.where(bo, x, y)"),
    ("Torch.sum", "x, dim=[0], keepdim=True", "torch.sum(x, dim=[0], keepdim=True)"),
    ("Functional.linear", "x, m, v", "F.linear(x, m, v)"),
    ("Functional.softmax", "x, dim=-1", "F.softmax(x, dim=-1)"),
    ("Functional.gelu", "h", "F.gelu(h)"),
    ("Functional.layer_norm", "x, (4,), v, u", "F.layer_norm(x, (4,), v, u)"),
    ("Functional.cross_entropy", "m2, tg3, None, None, -100, None, 'sum'", "F.cross_entropy(m2, tg3, reduction='sum')"),
    ("Functional.conv2d", "im, w, None, 1, 1", "F.conv2d(im, w, None, 1, 1)"),
    ("Tensor.__add__", "x, y", "x + y"),
    ("Tensor.view", "x, 2, 6", "x.view(2, 6)"),
    ("Tensor.masked_fill", "x, bo, 0.5", "x.masked_fill(bo, 0.5)"),
    ("Tensor.mean", "x, -1", "x.mean(-1)"),
]


def write_adapter(out: pathlib.Path):
    writer = Writer(out)
    for api, arguments, torch_call in ADAPTER:
        record(writer, f"{api}.0", arguments, torch_call)
    writer.finish(framework="mindtorch")


if __name__ == "__main__":
    write(pathlib.Path(sys.argv[1]))
