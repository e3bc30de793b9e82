#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write the tensor files in tests/data/pt and tests/data/npy, and what they hold; and the dump of two wrong calls,
tests/data/dumps/conv_and_matmul_tensor.

    python3 tools/make_test_data.py        (PyTorch 2.13 and NumPy 2)

Each folder gets an `index.txt` with one line per file: name, dtype, shape, and the elements as the
readers must return them (contiguous, row-major, little-endian, in hexadecimal). Files a reader must
refuse are not listed.
"""

import collections
import io
import json
import pathlib
import pickle
import shutil
import warnings
import zipfile

import numpy as np
import torch

DATA = pathlib.Path(__file__).resolve().parent.parent / "tests" / "data"

TORCH_DTYPES = [
    "bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64", "float16",
    "bfloat16", "float32", "float64", "complex32", "complex64", "complex128", "float8_e4m3fn",
    "float8_e5m2",
]
NUMPY_CODES = ["b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16"]


def line(name: str, dtype: str, shape: tuple[int, ...], data: bytes) -> str:
    extents = "x".join(str(extent) for extent in shape) or "scalar"
    return f"{name} {dtype} {extents} {data.hex() or '-'}\n"


def bytes_of(tensor: torch.Tensor) -> bytes:
    plain = tensor.detach().resolve_conj().resolve_neg().contiguous()
    return bytes(plain.flatten().view(torch.uint8).tolist()) if plain.numel() else b""


def pattern(dtype: str) -> torch.Tensor:
    """Six values that differ, with signs and fractions where the type has them."""
    base = torch.tensor([[0.0, 1.0, -2.5], [3.0, 100.0, -7.25]], dtype=torch.float64)
    if dtype.startswith("complex"):
        wide = torch.complex(base, base.flip(1) * 0.5)
        return wide.to(torch.complex64).to(getattr(torch, dtype))
    if dtype == "bool":
        return base > 0.5
    if dtype.startswith("uint"):
        return base.abs().to(getattr(torch, dtype))
    return base.to(getattr(torch, dtype))


def rezip(source: pathlib.Path, target: pathlib.Path, change, compression=zipfile.ZIP_STORED,
          comment: bytes = b"", force_zip64: bool = False) -> None:
    """Copy an archive; change(name, data) gives each member's new bytes, None drops it."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w", compression) as new:
        new.comment = comment
        for info in old.infolist():
            data = change(info.filename, old.read(info.filename))
            if data is None:
                continue
            fixed = zipfile.ZipInfo(info.filename, (1980, 1, 1, 0, 0, 0))
            fixed.compress_type = compression
            with new.open(fixed, "w", force_zip64=force_zip64) as member:
                member.write(data)


def swapped(name: str, data: bytes) -> bytes:
    """The same archive from a big-endian machine (float32)."""
    if name.endswith("/byteorder"):
        return b"big"
    if "/data/" in name:
        return np.frombuffer(data, dtype="<f4").astype(">f4").tobytes()
    return data


class NpuPickler(pickle.Pickler):
    """Writes the pickle that torch_npu writes for a tensor of an NPU, without having one."""

    def persistent_id(self, obj):
        return obj.id if isinstance(obj, StorageId) else None


class StorageId:
    def __init__(self, numel: int):
        self.id = ("storage", torch.FloatStorage, "0", "npu:0", numel)


def npu_pickle(numel: int, shape: tuple[int, ...], stride: tuple[int, ...]) -> bytes:
    """GLOBAL torch_npu.utils.storage._rebuild_npu_tensor, called with seven arguments."""
    out = io.BytesIO()
    pickler = NpuPickler(out, protocol=2)
    pickler.dump((StorageId(numel), 0, shape, stride, False, collections.OrderedDict(), 2))
    arguments = out.getvalue()[2:-1]
    return b"\x80\x02ctorch_npu.utils.storage\n_rebuild_npu_tensor\n" + arguments + b"R."


