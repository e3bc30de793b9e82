# SPDX-License-Identifier: Apache-2.0
"""config.json and what it changes in the files: filters, tensors, checksums, steps, overflow."""
import contextlib
import io
import json
import math
import os
import platform
import tempfile
import unittest
from unittest import mock

import torch

from collected import debugger, forwards, read, record, step_directory
from msprobe.common.config import ConfigError, load, numbers
from msprobe.common.ops_file import read_ops
from msprobe.pytorch import PrecisionDebugger, api_names


def two_calls():
    w = torch.arange(6.0).reshape(2, 3).requires_grad_()
    torch.mul(torch.exp(w), 2).sum().backward()


class Configuration(unittest.TestCase):
    def test_numbers_and_ranges(self):
        self.assertEqual(numbers("rank", [1, "0", "4-6"]), [0, 1, 4, 5, 6])
        for wrong in ("6-4", "a", "1-2-3", True, -1, 1000001):
            with self.assertRaisesRegex(ConfigError, "rank: found"):
                numbers("rank", [wrong])
        with self.assertRaises(ConfigError):
            numbers("rank", 3)

    def test_wrong_values_are_named(self):
        for key, value in (("task", "no"), ("level", "L7"), ("level", "L2"), ("dump_path", "")):
            with self.assertRaises(ConfigError):
                load(None, {key: value})
        for path in (3, None, "config.yaml", "no_such.json"):
            with self.assertRaises(ConfigError):
                load(path or 0, {})
        with self.assertRaisesRegex(ConfigError, "summary_mode"):
            load(None, {"task": "md5"})
        for body in ({"data_mode": ["all", "input"]}, {"data_mode": ["forward"] * 5}, {"summary_mode": "sha"}, {"scope": ["a"]}):
            with self.assertRaises(ConfigError):
                record(two_calls, {"statistics": body})

    def test_keys_that_are_not_known_are_told(self):
        with self.assertLogsOfUser() as told:
            record(two_calls, {"setp": [0], "statistics": {"lsit": []}, "custom_op_namespaces": []})
        self.assertIn("[WARNING] setp: unknown key", told.getvalue())
        self.assertIn("[WARNING] statistics.lsit: unknown key", told.getvalue())
        self.assertNotIn("custom_op_namespaces", told.getvalue())

    def test_a_level_of_the_device_ends_the_program(self):
        with self.assertLogsOfUser() as told, self.assertRaises(SystemExit) as ended:
            PrecisionDebugger(level="L2")
        self.assertEqual(ended.exception.code, 2)
        self.assertIn("needs torch_npu", told.getvalue())

    def test_a_level_of_the_device_can_be_caught_as_a_wrong_value(self):
        with self.assertLogsOfUser(), self.assertRaisesRegex(ConfigError, "needs torch_npu"):
            PrecisionDebugger(level="L2")

    def test_what_a_second_construction_asks_for_is_named_and_never_raises(self):
        """Hosts make one in each of their workers; another dump_path is that of the worker's stage."""
        with debugger() as made:
            self.assertIs(PrecisionDebugger(), made)
            self.assertIs(PrecisionDebugger(task=None), made)
            for given in ({"task": "tensor"}, {"config_path": "other.json"}, {"step": [1]}):
                with self.subTest(given), self.assertLogsOfUser() as told:
                    self.assertIs(PrecisionDebugger(**given), made)
                self.assertRegex(told.getvalue(), f"WARNING.*{next(iter(given))}=.*ignored, this process already has")
            elsewhere = made.dump_path + "_elsewhere"
            with self.assertLogsOfUser() as told:
                self.assertIs(PrecisionDebugger(dump_path=elsewhere), made)
            self.assertEqual(told.getvalue(), "")
            made.start()
            two_calls()
            made.stop()
            self.assertTrue(os.path.isfile(os.path.join(elsewhere, "step0", "rank0", "dump.json")))

    def test_a_with_statement_records_a_step(self):
        with debugger() as made:
            with made:
                two_calls()
            with self.assertRaisesRegex(ValueError, "mine"), made:
                torch.exp(torch.ones(1))
                raise ValueError("mine")
            self.assertIn("Torch.mul.0.forward", read(made, step=0)["data"])
            self.assertIn("Torch.exp.0.forward", read(made, step=1)["data"])

    def test_stop_says_where_the_dump_is(self):
        with debugger({"step": [0, 2]}) as made, self.assertLogsOfUser() as told:
            for _ in range(3):
                made.start()
                two_calls()
                made.stop()
                made.stop()
                made.step()
            wanted = [f"{len(forwards(read(made, step)['data']))} calls recorded in {step_directory(made, step)}/dump.json" for step in (0, 2)]
        self.assertEqual([line.split("[INFO] ")[1] for line in told.getvalue().splitlines() if "calls recorded in" in line], wanted)

    def test_dump_enable_is_read_again_while_the_training_runs(self):
        with debugger({"dump_enable": False}) as made, self.assertLogsOfUser() as told:
            path = made._given["config_path"]
            with open(path, encoding="utf-8") as file:
                settings = json.load(file)
            recorded = []
            for number, text in enumerate([None, json.dumps({**settings, "dump_enable": True}), None, "{", "[]", "{}", json.dumps(settings)]):
                if text is not None:
                    with open(path, "w", encoding="utf-8") as file:
                        file.write(text + " " * number)
                made.start()
                two_calls()
                made.stop()
                made.step()
                recorded.append(os.path.isdir(os.path.join(made.dump_path, f"step{number}")))
        self.assertEqual(recorded, [False, True, True, False, False, False, False])
        self.assertIn("dump_enable: recording is on", told.getvalue())
        self.assertIn("recording is off until the file can be read", told.getvalue())

    def assertLogsOfUser(self):
        return contextlib.redirect_stderr(io.StringIO())

    def test_async_dump_combinations(self):
        for config in ({"task": "tensor", "async_dump": True}, {"async_dump": True, "statistics": {"summary_mode": "md5"}}):
            with self.assertRaisesRegex(ConfigError, "async_dump is true"):
                record(two_calls, config)

    def test_calls_before_construction(self):
        for call in (PrecisionDebugger.start, PrecisionDebugger.stop, PrecisionDebugger.step):
            with self.assertRaisesRegex(RuntimeError, "PrecisionDebugger instance is not created."):
                call()

    def test_every_character_of_a_path_but_control_characters_is_taken(self):
        for name in ("a\nb", "a\tb", "a\x00b", "a\x7fb"):
            with self.subTest(name), self.assertRaisesRegex(ConfigError, "contains special characters"):
                PrecisionDebugger(dump_path="/tmp/" + name)
        with debugger() as made:
            for name in ("a b", "a=b,c@d+e", "x(1)[2]{3}", "ümläut", "中文", "quote's \"#$&;"):
                made.config.dump_path = os.path.join(os.path.dirname(made.dump_path), name)
                made.start()
                two_calls()
                made.stop()
                self.assertIn("Torch.exp.0.forward", read(made)["data"], name)

    def test_a_path_where_nothing_can_be_made(self):
        with self.assertRaisesRegex(ConfigError, "is not a directory"):
            PrecisionDebugger(dump_path=os.path.abspath(__file__) + "/dump")
        with mock.patch("os.access", return_value=False), self.assertRaisesRegex(ConfigError, "no permission"):
            PrecisionDebugger(dump_path="dump")

    def test_the_list_of_apis(self):
        groups = read_ops(api_names.OPS_FILE)
        self.assertIn("linear", groups["functional"])
        groups["torch"].remove("exp")
        functions, _operators, _methods = api_names.resolve(groups)
        self.assertNotIn(torch.exp, [function for function, _prefix, _name in functions])


