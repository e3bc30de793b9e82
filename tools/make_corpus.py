#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write the seeds of the fuzz targets into fuzz/corpus/<target>.

    python3 tools/make_corpus.py           (after tools/make_test_data.py)

Files named `found_*` are inputs a fuzzer once failed on; they are kept.
"""

import json
import pathlib
import shutil
import struct
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
CORPUS = ROOT / "fuzz" / "corpus"
DATA = ROOT / "tests" / "data"

TENSOR = {
    "type": "torch.Tensor", "dtype": "torch.float32", "shape": [2, 3], "Max": 1.5, "Min": -0.25,
    "Mean": float("nan"), "Norm": float("-inf"), "requires_grad": True,
    "data_name": "Torch.f.0.forward.input.0.pt", "md5": "8ba71454",
}
VALUES = [
    TENSOR, None, {"type": "int", "value": -3}, {"type": "float", "value": float("inf")},
    {"type": "bool", "value": False}, {"type": "str", "value": "a\u00e9\n\U0001f600"},
    {"type": "slice", "value": [None, 1, -1]}, {"type": "ellipsis", "value": "..."},
    {"type": "torch.Size", "value": [1, 2]}, {"type": "torch.dtype", "value": "torch.float16"},
    {"type": "torch.device", "value": "npu:0"}, {"type": "complex", "value": "(1+2j)"},
    {"type": "torch.memory_format", "format": "channels_last"},
    {"type": "numpy.float32", "value": 0.5}, {"type": "numpy.ndarray", "shape": [1]}, {},
    [TENSOR, [1, 2.5, "x"]], {"a": TENSOR, "b": {"value": 1}}, 18446744073709551615,
]


def dump(data: dict) -> dict:
    return {"task": "tensor", "level": "L1", "framework": "pytorch",
            "dump_data_dir": "./dump_tensor_data", "data": data}


def dumps() -> dict[str, str]:
    call = {"input_args": [TENSOR, TENSOR], "input_kwargs": {"dim": {"type": "int", "value": 1}},
            "output": [TENSOR]}
    gradients = {"input": [TENSOR], "output": [TENSOR, None]}
    texts = {
        "call": json.dumps(dump({"Torch.f.0.forward": call, "Torch.f.0.backward": gradients}),
                           indent=1),
        "odd_keys": json.dumps(dump({"Module.a.forward.0": {}, "x": 1, "T.\u00e9.0.backward": {}})),
        "empty": json.dumps(dump({})),
        "deep": json.dumps(dump({"T.f.0.forward": {"input_args": [json.loads("[" * 60 + "]" * 60)]}})),
    }
    for index, value in enumerate(VALUES):
        entry = {"input_args": [value], "input_kwargs": {"x": value}, "output": [[value]]}
        texts[f"value_{index:02}"] = json.dumps(dump({"T.f.0.forward": entry}))
    return texts


def stacks() -> dict[str, str]:
    return {
        "groups": json.dumps({"0": [["Torch.a.0.forward", "Torch.b.0.forward"], ["f\n1", "f2"]],
                              "1": [["a"], []]}, indent=1),
        "older": json.dumps({"a": ["x", "\u00e9"], "b": []}),
    }


def text_field(text: bytes) -> bytes:
    return struct.pack("<Q", len(text)) + text


def frames() -> dict[str, bytes]:
    """Payloads behind the number of their kind, and streams."""
    hello = struct.pack("<II", 10, 400) + text_field(b"2.13") + text_field(b"cpu") + struct.pack("<Q", 1) + text_field(b"cpu") + b"\0"
    fatal = text_field(b"no such device")
    numbers = b"\x0b" + struct.pack("<Qq", 1, 1) + text_field(b"abcd")
    operation = struct.pack("<Q", 3) + text_field(b"exp") + struct.pack("<Q", 1) + numbers + b"\x0b"
    result = struct.pack("<Q", 3) + text_field(b"") + numbers
    leaf = text_field(b"0") + b"\x02" + (b"\0" + struct.pack("<Q", 0) + b"\x01\x02" + struct.pack("<q", 5)) * 2
    response = struct.pack("<Q", 7) + text_field(b"Torch.a.0") + b"\0" + struct.pack("<Q", 1) + leaf
    framed = struct.pack("<QB", len(fatal), 1) + fatal
    return {"hello": b"\0" + hello, "fatal": b"\x01" + fatal, "response": b"\x04" + response, "operation": b"\x05" + operation,
            "result": b"\x06" + result, "stream": b"\x08" + framed * 2, "long": b"\x08" + struct.pack("<QB", 1 << 62, 4)}


def run_files() -> dict[str, bytes]:
    first = b"msprobe acc_check, what this run is made of; do not edit\n"
    return {"facts": first + b"dump 8e4d\nseed 1234\nas_given_rerun msprobe acc_check -api_info a\\\\b\\nc\n",
            "finished": first + b"seed 1\n\nfinished 120 4000\n", "torn": first + b"seed 12"}


def yamls() -> dict[str, bytes]:
    aliases = b"a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n"
    return {"standards": b"\0thresholds:\n  - {api: mul, dtype: float32, rtol: 0.001}\n",
            "sim": b"\x01seed: 3\nfaults:\n  - {fault: zeros, apis: [matmul], probability: 0.5}\n",
            "aliases": b"\x02" + aliases, "sim_aliases": b"\x01faults: [&r {fault: zeros, apis: [a, b]}, *r, *r]\n"}


def config_yamls() -> dict[str, bytes]:
    return {"lists": b"white_list: [matmul, conv2d]\nblack_list: []\nprecision: 5\n", "path": b"error_data_path: './'\n",
            "quoted": b"white_list: ['1', \"mul\"]\nprecision: '5'\n", "aliases": b"white_list: &a [mul]\nquantization_api_list: *a\n",
            "wrong": b"white_list: {a: 1}\nprecison: 3\n", "empty": b"# nothing\n"}


def replies() -> dict[str, bytes]:
    values = [{"t": ["float32", [2, 8], 64]}, {"t": ["bfloat16", [], 62]}, None, True, 1.5, -3, "x", {"c": [1.0, 2.0]}, {"f": "nan"}, [[1]]]
    return {"values": json.dumps({"result": values, "own_ns": 12, "cpu_ns": 3, "size": 4096}).encode(),
            "error": json.dumps({"error": "ValueError: not this time"}).encode(),
            "whole": json.dumps({"result": [{"t": ["uint8", [4096], 0]}], "own_ns": 1}).encode(),
            "greeting": json.dumps({"ready": "2.7.0", "target": "CPU", "python": "/usr/bin/python3"}).encode()}


def messages() -> dict[str, bytes]:
    return {"start": b"\0" + struct.pack("<QB", 1, 0) + b"/usr/bin/msprobe-engine\0--device\0cpu\0",
            "output": b"\x01" + struct.pack("<QB", 1, 5) + b"bytes", "ended": b"\x01" + struct.pack("<QB", 1, 8) + b"256"}


def pickles(folder: pathlib.Path) -> None:
    for path in sorted((DATA / "pt").glob("*.pt")):
        if not zipfile.is_zipfile(path):
            continue
        with zipfile.ZipFile(path) as archive:
            name = next(name for name in archive.namelist() if name.endswith("data.pkl"))
            (folder / path.stem).write_bytes(archive.read(name))


def fresh(name: str) -> pathlib.Path:
    folder = CORPUS / name
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.iterdir():
        if not old.name.startswith("found_"):
            old.unlink()
    return folder


def main() -> None:
    for name, texts in (("dump_json", dumps()), ("stack_json", stacks())):
        folder = fresh(name)
        for text_name, text in texts.items():
            (folder / text_name).write_text(text)
    for name, seeds in (("frames", frames()), ("run_file", run_files()), ("yaml", yamls()), ("cluster", messages()),
                        ("config_yaml", config_yamls()), ("replies", replies())):
        folder = fresh(name)
        for seed_name, seed in seeds.items():
            (folder / seed_name).write_bytes(seed)
    pickles(fresh("pickle"))
    small = ["float32", "uint16", "transposed", "deflated", "zip64", "big_endian", "minimal",
             "conjugated", "parameter", "comment"]
    folder = fresh("pt")
    for name in small:
        shutil.copyfile(DATA / "pt" / f"{name}.pt", folder / name)
    folder = fresh("npy")
    for name in ["f4", "big_c8", "fortran", "scalar", "empty", "version2", "version3"]:
        shutil.copyfile(DATA / "npy" / f"{name}.npy", folder / name)
    folder = fresh("npz")
    for name in ["stored", "deflated"]:
        shutil.copyfile(DATA / "npy" / f"{name}.npz", folder / name)


if __name__ == "__main__":
    main()