def write_pt(folder: pathlib.Path) -> None:
    index = []

    def save(name: str, value: torch.Tensor, **options) -> None:
        torch.save(value, folder / name, **options)
        index.append(line(name, str(value.dtype), tuple(value.shape), bytes_of(value)))

    for dtype in TORCH_DTYPES:
        save(f"{dtype}.pt", pattern(dtype))
    base = torch.arange(24, dtype=torch.float32).reshape(2, 3, 4)
    save("scalar.pt", torch.tensor(-3, dtype=torch.int64))
    save("empty.pt", torch.zeros(2, 0, 3, dtype=torch.float16))
    save("one_extents.pt", torch.arange(3.0).reshape(1, 3, 1))
    save("transposed.pt", base.permute(2, 0, 1))
    save("offset.pt", base[1, 1:])
    save("stepped.pt", base[:, ::2, 1::2])
    save("expanded.pt", torch.arange(3, dtype=torch.int32)[:, None].expand(3, 4))
    save("channels_last.pt", base.reshape(1, 2, 3, 4).to(memory_format=torch.channels_last))
    save("double_view.pt", base.double().transpose(0, 2))
    save("half_view.pt", base.half().transpose(1, 2))
    save("byte_view.pt", base.to(torch.uint8).transpose(1, 2))
    save("complex128_view.pt", torch.complex(base, -base).to(torch.complex128).transpose(0, 1))
    save("conjugated.pt", pattern("complex64").conj())
    save("negated.pt", pattern("complex128").conj().imag)
    save("requires_grad.pt", torch.ones(2, requires_grad=True))
    save("parameter.pt", torch.nn.Parameter(torch.arange(3.0)))
    with_state = torch.nn.Parameter(torch.arange(3.0))
    with_state.note = "x"
    save("parameter_with_state.pt", with_state)
    with_attribute = torch.arange(3.0)
    with_attribute.note = {"a": [1, 2.5, None]}
    save("attribute.pt", with_attribute)
    for protocol in (3, 4, 5):
        save(f"protocol{protocol}.pt", torch.arange(300).to(torch.int16), pickle_protocol=protocol)

    plain = folder / "float32.pt"
    expected = ("torch.float32", (2, 3), bytes_of(pattern("float32")))
    keep = lambda name, data: data
    rezip(plain, folder / "big_endian.pt", swapped)
    rezip(plain, folder / "deflated.pt", keep, zipfile.ZIP_DEFLATED)
    rezip(plain, folder / "comment.pt", keep, comment=b"a comment")
    rezip(plain, folder / "zip64.pt", keep, force_zip64=True)
    minimal = lambda name, data: data if "data" in name and ".data" not in name else None
    rezip(plain, folder / "minimal.pt", minimal)
    npu = npu_pickle(6, (2, 3), (3, 1))
    rezip(plain, folder / "npu.pt", lambda name, data: npu if name.endswith("data.pkl") else data)
    for name in ("big_endian", "deflated", "comment", "zip64", "minimal", "npu"):
        index.append(line(f"{name}.pt", *expected))
    bytes_ = torch.tensor([[0, 56, 194], [68, 108, 206]], dtype=torch.uint8)
    for name in ("float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu", "float4_e2m1fn_x2"):
        torch.save(bytes_.view(getattr(torch, name)), folder / f"{name}.pt")
        index.append(line(f"{name}.pt", f"torch.{name}", (2, 3), bytes_.numpy().tobytes()))
    (folder / "index.txt").write_text("".join(index))

    refused = {
        "list": [torch.zeros(1)],
        "dict": {"a": torch.zeros(1)},
        "number": 3,
        "none": None,
        "sparse": torch.eye(2).to_sparse(),
        "quantised": torch.quantize_per_tensor(torch.zeros(2), 1.0, 0, torch.quint8),
        "meta": torch.zeros(2, device="meta"),
        "numpy": np.zeros(2),
    }
    for name, value in refused.items():
        torch.save(value, folder / f"refused_{name}.pt")
    torch.save(torch.zeros(2), folder / "refused_legacy.pt", _use_new_zipfile_serialization=False)