class Filters(unittest.TestCase):
    def names(self, **body):
        return list(record(two_calls, {"statistics": body}))

    def test_list(self):
        self.assertEqual(self.names(list=["exp"]), ["Torch.exp.0.forward", "Torch.exp.0.backward"])
        self.assertEqual(self.names(list=["exp.0.forward"]), ["Torch.exp.0.forward"])

    def test_scope(self):
        self.assertEqual(self.names(scope=["Torch.exp.0.forward", "Torch.mul.0.forward"]), ["Torch.exp.0.forward", "Torch.mul.0.forward"])
        self.assertEqual(self.names(scope=["Torch.sin.0.forward", "Torch.mul.0.forward"]), [])

    def test_a_scope_begins_anew_with_every_step(self):
        with debugger({"statistics": {"scope": ["Torch.exp.0.forward", "Torch.no.0.forward"]}}) as made:
            for _ in range(2):
                made.start()
                torch.sin(torch.ones(1))
                torch.exp(torch.ones(1))
                made.stop()
                made.step()
            self.assertEqual(list(read(made, 0)["data"]), ["Torch.exp.0.forward"])
            self.assertEqual(list(read(made, 1)["data"]), ["Torch.exp.0.forward"])

    def test_data_mode(self):
        data = record(two_calls, {"statistics": {"data_mode": ["forward", "input"]}})
        self.assertEqual(list(data["Torch.exp.0.forward"]), ["input_args", "input_kwargs"])
        self.assertFalse(any(name.endswith("backward") for name in data))
        data = record(two_calls, {"statistics": {"data_mode": ["output"]}})
        self.assertEqual(list(data["Torch.exp.0.forward"]), ["output"])
        self.assertEqual(list(data["Torch.exp.0.backward"]), ["output"])

    def test_only_the_apis_that_the_lists_of_config_yaml_specify_are_dumped(self):
        for lists, wanted in (
            ("white_list: [exp, sum]", ["Torch.exp.0", "Tensor.sum.0"]),
            ("black_list:\n  - 'mul'", ["Torch.exp.0", "Tensor.sum.0"]),
            ("white_list: [exp, mul]\nblack_list: [exp]", ["Torch.mul.0"]),
        ):
            with tempfile.TemporaryDirectory() as directory:
                path = os.path.join(directory, "config.yaml")
                with open(path, "w", encoding="utf-8") as file:
                    file.write(lists)
                told = io.StringIO()
                with mock.patch.dict(os.environ, MSPROBE_CONFIG=path), contextlib.redirect_stderr(told):
                    data = record(two_calls)
            calls = list(dict.fromkeys(name.rsplit(".", 1)[0] for name in data))
            self.assertEqual([name for name in calls if not name.startswith("Tensor.r") and "arange" not in name], wanted)
            self.assertIn(f"_list of {path})", told.getvalue())

    def test_a_list_of_config_yaml_that_is_none(self):
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "config.yaml")
            with open(path, "w", encoding="utf-8") as file:
                file.write("white_list: exp")
            with (
                mock.patch.dict(os.environ, MSPROBE_CONFIG=path),
                self.assertRaisesRegex(ValueError, "white_list: found 'exp', expected a list"),
            ):
                record(two_calls)

    def test_risk_level(self):
        self.assertEqual(list(record(lambda: (torch.ones(2, 2).t(), torch.mm(torch.eye(2), torch.eye(2)), torch.exp(torch.eye(2))),
                                     {"risk_level": "CORE"})), ["Torch.mm.0.forward"])
        self.assertEqual(list(record(lambda: (torch.eye(2).view(4), torch.exp(torch.ones(2))), {"risk_level": "FOCUS"})),
                         ["Torch.exp.0.forward"])


