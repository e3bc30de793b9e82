# SPDX-License-Identifier: Apache-2.0
"""What MindSpore calls its functions and what PyTorch's collector records of the same calls belong together.

Every fifth sample of tests/mindspore/samples.txt: as MindSpore writes it down, with the gradients of its arguments, and recorded while PyTorch
computes it. msprobe compare must pair both, and find nothing but what the frameworks really do differently."""
import csv
import glob
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import torch

from collected import debugger

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "mindspore"))
import samples as made  # noqa: E402

# PyTorch's collector records these by other names or not at all: views of the arguments, constants, values of Python, a composition.
NOT_RECORDED = {"Mint.allclose", "Mint.meshgrid", "Mint.unique", "Tensor.clone", "Tensor.copy_", "Tensor.fill_", "Tensor.tolist",
                "Tensor.type", "Tensor.zero_", "Functional.flash_attention_score"}
# Gradients have another dtype in PyTorch, or the result is an array of numpy.
DIFFERENT = {"Mint.float_power", "MintFunctional.softmax", "Tensor.numpy"}


def compute(call, recorder, number):
    known = made.tensors()
    for tensor in known.values():
        if tensor.is_floating_point():
            tensor.requires_grad_(True)
    space = dict(known, torch=torch, F=made.F, attention=made.attention, attention_bnsd=made.attention_bnsd)
    torch.manual_seed(11)
    recorder.set_init_step(number)
    recorder.start()
    result = eval(call, space)
    outputs = list(result) if isinstance(result, (list, tuple)) else [result]
    roots = [x for x in outputs if isinstance(x, torch.Tensor) and x.requires_grad]
    if roots:
        generator = torch.Generator().manual_seed(3)  # as samples.py draws them
        torch.autograd.backward(roots, [torch.randn(x.shape, generator=generator, dtype=torch.float64).to(x.dtype) for x in roots])
    recorder.stop()
    recorder.step()


class Names(unittest.TestCase):
    def test_samples_pair_and_agree(self):
        wanted = [row for row in made.rows()[0] if row[2] != made.RANDOM and row[0] != "MintFunctional.normal"][::5]
        with tempfile.TemporaryDirectory() as directory, debugger({"task": "tensor", "risk_level": "ALL"}) as recorder:
            for number, (api, arguments, torch_call) in enumerate(wanted):
                call = torch_call or made.torch_spelling(api, arguments)
                writer = made.Writer(pathlib.Path(directory, "target", f"step{number}", "rank0"))
                torch.manual_seed(11)
                made.record(writer, f"{api}.0", arguments, call)
                writer.finish()
                compute(call, recorder, number)
            subprocess.run([os.environ["MSPROBE"], "compare", "-tp", os.path.join(directory, "target"), "-gp", recorder.dump_path, "-o",
                            directory], check=False, capture_output=True)
            for number, (api, _arguments, _call) in enumerate(wanted):
                with self.subTest(api):
                    self.check(api, [row for row in self.rows(directory, number) if row["NPU Name"].startswith(api)])

    def rows(self, directory, number):
        """Empty if PyTorch recorded nothing."""
        for table in glob.glob(os.path.join(directory, f"compare_result_step{number}_*.csv")):
            with open(table, encoding="utf-8") as file:
                return list(csv.DictReader(file))
        return []

    def check(self, api, rows):
        if api not in DIFFERENT:
            self.assertEqual([row for row in rows if row["Result"] not in ("pass", "unmatched")], [])
        paired = any(row["Result"] != "unmatched" for row in rows if ".forward." in row["NPU Name"])
        self.assertNotEqual(paired, api in NOT_RECORDED)


if __name__ == "__main__":
    unittest.main()
