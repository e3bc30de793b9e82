#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Make the broken and hostile files that tests/hostile reads. Standard library only.

usage: hostile_files.py DIR
Nothing here is ever run by the program under test: a pickle that gets its way writes a file called canary where it runs.
"""
import io
import json
import os
import shutil
import struct
import sys
import zipfile

PROTO = b"\x80\x02"
STOP = b"."


def glob(module, name):
    return b"c" + module.encode() + b"\n" + name.encode() + b"\n"


def text(value):
    raw = value.encode()
    return b"X" + struct.pack("<I", len(raw)) + raw


def number(value):
    if 0 <= value < 256:
        return b"K" + bytes([value])
    raw = value.to_bytes((value.bit_length() // 8) + 1, "little", signed=True)
    return b"\x8a" + bytes([len(raw)]) + raw


def tup(*items):
    return b"(" + b"".join(items) + b"t"


def storage(kind="FloatStorage", key="0", numel=4):
    return tup(text("storage"), glob("torch", kind), text(key), text("cpu"), number(numel)) + b"Q"


def tensor(size=(4,), stride=(1,), offset=0, **kwargs):
    shape, steps = tup(*map(number, size)), tup(*map(number, stride))
    hooks = glob("collections", "OrderedDict") + b")R"
    return glob("torch._utils", "_rebuild_tensor_v2") + tup(storage(**kwargs), number(offset), shape, steps, b"\x89", hooks) + b"R"


def archive(pickle, data=struct.pack("<4f", 1, 2, 3, 4), compression=zipfile.ZIP_STORED, extra=()):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as z:
        z.writestr("archive/data.pkl", pickle)
        z.writestr("archive/byteorder", "little")
        if data is not None:
            z.writestr("archive/data/0", data)
        for name, content in extra:
            z.writestr(name, content)
        z.writestr("archive/version", "3\n")
    return out.getvalue()


def call(module, name, *arguments):
    return PROTO + glob(module, name) + tup(*arguments) + b"R" + STOP


def pt_files(canary):
    touch = text(f"touch {canary}")
    good = archive(PROTO + tensor() + STOP)
    deep = b"]" * 200_000 + b"a" * 199_999
    files = {
        "good.pt": good,
        # code
        "code_system.pt": archive(call("posix", "system", touch)),
        "code_eval.pt": archive(call("builtins", "eval", text(f"open({canary!r}, 'w')"))),
        "code_popen.pt": archive(PROTO + glob("subprocess", "Popen") + tup(touch) + b"\x81" + STOP),
        "code_inst.pt": archive(PROTO + b"(" + touch + b"iposix\nsystem\n" + STOP),
        "code_obj.pt": archive(PROTO + b"(" + glob("posix", "system") + touch + b"o" + STOP),
        "code_stack_global.pt": archive(b"\x80\x04" + text("posix") + text("system") + b"\x93" + tup(touch) + b"R" + STOP),
        "code_build.pt": archive(PROTO + glob("collections", "OrderedDict") + b")R" + b"}" + text("__class__") + touch + b"sb" + STOP),
        "code_ext.pt": archive(PROTO + b"\x82\x01" + STOP),
        "code_getattr.pt": archive(call("builtins", "getattr", glob("builtins", "dict"), text("get"))),
        # bombs
        "bomb_pickle.pt": archive(bytes(64 << 20), compression=zipfile.ZIP_DEFLATED),
        "bomb_storage.pt": archive(PROTO + tensor() + STOP, data=bytes(64 << 20), compression=zipfile.ZIP_DEFLATED),
        "bomb_entries.pt": archive(PROTO + tensor() + STOP, extra=[(f"archive/x{i}", b"") for i in range(60_000)]),
        "bomb_declared.pt": declared_larger(good, 1 << 31),
        "bomb_expand.pt": archive(PROTO + tensor(size=(1 << 20, 1 << 20), stride=(0, 0)) + STOP),
        # shapes
        "shape_2_60.pt": archive(PROTO + tensor(size=(1 << 60,)) + STOP),
        "shape_overflow.pt": archive(PROTO + tensor(size=(1 << 30, 1 << 30, 1 << 30), stride=(1, 1, 1)) + STOP),
        "shape_negative.pt": archive(PROTO + tensor(size=(-4,)) + STOP),
        "shape_outside_storage.pt": archive(PROTO + tensor(size=(5,)) + STOP),
        "shape_offset.pt": archive(PROTO + tensor(offset=1 << 62) + STOP),
        "shape_stride_overflow.pt": archive(PROTO + tensor(size=(4,), stride=(1 << 62,)) + STOP),
        # nesting
        "deep_lists.pt": archive(PROTO + deep + STOP),
        "deep_tuples.pt": archive(PROTO + b"(" * 200_000 + b"t" * 200_000 + STOP),
        "deep_memo.pt": archive(PROTO + b"]q\x00" + b"h\x00h\x00a0" * 1000 + STOP),
        # wrong kind
        "text.pt": b"this is not a tensor\n",
        "empty.pt": b"",
        "list_inside.pt": archive(PROTO + b"]" + STOP),
        "number_inside.pt": archive(PROTO + number(3) + STOP),
        "no_pickle.pt": zip_of({"archive/version": b"3\n"}),
        "no_storage.pt": archive(PROTO + tensor() + STOP, data=None),
        "unknown_storage.pt": archive(PROTO + tensor(kind="SecretStorage") + STOP),
        # truncated
        "truncated_half.pt": good[: len(good) // 2],
        "truncated_last_byte.pt": good[:-1],
        "truncated_pickle.pt": archive((PROTO + tensor() + STOP)[:40]),
        "truncated_storage.pt": archive(PROTO + tensor() + STOP, data=bytes(8)),
        "truncated_header.pt": good[:20],
        "checksum.pt": good.replace(struct.pack("<4f", 1, 2, 3, 4), struct.pack("<4f", 1, 2, 3, 5)),
    }
    return files


def zip_of(entries, compression=zipfile.ZIP_STORED):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as z:
        for name, content in entries.items():
            z.writestr(name, content)
    return out.getvalue()


def declared_larger(raw, size):
    """The central directory promises an entry far larger than the file."""
    at = raw.index(b"PK\x01\x02")
    return raw[: at + 20] + struct.pack("<II", size, size) + raw[at + 28:]


def npy(header, data=b"", version=(1, 0)):
    body = header.encode("latin1")
    width = "<H" if version == (1, 0) else "<I"
    return b"\x93NUMPY" + bytes(version) + struct.pack(width, len(body)) + body + data


def header(descr="'<f4'", order="False", shape="(4,)"):
    return f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}\n"


def npy_files():
    data = struct.pack("<4f", 1, 2, 3, 4)
    good = npy(header(), data)
    return {
        "good.npy": good,
        "shape_2_60.npy": npy(header(shape=f"({1 << 60},)"), data),
        "shape_overflow.npy": npy(header(shape=f"({1 << 30}, {1 << 30}, {1 << 30})"), data),
        "shape_negative.npy": npy(header(shape="(-4,)"), data),
        "shape_huge_number.npy": npy(header(shape=f"({10 ** 40},)"), data),
        "shape_many_dimensions.npy": npy(header(shape="(" + "1," * 100_000 + ")"), data, (2, 0)),
        "object.npy": npy(header(descr="'|O'"), call("posix", "system", text("true"))),
        "structured.npy": npy(header(descr="[('a', '<f4')]"), data),
        "code_in_header.npy": npy("__import__('os').system('true')\n", data),
        "deep_header.npy": npy(header(shape="(" * 50_000 + "4," + ")" * 50_000), data, (2, 0)),
        "header_too_long.npy": b"\x93NUMPY\x02\x00" + struct.pack("<I", 0xFFFFFFFF) + b"{",
        "text.npy": b"this is not an array\n",
        "empty.npy": b"",
        "version_9.npy": npy(header(), data, (9, 9)),
        "unknown_type.npy": npy(header(descr="'<f3'"), data),
        "truncated_data.npy": good[:-1],
        "truncated_header.npy": good[:30],
        "truncated_magic.npy": good[:5],
        "missing_key.npy": npy("{'descr': '<f4', 'shape': (4,), }\n", data),
        "extra_data.npy": good + b"more",
    }


def npz_files(npy_good):
    good = zip_of({"a.npy": npy_good})
    return {
        "good.npz": good,
        "bomb.npz": zip_of({"a.npy": npy(header(), bytes(64 << 20))}, zipfile.ZIP_DEFLATED),
        "bomb_declared.npz": declared_larger(good, 1 << 31),
        "truncated.npz": good[: len(good) // 2],
        "text.npz": b"this is not an archive\n",
        "empty.npz": zip_of({}),
        "not_an_array.npz": zip_of({"a.npy": b"this is not an array"}),
        "two_arrays.npz": zip_of({"a.npy": npy_good, "b.npy": npy_good}),
        "object.npz": zip_of({"a.npy": npy(header(descr="'|O'"), b"x")}),
        "shape_2_60.npz": zip_of({"a.npy": npy(header(shape=f"({1 << 60},)"), b"1234")}),
    }


DETAILS = ("API name,Bench Dtype,DEVICE Dtype,Shape,Cosine similarity,Maximum absolute error,Dual-100 metric,Dual-1000 metric,"
           "Dual-10000 metric,Binary consistency error rate,Error balance,Root-mean-square error (RMSE),"
           "Error ratio in small value range,Maximum relative error,Mean relative error,inf/nan error rate,Relative error rate,"
           "Absolute error rate,Maximum ULP error,Mean ULP error,Proportion of ULP errors greater than the threshold,Status,Message")


def details_row(name="Torch.exp.0.forward.output.0", message="", status="pass", rmse="0.1"):
    return (f"{name},torch.float64,torch.float32,\"(2, 3)\",1.0,0.0, , , , ,0.0,{rmse},0,0.1,0.1, , , , , , ,{status},{message}")


def csv_files():
    good = DETAILS + "\r\n" + details_row() + "\r\n"
    formula = [details_row(name=name) for name in ("=cmd|'/C calc'!A0", "+1+1", "@SUM(A1)", "-2+3", "%0a=1", "＝1+1")]
    return {
        "good.csv": good,
        "formulas.csv": DETAILS + "\n" + "\n".join(formula) + "\n" + details_row() + "\n",
        "formula_message.csv": DETAILS + "\n" + details_row(message="\"=HYPERLINK(\"\"x\"\")\"") + "\n",
        "formula_number.csv": DETAILS + "\n" + details_row(rmse="=1+1") + "\n",
        "formula_status.csv": DETAILS + "\n" + details_row(status="=pass") + "\n",
        "formula_semicolon.csv": DETAILS + "\n" + details_row(name="a;=1+1.exp.0.forward.output.0") + "\n",
        "unterminated_quote.csv": DETAILS + "\n" + details_row(message="\"never closed") + "\n",
        "no_columns.csv": "a,b,c\n1,2,3\n",
        "empty.csv": "",
        "title_only.csv": DETAILS + "\n",
        "ragged.csv": DETAILS + "\nTorch.exp.0.forward.output.0,torch.float64\n",
        "binary.csv": b"\x00\x01\x02\xff\xfe" * 100,
        "nul.csv": DETAILS + "\n" + details_row(name="Torch.e\x00xp.0.forward.output.0") + "\n",
        "long_cell.csv": DETAILS + "\n" + details_row(message="x" * 5_000_000) + "\n",
        "truncated.csv": good[: len(DETAILS) - 40],
        "not_a_number.csv": DETAILS + "\n" + details_row(rmse="many") + "\n",
        "utf16.csv": good.encode("utf-16"),
    }


def tensor_record(**members):
    record = {"type": "torch.Tensor", "dtype": "torch.float32", "shape": [4], "Max": 4.0, "Min": 1.0, "Mean": 2.5,
              "Norm": 5.0, "requires_grad": False}
    record.update(members)
    return record


def dump(entries, **top):
    document = {"task": "statistics", "level": "L1", "framework": "pytorch", "dump_data_dir": None, "data": entries}
    document.update(top)
    return document


def forward(*arguments, **kwargs):
    return {"input_args": list(arguments), "input_kwargs": kwargs, "output": []}


def nested(depth, opening="[", closing="]"):
    return opening * depth + closing * depth


def dump_files():
    good = json.dumps(dump({"Torch.exp.0.forward": forward(tensor_record())}), indent=1)
    second = '"Torch.exp.1.forward": ' + json.dumps(forward(tensor_record()))

    def beside(entry):
        """One broken entry beside a good one."""
        return ('{"task": "statistics", "level": "L1", "framework": "pytorch", "dump_data_dir": null, "data": {'
                f'"Torch.exp.0.forward": {entry}, {second}}}}}')

    return {
        "good.json": good,
        "truncated_end.json": good[:-3],
        "truncated_middle.json": good[: len(good) // 2],
        "truncated_string.json": good[: good.index("Torch.exp") + 4],
        "truncated_number.json": good[: good.index("2.5") + 2],
        "truncated_first_byte.json": "{",
        "list.json": "[1, 2, 3]\n",
        "number.json": "42\n",
        "empty.json": "",
        "text.json": "this is not JSON\n",
        "binary.json": bytes(range(256)) * 4,
        "data_is_list.json": json.dumps({"framework": "pytorch", "data": [1]}),
        "no_data.json": json.dumps({"framework": "pytorch"}),
        "no_calls.json": json.dumps(dump({})),
        "trailing.json": good + "}",
        "byte_order_mark.json": b"\xef\xbb\xbf" + good.encode(),
        "stack.json.old.json": json.dumps({"0": [["Torch.add.0.forward"], ["File /home/me/net.py, line 5, in f, \\n x"]]}),
        "framework.json": json.dumps(dump({}, framework="abacus")),
        "deep_top.json": nested(1_000_000),
        "deep_data.json": '{"framework": "pytorch", "data": ' + nested(1_000_000, '{"a":', "}")[:-1] + "}",
        "deep_argument.json": beside('{"input_args": ' + nested(500) + ', "input_kwargs": {}, "output": []}'),
        "deep_argument_100k.json": beside('{"input_args": ' + nested(100_000) + ', "input_kwargs": {}, "output": []}'),
        "deep_kwargs.json": beside('{"input_args": [], "input_kwargs": {"a": ' + nested(500) + '}, "output": []}'),
        "shape_2_60.json": beside(json.dumps(forward(tensor_record(shape=[1 << 60])))),
        "shape_overflow.json": beside(json.dumps(forward(tensor_record(shape=[1 << 40, 1 << 40])))),
        "shape_negative.json": beside(json.dumps(forward(tensor_record(shape=[-1])))),
        "shape_text.json": beside(json.dumps(forward(tensor_record(shape="(4,)")))),
        "shape_fraction.json": beside(json.dumps(forward(tensor_record(shape=[1.5])))),
        "entry_is_number.json": beside("7"),
        "entry_no_arguments.json": beside("{}"),
        "entry_arguments_object.json": beside('{"input_args": {}, "input_kwargs": [], "output": []}'),
        "unknown_api.json": beside(json.dumps(forward(tensor_record()))).replace("Torch.exp.0", "Torch.no_such_api.0"),
        "unknown_dtype.json": beside(json.dumps(forward(tensor_record(dtype="torch.float7")))),
        "unknown_dtype_keyword.json": beside(json.dumps(forward(tensor_record(), dtype={"type": "torch.dtype", "value": "torch.float7"})))
        .replace("Torch.exp.0", "Torch.sum.0"),
        "formula_names.json": good.replace("Torch.exp.0", "=Torch.exp.0"),
        "bad_utf8.json": beside(json.dumps(forward(tensor_record()))).encode().replace(b"Torch.exp.0", b"Torch.\xff\xfe.0"),
    }


def comparison_files():
    """What cannot be compared with good.json."""
    entries = {"Torch.exp.0.forward": forward(tensor_record())}
    return {
        "structure.json": json.dumps(dump(entries, task="structure")),
        "no_task.json": json.dumps(dump(entries, task=None)),
        "mindspore.json": json.dumps(dump(entries, framework="mindspore")),
        "tensorflow.json": json.dumps(dump(entries, framework="tensorflow")),
        "debug_level.json": json.dumps(dump(entries, level="debug")),
        "checksums.json": json.dumps(dump({"Torch.exp.0.forward": forward(tensor_record(md5="8ba71454"))})),
        "other_calls.json": json.dumps(dump({"Torch.tanh.0.forward": forward(tensor_record())})),
        "no_tensor_files.json": json.dumps(dump({"Torch.exp.0.forward": forward(tensor_record(data_name="good.pt"))}, task="tensor")),
        "mapping_list.yaml": "- a\n- b\n",
        "mapping_open.yaml": "a: [b\n",
        "layers_flat.yaml": "TopLayer: stem\n",
        "apis_uneven.yaml": "- ms_api: Mint.add\n  pt_api: Torch.add\n  ms_args: [0, 1]\n  pt_args: [0]\n",
        "apis_places.yaml": "- ms_api: Mint.add\n  pt_api: Torch.add\n  ms_args: [-1, x]\n  pt_args: [0, {}]\n",
        "apis_no_name.yaml": "- ms_api: Mint.add\n",
    }


def older_files():
    """forward_info files: one broken or hostile entry beside a good one."""
    def info(entry, end="}"):
        good = json.dumps({"args": [tensor_record()], "kwargs": {}})
        return '{"Torch*exp*0": ' + entry + ', "Torch*exp*1": ' + good + end

    def file_at(path):
        return json.dumps({"args": [{"type": "torch.Tensor", "datapath": path, "requires_grad": False}], "kwargs": {}})

    good = json.dumps({"args": [tensor_record()], "kwargs": {}})
    return {
        "older_open.json": info(good, end=""),
        "older_torn.json": info(good, end="")[:-40],
        "older_torn_key.json": info(good, end=', "Torch*e'),
        "older_binary.json": b"{" + bytes(range(256)) * 4,
        "older_trailing.json": info(good) + "}",
        "older_deep.json": info('{"args": ' + nested(100_000) + ', "kwargs": {}}'),
        "older_odd_keys.json": info(good).replace("Torch*exp*0", "Torch*exp*0*1"),
        "older_traversal.json": info(file_at("../outside_secret.pt")),
        "older_absolute.json": info(file_at("/etc/../outside_secret.pt")),
        "older_missing.json": info(file_at("/home/a/forward_real_data/gone.npy")),
        "older_not_a_tensor.json": info(file_at("/home/a/forward_real_data/empty.json")),
        **older_stacks(info(good)),
    }


def older_stacks(forward):
    """stack_info files, each with its forward_info; older_details.csv is a run_ut of these."""
    stacks = (
        '{"Torch*exp*0": ["File main.py, line 7, in step, \\n torch.exp(x)"], '
        '"Torch*exp*1": ["File main.py, line 8, in step, \\n torch.exp(y)"]'
    )
    broken = {
        "open": stacks,
        "torn": stacks[:-9],
        "torn_key": stacks + ', "Torch*e',
        "trailing": stacks + "}}",
        "binary": b"{" + bytes(range(256)) * 4,
        "deep": stacks + ', "Torch*exp*2": ' + nested(100_000) + "}",
        "empty": "",
    }
    rows = "".join(f"Torch*exp*{call}.forward.output.0,torch.float64,torch.float32,(2),1,False\r\n" for call in range(2))
    files = {"older_details.csv": "Npu Name,Bench Dtype,NPU Dtype,Shape,Cosine Similarity,Pass\r\n" + rows}
    for name, content in broken.items():
        files[f"forward_info_stacks_{name}.json"] = forward
        files[f"stack_info_stacks_{name}.json"] = content
    return files


def real_data_dump(root, name, data_name, prepare=None, content=None, change=None):
    """A dump of two real-data calls: the first asks for `data_name`, the second is good. `change` may change the entries."""
    folder = os.path.join(root, name)
    data = os.path.join(folder, "dump_tensor_data")
    os.makedirs(data)
    with open(os.path.join(data, "good.pt"), "wb") as f:
        f.write(archive(PROTO + tensor() + STOP))
    if content is not None:
        with open(os.path.join(data, data_name), "wb") as f:
            f.write(content)
    if prepare:
        prepare(data)
    entries = {"Torch.exp.0.forward": forward(tensor_record(data_name=data_name)),
               "Torch.exp.1.forward": forward(tensor_record(data_name="good.pt"))}
    if change:
        change(entries)
    with open(os.path.join(folder, "dump.json"), "w") as f:
        json.dump(dump(entries, task="tensor", dump_data_dir="./dump_tensor_data"), f, indent=1)


def add_gradient(entries):
    """The gradient that arrives at the first call has no file."""
    entries["Torch.exp.0.forward"]["input_args"][0]["requires_grad"] = True
    entries["Torch.exp.0.backward"] = {"input": [tensor_record(data_name="absent.pt")], "output": []}


def add_outputs(entries):
    """For device recorded: the output of the first call has no file."""
    entries["Torch.exp.0.forward"]["output"] = [tensor_record(data_name="absent.pt")]
    entries["Torch.exp.1.forward"]["output"] = [tensor_record(data_name="good.pt")]


def real_data_dumps(root, pt):
    secret = os.path.join(root, "outside_secret.pt")
    folder = os.path.join(root, "outside_folder")
    os.makedirs(folder)
    for path in (secret, os.path.join(folder, "secret.pt"), os.path.join(root, "outside_2.pt")):
        with open(path, "wb") as f:
            f.write(archive(PROTO + tensor() + STOP))
    for index, name in enumerate(["../../outside_secret.pt", secret, "x/../../../outside_secret.pt", "..", "./../../outside_2.pt"]):
        real_data_dump(root, f"traversal_{index}", name)
    links = {
        "file": lambda d: os.symlink("../../outside_secret.pt", os.path.join(d, "link.pt")),
        "absolute": lambda d: os.symlink(secret, os.path.join(d, "link.pt")),
        "folder": lambda d: os.symlink("../../outside_folder", os.path.join(d, "link")),
        "chain": lambda d: (os.symlink("second.pt", os.path.join(d, "link.pt")),
                            os.symlink("../../outside_secret.pt", os.path.join(d, "second.pt"))),
        "loop": lambda d: (os.symlink("second.pt", os.path.join(d, "link.pt")), os.symlink("link.pt", os.path.join(d, "second.pt"))),
    }
    for name, prepare in links.items():
        real_data_dump(root, f"link_{name}", "link/secret.pt" if name == "folder" else "link.pt", prepare)
    real_data_dump(root, "whole", "good.pt")
    real_data_dump(root, "missing_file", "absent.pt")
    real_data_dump(root, "missing_suffix", "data.bin", content=b"1234")
    for name in ("code_system", "truncated_half", "shape_2_60", "bomb_storage", "deep_lists", "checksum"):
        real_data_dump(root, f"file_{name}", "bad.pt", content=pt[name + ".pt"])
    real_data_dump(root, "file_other_shape", "bad.pt",
                   content=archive(PROTO + tensor(size=(2,)) + STOP))
    real_data_dump(root, "file_other_rank", "bad.pt", change=lambda e: e["Torch.exp.0.forward"]["input_args"][0].update(shape=[2, 3]),
                   content=archive(PROTO + tensor(size=(3, 3), stride=(3, 1), numel=9) + STOP, struct.pack("<9f", *range(9))))
    real_data_dump(root, "file_other_dtype", "good.pt",
                   change=lambda e: e["Torch.exp.0.forward"]["input_args"][0].update(dtype="torch.complex64"))
    real_data_dump(root, "missing_gradient", "good.pt", change=add_gradient)
    real_data_dump(root, "missing_output", "good.pt", change=add_outputs)
    real_data_dump(root, "pipe", "pipe.pt", lambda d: os.mkfifo(os.path.join(d, "pipe.pt")))


def main():
    root = os.path.abspath(sys.argv[1])
    shutil.rmtree(root, ignore_errors=True)
    os.makedirs(root)
    pt = pt_files("canary")
    arrays = npy_files()
    for files in (pt, arrays, npz_files(arrays["good.npy"]), csv_files(), dump_files(), comparison_files(), older_files()):
        for name, content in files.items():
            with open(os.path.join(root, name), "wb") as f:
                f.write(content.encode() if isinstance(content, str) else content)
    os.makedirs(os.path.join(root, "directory.csv"))
    os.makedirs(os.path.join(root, "directory.npy"))
    os.makedirs(os.path.join(root, "directory.json"))
    real_data_dumps(root, pt)
    print(f"{sum(len(files) for _, _, files in os.walk(root))} files in {root}")


main()