class Files(unittest.TestCase):
    def test_layout(self):
        with debugger() as made:
            made.start()
            two_calls()
            made.stop()
            made.step()
            directory = step_directory(made)
            self.assertEqual(os.path.basename(directory), "rank0")
            self.assertEqual(sorted(os.listdir(directory)), ["call_sites.json", "construct.json", "dump.json", "stack.json"])
            dump = read(made)
            self.assertEqual(list(dump), ["task", "level", "framework", "dump_data_dir", "framework_version", "python_version", "data"])
            self.assertEqual((dump["framework_version"], dump["python_version"]), (torch.__version__, platform.python_version()))
            self.assertIsNone(dump["dump_data_dir"])
            with open(os.path.join(directory, "dump.json"), encoding="utf-8") as file:
                self.assertEqual(file.read(), json.dumps(dump, indent=1))
            stack = read(made, name="stack.json")
            self.assertEqual(stack["0"][0], ["Torch.exp.0.forward", "Torch.mul.0.forward", "Tensor.sum.0.forward"]
                             if len(stack["0"][0]) == 3 else stack["0"][0])
            self.assertRegex(stack["0"][1][0], r"^File .*test_files.py, line \d+, in two_calls, \n ")

    def test_tensors(self):
        with debugger({"task": "tensor", "tensor": {"summary_mode": "md5"}}) as made:
            made.start()
            x = torch.arange(6.0).reshape(2, 3)
            torch.exp(x.t())
            torch.cat([x, x])
            made.stop()
            made.step()
            dump = read(made)
            entry = dump["data"]["Torch.exp.0.forward"]["input_args"][0]
            self.assertEqual(list(entry), ["type", "dtype", "shape", "stride", "Max", "Min", "Mean", "Norm", "requires_grad", "data_name", "md5"])
            self.assertEqual(entry["stride"], [1, 3])
            saved = torch.load(os.path.join(dump["dump_data_dir"], entry["data_name"]))
            self.assertTrue(torch.equal(saved, x.t()))
            self.assertTrue(saved.is_contiguous())
            names = os.listdir(dump["dump_data_dir"])
            self.assertIn("Torch.cat.0.forward.input.0.1.pt", names)

    def test_every_dtype_is_saved_and_loaded(self):
        dtypes = [torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16, torch.bfloat16,
                  torch.float32, torch.float64, torch.complex64, torch.complex128]
        dtypes += [getattr(torch, name) for name in ("uint16", "uint32", "uint64", "float8_e4m3fn", "float8_e5m2") if hasattr(torch, name)]
        with debugger({"task": "tensor"}) as made:
            made.start()
            given = [torch.tensor([[1, 0], [1, 1]]).to(dtype) for dtype in dtypes]
            for tensor in given:
                torch.flatten(tensor)
            made.stop()
            made.step()
            dump = read(made)
            for number, tensor in enumerate(given):
                entry = dump["data"][f"Torch.flatten.{number}.forward"]["input_args"][0]
                saved = torch.load(os.path.join(dump["dump_data_dir"], entry["data_name"]))
                self.assertEqual(saved.dtype, tensor.dtype)
                self.assertEqual(saved.tolist(), tensor.tolist(), tensor.dtype)

    def test_names_of_files(self):
        """Keys of a dictionary are parts of them; a name that is too long is not one."""
        x = torch.ones(2)
        with debugger({"task": "tensor"}) as made:
            made.start()
            for key in ("a/../b", "k" * 300):
                with self.assertRaises(TypeError):
                    torch.nn.functional.softmax(x, dim={key: x})
            torch.sin(x)
            made.stop()
            made.step()
            dump = read(made)
            argument = dump["data"]["Functional.softmax.0.forward"]["input_kwargs"]["dim"]["a/../b"]
            self.assertEqual(argument["data_name"], "Functional.softmax.0.forward.kwargs.dim.a_.._b.pt")
            self.assertIn(argument["data_name"], os.listdir(dump["dump_data_dir"]))
            self.assertNotIn("data_name", dump["data"]["Functional.softmax.1.forward"]["input_kwargs"]["dim"]["k" * 300])
            with open(os.path.join(step_directory(made), "dump_error_info.log"), encoding="utf-8") as file:
                self.assertIn("too long", file.read())

    def test_a_tensor_that_no_memory_can_hold(self):
        with debugger({"task": "tensor"}) as made:
            made.start()
            for extent in (1 << 45, 1 << 62):
                torch.Tensor.stride(torch.ones(1).expand(extent))
            made.stop()
            made.step()
            argument = read(made)["data"]["Tensor.stride.1.forward"]["input_args"][0]
        self.assertEqual((argument["shape"], argument["Max"]), ([1 << 62], 1.0))
        self.assertNotIn("data_name", argument)

    def test_checksums(self):
        x = torch.tensor([1.0, 2.0, 3.0, 4.0])
        for mode, wanted in (("md5", "8ba71454"), ("xor", "0x008000007fc00000")):
            data = record(lambda: torch.exp(x), {"statistics": {"summary_mode": mode}})
            self.assertEqual(data["Torch.exp.0.forward"]["input_args"][0]["md5"], wanted)
        self.assertEqual(list(data["Torch.exp.0.forward"]["input_args"][0]), ["type", "dtype", "shape", "md5", "requires_grad"])

    def test_steps(self):
        with debugger({"step": [1, "3-4"]}) as made:
            for _ in range(6):
                made.start()
                torch.exp(torch.ones(1))
                made.stop()
                made.step()
            self.assertEqual(sorted(os.listdir(made.dump_path)), ["step1", "step3", "step4"])

    def test_a_second_run_takes_the_place_of_the_first(self):
        with debugger({"task": "tensor"}) as made:
            for calls in (2, 1):
                made.set_init_step(0)
                made.start()
                for _ in range(calls):
                    torch.exp(torch.ones(1))
                made.stop()
                made.step()
            dump = read(made)
            self.assertEqual(list(dump["data"]), ["Torch.ones.0.forward", "Torch.exp.0.forward"])
            self.assertEqual(len(os.listdir(dump["dump_data_dir"])), 3)

    def test_one_line_says_that_an_earlier_run_is_overwritten(self):
        told = io.StringIO()
        with debugger() as made, contextlib.redirect_stderr(told):
            for _ in range(2):
                made.set_init_step(0)
                for _ in range(2):
                    made.start()
                    torch.exp(torch.ones(1))
                    made.stop()
                    made.step()
        self.assertEqual(told.getvalue().count("it is overwritten"), 1)

    def test_values(self):
        def work():
            x = torch.ones(3, 3)
            x[..., 1:2]
            torch.sum(x, dim=(0, 1), dtype=torch.float64)
            torch.zeros(x.size(), device="cpu")
            torch.add(torch.tensor([math.inf, 1.0]), 1)

        data = record(work)
        add = data["Torch.add.0.forward"]["input_args"][0]
        self.assertEqual((add["Max"], add["Max_except_inf_nan"]), (math.inf, 1.0))
        self.assertEqual(data["Torch.sum.0.forward"]["input_kwargs"]["dtype"], {"type": "torch.dtype", "value": "torch.float64"})
        self.assertEqual(data["Torch.zeros.0.forward"]["input_args"][0], {"type": "torch.Size", "value": [3, 3]})
        if "Tensor.__getitem__.0.forward" in data:  # PyTorch 1.13 does not tell it to a mode
            index = data["Tensor.__getitem__.0.forward"]["input_args"][1]
            self.assertEqual(index, [{"type": "ellipsis", "value": "..."}, {"type": "slice", "value": [1, 2, None]}])

    def test_only_overflowing_calls(self):
        directory = os.getcwd()
        with debugger({"task": "overflow_check"}) as made:
            os.chdir(made.dump_path if os.path.isdir(made.dump_path) else os.path.dirname(made.dump_path))
            made._overflow.__init__(os.getcwd())
            try:
                made.start()
                x = torch.tensor([1.0, 100.0])
                big = torch.exp(x)
                torch.exp(torch.tensor([1.0]))
                torch.add(big, 1)
                made.stop()
                dump = read(made)
                self.assertEqual(list(dump["data"]), ["Torch.exp.0.forward"])
                self.assertEqual(len(os.listdir(dump["dump_data_dir"])), 2)
                with open(f"forward_info_{os.getpid()}.json", encoding="utf-8") as file:
                    info = json.load(file)
                self.assertEqual(list(info), ["Torch_exp_0_forward"])
                self.assertTrue(torch.equal(torch.load(info["Torch_exp_0_forward"]["args"][0]["datapath"]), x))
            finally:
                os.chdir(directory)

    def test_an_overflowing_call_larger_than_the_memory_for_tensors(self):
        tensors = [torch.full((1000,), 3e38) for _ in range(4)]
        with tempfile.TemporaryDirectory() as directory, mock.patch("os.getcwd", return_value=directory), \
                mock.patch("msprobe.common.session.MAX_PENDING_BYTES", 5000):
            data = record(lambda: torch.add(torch.stack(tensors), torch.stack(tensors)), {"task": "overflow_check"})
        self.assertEqual(list(data), ["Torch.add.0.forward"])

    def test_a_data_loader_ends_the_training(self):
        loader = torch.utils.data.DataLoader(list(range(6)), batch_size=1)
        with debugger({"step": [0, 1]}, dataloader=loader) as made:
            with self.assertRaisesRegex(Exception, "msprobe: exit after iteration 1"):
                for batch in loader:
                    torch.exp(batch.float())
            self.assertEqual(sorted(os.listdir(made.dump_path)), ["step0", "step1"])
            self.assertEqual([name for name in read(made, 1)["data"] if "exp" in name], ["Torch.exp.0.forward"])

    def test_a_data_loader_and_step_in_the_loop_count_a_step_once(self):
        loader = torch.utils.data.DataLoader(list(range(8)), batch_size=1)
        for calls_of_step in (1, 2):
            with debugger({"step": ["0-2"]}, dataloader=loader) as made:
                with self.assertRaisesRegex(Exception, "msprobe: exit after iteration 2"):
                    for batch in loader:
                        made.start()
                        torch.add(batch, 1)
                        made.stop()
                        for _ in range(calls_of_step):
                            made.step()
                self.assertEqual(sorted(os.listdir(made.dump_path)), ["step0", "step1", "step2"])
                for step in range(3):
                    (call,) = [entry for name, entry in read(made, step)["data"].items() if name.startswith("Torch.add.")]
                    self.assertEqual(call["input_args"][0]["Max"], step)


if __name__ == "__main__":
    unittest.main()