def numpy_pattern(code: str) -> np.ndarray:
    base = np.array([[0.0, 1.0, -2.5], [3.0, 100.0, -7.25]])
    if code.startswith("c"):
        return (base + 1j * base[:, ::-1]).astype("<" + code)
    if code == "b1":
        return base > 0.5
    return (np.abs(base) if code.startswith("u") else base).astype("<" + code)


def write_npy(folder: pathlib.Path) -> None:
    index = []

    def save(name: str, array: np.ndarray, version=None) -> None:
        with (folder / name).open("wb") as file:
            np.lib.format.write_array(file, array, version=version, allow_pickle=True)
        little = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<"))
        data = little.tobytes()
        index.append(line(name, f"torch.{array.dtype.name}", array.shape, data))

    for code in NUMPY_CODES:
        save(f"{code}.npy", numpy_pattern(code))
        if code[1:] != "1":
            save(f"big_{code}.npy", numpy_pattern(code).astype(">" + code))
    cube = np.arange(24, dtype="<i4").reshape(2, 3, 4)
    save("fortran.npy", np.asfortranarray(cube))
    save("big_fortran.npy", np.asfortranarray(cube.astype(">i4")))
    save("scalar.npy", np.array(2.5))
    save("empty.npy", np.zeros((0, 3), dtype="<f4"))
    save("version2.npy", cube, (2, 0))
    save("version3.npy", cube, (3, 0))
    (folder / "index.txt").write_text("".join(index))
    np.save(folder / "refused_objects.npy", np.array([{}, None]), allow_pickle=True)
    np.save(folder / "refused_structure.npy", np.zeros(2, dtype=[("a", "<f4"), ("b", "<i4")]))
    np.save(folder / "refused_text.npy", np.array(["a", "bc"]))
    np.save(folder / "refused_date.npy", np.array(["2020-01-01"], dtype="M8[D]"))
    np.savez(folder / "stored.npz", first=cube, second=np.arange(3.0))
    np.savez_compressed(folder / "deflated.npz", only=np.zeros(1000, dtype="<f4"))


def write_two_calls(folder: pathlib.Path) -> None:
    """A convolution and a product of whole numbers whose first elements are an eighth too large in the recording."""
    def tensor(name: str, values: np.ndarray) -> dict:
        (folder / "dump_tensor_data").mkdir(exist_ok=True)
        np.save(folder / "dump_tensor_data" / name, values)
        return {"type": "torch.Tensor", "dtype": "torch.float32", "shape": list(values.shape), "Max": float(values.max()),
                "Min": float(values.min()), "Mean": 0.0, "Norm": 1.0, "requires_grad": False, "data_name": name}

    def spoiled(values: np.ndarray) -> np.ndarray:
        changed = values.copy()
        changed.ravel()[0] *= 1.125
        return changed

    image = np.arange(1, 10, dtype=np.float32).reshape(1, 1, 3, 3)
    kernel = np.array([[[[1, 0], [0, 1]]]], np.float32)
    square = np.array([[1, 2], [3, 4]], np.float32)
    calls = {"Functional.conv2d.0": ([image, kernel], np.array([[[[6, 8], [12, 14]]]], np.float32)),
             "Torch.matmul.0": ([square, square], square @ square)}
    data = {}
    for name, (inputs, output) in calls.items():
        data[f"{name}.forward"] = {
            "input_args": [tensor(f"{name}.forward.input.{i}.npy", values) for i, values in enumerate(inputs)],
            "input_kwargs": {}, "output": [tensor(f"{name}.forward.output.0.npy", spoiled(output))]}
    dump = {"task": "tensor", "level": "L1", "framework": "pytorch", "dump_data_dir": "./dump_tensor_data", "data": data}
    (folder / "dump.json").write_text(json.dumps(dump, indent=1) + "\n")


def main() -> None:
    warnings.simplefilter("ignore")
    for name, write in (("pt", write_pt), ("npy", write_npy), ("dumps/conv_and_matmul_tensor", write_two_calls)):
        folder = DATA / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        write(folder)


if __name__ == "__main__":
    main()
