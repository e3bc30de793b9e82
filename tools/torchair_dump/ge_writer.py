# SPDX-License-Identifier: Apache-2.0
"""GE dump files of every container, and the graph text beside them."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

import numpy as np

# name: (number in DumpData, number in the ACL headers, numpy type of the stored elements)
TYPES = {
    "float32": (1, 0, "<f4"), "float16": (2, 1, "<f2"), "int8": (3, 2, "i1"), "uint8": (4, 4, "u1"),
    "int16": (5, 6, "<i2"), "uint16": (6, 7, "<u2"), "int32": (7, 3, "<i4"), "int64": (8, 9, "<i8"),
    "uint32": (9, 8, "<u4"), "uint64": (10, 10, "<u8"), "bool": (11, 12, "u1"), "float64": (12, 11, "<f8"),
    "complex64": (16, 16, "<c8"), "bfloat16": (27, 27, "<u2"), "int4": (28, 29, "u1"),
}
FORMATS = {"ND": 2, "NHWC": 1, "NC1HWC0": 3, "FRACTAL_NZ": 29}


@dataclass
class Stored:
    """A tensor as a GE file holds it; `values` is the logical array."""

    values: np.ndarray
    dtype: str
    fmt: str = "ND"
    original: tuple[str, int] | None = None  # operator and output before fusion

    def device_array(self) -> np.ndarray:
        """The array in device layout, padded with zeros."""
        values = np.asarray(self.values)
        if self.fmt == "FRACTAL_NZ":
            block = 16 if values.dtype.itemsize > 1 else 32
            rows, columns = values.shape[-2:]
            rows_up, columns_up = -(-rows // 16) * 16, -(-columns // block) * block
            padded = np.zeros((*values.shape[:-2], rows_up, columns_up), values.dtype)
            padded[..., :rows, :columns] = values
            split = padded.reshape(*values.shape[:-2], rows_up // 16, 16, columns_up // block, block)
            batch = split.ndim - 4
            return split.transpose(*range(batch), batch + 2, batch, batch + 1, batch + 3)
        if self.fmt == "NC1HWC0":
            n, c, h, w = values.shape
            padded = np.zeros((n, -(-c // 16) * 16, h, w), values.dtype)
            padded[:, :c] = values
            return padded.reshape(n, -1, 16, h, w).transpose(0, 1, 3, 4, 2)
        if self.fmt == "NHWC":
            return values.transpose(0, 2, 3, 1)
        return values

    def part(self, axis: int, lower: int, higher: int) -> Stored:
        """Elements lower .. higher - 1 along an axis of the logical array."""
        index = [slice(None)] * self.values.ndim
        index[axis] = slice(lower, higher)
        return Stored(self.values[tuple(index)], self.dtype, self.fmt, self.original)

    def encoded(self) -> bytes:
        device = np.ascontiguousarray(self.device_array())
        if self.dtype == "bfloat16":
            bits = device.astype("<f4").view("<u4")
            return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype("<u2").tobytes()
        if self.dtype == "int4":
            nibbles = np.append(device.astype(np.int8).ravel() & 0xF, 0).astype(np.uint8)
            nibbles = nibbles[: 2 * (len(nibbles) // 2)].reshape(-1, 2)
            return (nibbles[:, 0] | nibbles[:, 1] << 4).tobytes()
        return device.astype(TYPES[self.dtype][2]).tobytes()


@dataclass
class OpFile:
    """One execution of an operator."""

    op_type: str
    name: str
    time: int
    task: int
    inputs: list[Stored] = field(default_factory=list)
    outputs: list[Stored] = field(default_factory=list)
    attribute: str = ""  # of a slice: how the operator was cut
    thread: int | None = None  # of an operator that ran in slices, one file per thread

    def file_name(self) -> str:
        escaped = "".join("_" if c in " ./\\" else c for c in self.name)
        slices = "" if self.thread is None else f".4.3.{self.thread}.0"
        return f"{self.op_type}.{escaped}.{self.task}.6.{self.time}{slices}"


def varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(tag: int, value: int) -> bytes:
    return varint(tag << 3) + varint(value) if value else b""


def block(tag: int, content: bytes) -> bytes:
    return varint(tag << 3 | 2) + varint(len(content)) + content


def shape_message(shape: tuple[int, ...]) -> bytes:
    return block(1, b"".join(varint(extent) for extent in shape)) if shape else b""


def tensor_message(tensor: Stored, is_output: bool, address: int, with_data: bool) -> bytes:
    data = tensor.encoded()
    out = number(1, TYPES[tensor.dtype][0]) + number(2, FORMATS[tensor.fmt])
    out += block(3, shape_message(tensor.device_array().shape))
    if is_output and tensor.original:
        out += block(4, block(1, tensor.original[0].encode()) + number(2, tensor.original[1]))
    base = 5 if is_output else 4
    if with_data:
        out += block(base, data)
    out += number(base + 1, len(data)) + block(base + 2, shape_message(tensor.values.shape))
    return out + (b"" if with_data else number(base + 4, address))


def dump_data(op: OpFile, version: str, with_data: bool) -> bytes:
    out = block(1, version.encode()) + number(2, op.time)
    tensors = [(3, t, True) for t in op.outputs] + [(4, t, False) for t in op.inputs]
    for place, (tag, tensor, is_output) in enumerate(tensors):
        out += block(tag, tensor_message(tensor, is_output, 0x12C041200000 + 512 * place, with_data))
    out += block(6, op.name.encode())
    return out + (block(7, block(1, b"slices") + block(2, op.attribute.encode())) if op.attribute else b"")


def payload(op: OpFile) -> bytes:
    return b"".join(tensor.encoded() for tensor in op.inputs + op.outputs)


def container_a(op: OpFile) -> bytes:
    head = dump_data(op, "2.0", False)
    return struct.pack("<Q", len(head)) + head + payload(op)


def container_c(op: OpFile) -> bytes:
    return dump_data(op, "1.0", True)


def tlv(tag: int, value: bytes) -> bytes:
    return struct.pack("<II", tag, len(value)) + value


def nano_record(tensor: Stored, is_output: bool) -> bytes:
    details = b""
    for tag, shape in ((0, tensor.device_array().shape), (1, tensor.values.shape)):
        details += tlv(tag, struct.pack(f"<{len(shape)}Q", *shape))
    index = 0
    if is_output and tensor.original:
        index = tensor.original[1]
        details += tlv(2, tensor.original[0].encode())
    out = struct.pack("<iii", TYPES[tensor.dtype][1], FORMATS[tensor.fmt], 0)
    if is_output:
        out += struct.pack("<iii", index, TYPES[tensor.dtype][1], 2)
    return out + struct.pack("<QQQI", 0x1000, 0, len(tensor.encoded()), len(details)) + details


def container_b(op: OpFile) -> bytes:
    head = struct.pack("<II", 0x5A5A5A5A, 1)
    for tag, tensors in ((4, op.inputs), (5, op.outputs)):
        if tensors:
            records = b"".join(nano_record(t, tag == 5) for t in tensors)
            head += tlv(tag, struct.pack("<I", len(tensors)) + records)
    return struct.pack("<Q", len(head)) + head + payload(op)


CONTAINERS = {"A": container_a, "B": container_b, "C": container_c}


def statistics_csv(op: OpFile) -> str:
    titles = ("Input/Output,Index,Data Size,Data Type,Format,Shape,Max Value,Min Value,Avg Value,Count,Nan Count,"
              "Negative Inf Count,Positive Inf Count")
    names = {"float32": "DT_FLOAT", "int32": "DT_INT32", "int64": "DT_INT64", "float16": "DT_FLOAT16"}
    lines = [titles]
    for side, tensors in (("Input", op.inputs), ("Output", op.outputs)):
        for i, tensor in enumerate(tensors):
            v = np.asarray(tensor.values, np.float64)
            shape = "x".join(map(str, v.shape)) or "-"
            lines.append(f"{side},{i},{len(tensor.encoded())},{names[tensor.dtype]},ND,{shape},{v.max():.6g},"
                         f"{v.min():.6g},{v.mean():.6g},{v.size},0,0,0")
    return "\n".join(lines) + "\n"


def quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def graph_text(graph: int, ops: list[dict]) -> str:
    """ops: name, type, inputs [(producer, output)], fx [name or None per output]."""
    out = [f'name: "graph_{graph}"']
    for op in ops:
        out += ["op {", f"  name: {quoted(op['name'])}", f"  type: {quoted(op['type'])}"]
        out += [f"  input: {quoted(f'{producer}:{place}')}" for producer, place in op["inputs"]]
        out += ['  attr { key: "_rule" value { s: "{\\"x\\": {\\"op {\\": 1}}" } }']
        for fx in op["fx"]:
            attribute = f'attr {{ key: "_fx_tensor_name" value {{ s: {quoted(fx)} }} }} ' if fx else ""
            out.append(f'  output_desc {{ name: "y" dtype: DT_FLOAT {attribute}}}')
        out.append("}")
    return "\n".join(out) + "\n"
