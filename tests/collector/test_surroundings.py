# SPDX-License-Identifier: Apache-2.0
"""What else goes on in a training: threads, autocast, data loaders, modes and overrides of the user's, compilers, odd tensors."""
import contextlib
import io
import os
import threading
import unittest

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from collected import SineOfExponent, debugger, forwards, read, record

MODERN = tuple(int(part) for part in torch.__version__.split(".")[:2]) >= (2, 0)


class Operators(TorchDispatchMode):
    """The operators that run, by name."""

    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.names.append(function._schema.name)
        return function(*args, **(kwargs or {}))


def is_fused(name):
    return any(part in name for part in ("_native_", "_transformer_", "nested", "bmm", "softmax"))


class Surroundings(unittest.TestCase):
    def test_threads(self):
        x = torch.ones(2)

        def work():
            threads = [threading.Thread(target=lambda: [torch.exp(x) for _ in range(50)]) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()

        data = record(work)
        self.assertEqual(sorted(forwards(data)), sorted(f"Torch.exp.{i}" for i in range(200)))
        self.assertTrue(all("output" in entry for entry in data.values()))

    def test_steps_that_begin_while_other_threads_compute(self):
        """What belongs to one step is not found in the next."""
        block, done = torch.nn.Linear(128, 128), threading.Event()

        def train():
            while not done.is_set():
                block(torch.ones(256, 128)).sum().backward()

        with debugger({"task": "tensor"}) as made:
            threads = [threading.Thread(target=train) for _ in range(2)]
            for thread in threads:
                thread.start()
            try:
                for _ in range(5):
                    made.start()
                    block(torch.ones(256, 128))
                    made.stop()
                    made.step()
            finally:
                done.set()
                for thread in threads:
                    thread.join()
            for step in range(5):
                dump = read(made, step)
                saved = set(os.listdir(dump["dump_data_dir"]))
                for entry in dump["data"].values():
                    described = entry.get("input_args", []) + entry.get("input", []) + entry.get("output", [])
                    self.assertLessEqual({value["data_name"] for value in described if value and "data_name" in value}, saved)

    def test_evaluation_keeps_its_fused_operators(self):
        """Attention and encoder layers run one fused operator in evaluation, unless a mode overrides their calls; not so for ours."""
        torch.manual_seed(3)
        attention = torch.nn.MultiheadAttention(16, 2, batch_first=True)
        encoder = torch.nn.TransformerEncoder(torch.nn.TransformerEncoderLayer(16, 2, 32, batch_first=True), 2)
        model = torch.nn.ModuleList([attention, encoder]).eval()
        x, padding = torch.rand(2, 5, 16), torch.tensor([[False] * 5, [False] * 3 + [True] * 2])

        def evaluate():
            with torch.no_grad(), Operators() as operators:
                return (attention(x, x, x)[0], encoder(x, src_key_padding_mask=padding)), operators.names

        results, operators = evaluate()
        self.assertIn("aten::_native_multi_head_attention", operators)
        self.assertIn("aten::_transformer_encoder_layer_fwd", operators)
        for level in ("L0", "L1", "mix"):
            for task in ("statistics", "tensor"):
                with self.subTest(level=level, task=task), debugger({"level": level, "task": task}) as made:
                    made.start(*([model] if level != "L1" else []))
                    recorded, seen = evaluate()
                    made.stop()
                    made.step()
                    self.assertEqual([name for name in seen if is_fused(name)], [name for name in operators if is_fused(name)])
                    self.assertTrue(all(torch.equal(one, other) for one, other in zip(results, recorded)))
                    fused = "Torch._native_multi_head_attention.0.forward"
                    data = read(made)["data"]
                    self.assertEqual(fused in data, level != "L0")
                    if level == "mix":
                        self.assertEqual(read(made, name="construct.json")[fused], "Module.0.MultiheadAttention.forward.0")
        self.assertIs(torch.overrides.has_torch_function, torch._C._has_torch_function)

    def test_other_modes_still_keep_attention_from_its_fused_operator(self):
        class Mode(torch.overrides.TorchFunctionMode):
            def __torch_function__(self, function, types, args=(), kwargs=None):
                return function(*args, **(kwargs or {}))

        attention, x = torch.nn.MultiheadAttention(16, 2, batch_first=True).eval(), torch.rand(2, 5, 16)

        def work():
            with torch.no_grad(), Mode():
                attention(x, x, x)

        self.assertNotIn("Torch._native_multi_head_attention.0", forwards(record(work)))

    def test_a_module_in_a_thread_that_is_older_than_the_debugger(self):
        begin, done = threading.Event(), threading.Event()
        block = SineOfExponent()

        def wait_and_run():
            begin.wait()
            block(torch.ones(2))
            done.set()

        thread = threading.Thread(target=wait_and_run)
        thread.start()
        try:
            data = record(lambda: (begin.set(), done.wait()))
        finally:
            begin.set()
            thread.join()
        self.assertEqual(forwards(data), ["Torch.exp.0", "Tensor.sin.0"])

    def test_an_exception_in_the_model(self):
        x = torch.ones(2, 3)
        with debugger() as made:
            made.start()
            with self.assertRaises(RuntimeError):
                torch.mm(x, x)
            torch.exp(x)
            made.stop()
            made.step()
            data = read(made)["data"]
        self.assertEqual(list(data), ["Torch.mm.0.forward", "Torch.exp.0.forward"])
        self.assertEqual(list(data["Torch.mm.0.forward"]), ["input_args", "input_kwargs"])
        self.assertEqual(torch.overrides._get_current_function_mode_stack(), [])

    def test_autocast(self):
        x, w = torch.ones(2, 3), torch.ones(3, 3)

        def work():
            with torch.autocast("cpu", dtype=torch.bfloat16):
                torch.mm(x, w)

        entry = record(work)["Torch.mm.0.forward"]
        self.assertEqual((entry["input_args"][0]["dtype"], entry["output"][0]["dtype"]), ("torch.float32", "torch.bfloat16"))

    def test_data_loader_workers_record_nothing(self):
        loader = torch.utils.data.DataLoader(Exponents(), batch_size=2, num_workers=2)
        data = record(lambda: [torch.sin(batch) for batch in loader])
        self.assertEqual([name for name in forwards(data) if "exp" in name], [])
        self.assertEqual([name for name in forwards(data) if "sin" in name], ["Torch.sin.0", "Torch.sin.1"])

    def test_modes_of_the_user_stay(self):
        class Plain(torch.overrides.TorchFunctionMode):
            def __torch_function__(self, func, types, args=(), kwargs=None):
                return func(*args, **(kwargs or {}))

        x = torch.ones(2)
        with debugger() as made:
            made.start()
            with Plain():
                torch.exp(x)
                made.stop()
                self.assertEqual(len(torch.overrides._get_current_function_mode_stack()), 1)
            made.step()
            self.assertEqual(forwards(read(made)["data"]), ["Torch.exp.0"])

    @unittest.skipUnless(hasattr(getattr(torch, "compiler", None), "set_stance"), "older compilers cannot be switched off")
    def test_start_inside_of_a_compiled_function_is_named(self):
        x, told = torch.ones(3), io.StringIO()
        with debugger() as made, contextlib.redirect_stderr(told):
            def work():
                made.start()
                result = torch.sin(x)
                made.stop()
                return result

            torch.compile(work, backend="eager")()
            made.step()
        self.assertEqual(told.getvalue().count("inside a function that torch.compile compiles"), 1, told.getvalue())

    @unittest.skipUnless(hasattr(getattr(torch, "compiler", None), "set_stance"), "older compilers cannot be switched off")
    def test_compiled_functions_run_as_they_are_written(self):
        compilations = []

        def count(graph, _inputs):
            compilations.append(graph)
            return graph.forward

        def twice_sine(x):
            return torch.sin(x) * 2

        x = torch.ones(3)
        compiled = []

        def work():
            if not compiled:
                compiled.append(torch.compile(twice_sine, backend=count, fullgraph=True))
            compiled[0](x)

        for _ in range(2):
            self.assertEqual(forwards(record(work)), ["Torch.sin.0", "Tensor.__mul__.0"])
        self.assertEqual(compilations, [])
        with debugger():  # in a thread that has the mode, but while nothing is recorded
            thread = threading.Thread(target=work)
            thread.start()
            thread.join()
        self.assertEqual(len(compilations), 1)
        self.assertEqual([node.name for node in compilations[0].graph.nodes][1:3], ["sin", "mul"])

    @unittest.skipUnless(MODERN, "torch.vmap came later")
    def test_vmap(self):
        data = record(lambda: torch.vmap(torch.exp)(torch.ones(2, 3)))
        entry = data["Torch.exp.0.forward"]
        self.assertEqual((entry["input_args"][0]["type"], entry["input_args"][0]["shape"]), ("BatchedTensor", [2, 3]))

    def test_overrides_of_a_subclass_see_only_the_user_s_calls(self):
        class Listening(torch.Tensor):
            heard = []

            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                cls.heard.append(func.__name__)
                return super().__torch_function__(func, types, args, kwargs or {})

        x = torch.ones(3, requires_grad=True).as_subclass(Listening)
        Listening.heard.clear()
        data = record(lambda: torch.exp(x).sum().backward())
        self.assertEqual(Listening.heard, ["exp", "sum", "backward"])
        self.assertEqual(data["Torch.exp.0.forward"]["output"][0]["type"], "torch.Tensor")

    def test_a_tensor_whose_storage_was_freed(self):
        whole = torch.ones(4096)
        part = whole[1024:]
        (whole.untyped_storage() if MODERN else whole.storage()).resize_(0)
        data = record(lambda: torch.Tensor.stride(part), {"task": "tensor"})
        argument = data["Tensor.stride.0.forward"]["input_args"][0]
        self.assertEqual((argument["shape"], argument["Max"]), ([3072], None))

    def test_unusual_tensors_never_disturb_the_training(self):
        def work():
            torch.mul(torch.ones(2, 2).to_sparse(), 2)
            torch.exp(torch.empty(0))
            torch.sin(torch.ones(2, dtype=torch.complex64)).conj().sum()
            torch.add(torch.empty(3, device="meta"), 1)
            torch.sin(torch.tensor(1 + 2j))
            torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.quint8).dequantize()

        data = record(work)
        self.assertEqual(data["Torch.exp.0.forward"]["input_args"][0]["Max"], None)
        self.assertEqual(data["Torch.add.0.forward"]["input_args"][0]["shape"], [3])


class Exponents(torch.utils.data.Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, index):
        return torch.exp(torch.tensor(float(index)))


if __name__ == "__main__":
    unittest.main()
