# SPDX-License-Identifier: Apache-2.0
"""compare() and compare_distributed(): what scripts of the documents call."""
import csv
import glob
import os
import shutil
import tempfile
import unittest
from unittest import mock

import torch

from collected import debugger, step_directory
from msprobe.pytorch import compare, compare_distributed
from msprobe.pytorch.comparison import CompareError


def record(directory, scale):
    """A recording of one small step below `directory`, as step0/rank0."""
    with debugger() as made:
        made.start()
        w = torch.arange(6.0).reshape(2, 3).requires_grad_()
        torch.exp(torch.mul(w, scale)).sum().backward()
        made.stop()
        shutil.copytree(step_directory(made), os.path.join(directory, "step0", "rank0"))
    return os.path.join(directory, "step0", "rank0", "dump.json")


class Compare(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="compare_")
        self.addCleanup(shutil.rmtree, self.directory)
        environment = mock.patch.dict(os.environ, {"MSPROBE_PROGRAM": os.environ["MSPROBE"]})
        environment.start()
        self.addCleanup(environment.stop)
        self.npu = record(os.path.join(self.directory, "npu"), 1.0)
        self.gpu = record(os.path.join(self.directory, "gpu"), 1.0)
        self.out = os.path.join(self.directory, "out")

    def table(self, pattern="compare_result_*.csv"):
        found = glob.glob(os.path.join(self.out, pattern))
        self.assertEqual(len(found), 1, os.listdir(self.out))
        with open(found[0], encoding="utf-8") as file:
            return file.read()

    def test_as_the_documents_call_it(self):
        parameters = {
            "npu_json_path": self.npu,
            "bench_json_path": self.gpu,
            "stack_json_path": os.path.join(os.path.dirname(self.npu), "stack.json"),
            "is_print_compare_log": True,
        }
        self.assertEqual(compare(parameters, output_path=self.out, stack_mode=True), 0)
        self.assertIn("NPU_Stack_Info", self.table())
        self.assertNotIn("error", self.table())

    def test_the_other_names_and_no_stacks(self):
        self.assertEqual(
            compare({"npu_path": self.npu, "bench_path": self.gpu}, self.out, stack_mode=False, suffix="_mine", highlight=True), 0
        )
        self.assertNotIn("NPU_Stack_Info", self.table("compare_result_mine_*.csv"))
        self.assertEqual(len(glob.glob(os.path.join(self.out, "*.xlsx"))), 1)

    def test_an_error_is_status_1(self):
        other = record(os.path.join(self.directory, "other"), 9.0)
        self.assertEqual(compare({"npu_path": other, "bench_path": self.gpu}, self.out), 1)

    def test_mappings_are_files_or_dicts(self):
        names = {"Torch.mul.0.forward.input.0": "Torch.exp.0.forward.input.0"}
        compare({"npu_path": self.npu, "bench_path": self.gpu}, self.out, data_mapping=names)
        self.assertIn("Torch.mul.0.forward.input.0,Torch.exp.0.forward.input.0", self.table())

    def test_a_layer_mapping_is_a_file_or_a_dict(self):
        self.assertEqual(compare({"npu_path": self.npu, "bench_path": self.gpu}, self.out, layer_mapping={"TopLayer": {"a": "b"}}), 0)
        with self.assertRaisesRegex(CompareError, "for a target of MindSpore"):
            compare({"npu_path": self.npu, "bench_path": self.gpu}, self.out, api_mapping=[{"ms_api": "Mint.add", "pt_api": "Torch.add"}])

    def test_values_that_a_training_saved(self):
        for task in ("statistics", "tensor"):
            out = os.path.join(self.directory, task)
            for name, scale in (("first", 1.0), ("second", 3.0)):
                with debugger({"task": task}, level="debug") as made:
                    w = torch.ones(4, requires_grad=True)
                    hidden = w * scale
                    made.save({"hidden": hidden, "size": 4}, "values")
                    hidden.sum().backward()
                    made.step()
                    shutil.copytree(made.dump_path, os.path.join(out, name))
            first, second = (os.path.join(out, name) for name in ("first", "second"))
            self.assertEqual(compare_distributed(first, second, out), 1)
            table = self.rows(out)
            self.assertEqual({name: row["Result"] for name, row in table.items()},
                             {"values.0.debug.hidden": "error", "values.0.debug.size": "pass", "values_grad.0.debug.hidden": "pass"})
            self.assertEqual(compare_distributed(first, first, os.path.join(out, "same")), 0)

    def rows(self, out):
        with open(glob.glob(os.path.join(out, "debug_compare_result_step0_*.csv"))[0], encoding="utf-8") as file:
            return {row["NPU Name"]: row for row in csv.DictReader(file)}

    def test_directories_pair_by_rank(self):
        root = [os.path.join(self.directory, side, "step0") for side in ("npu", "gpu")]
        self.assertEqual(compare_distributed(*root, self.out), 0)
        self.assertIn("Result", self.table("compare_result_rank0_*.csv"))
        with self.assertRaises(TypeError):
            compare_distributed(*root, self.out, suffix="x")

    def test_wrong_parameters(self):
        with self.assertRaises(CompareError):
            compare({"npu_path": self.npu, "bench_path": os.path.join(self.directory, "none.json")}, self.out)
        with self.assertRaises(ValueError):
            compare({"npu_path": self.npu}, self.out)
        with self.assertRaises(ValueError):
            compare({"npu_path": self.npu, "bench_path": self.gpu, "other": 1}, self.out)
        with self.assertRaises(TypeError):
            compare({"npu_path": self.npu, "bench_path": self.gpu}, self.out, fuzzy_match=1)


if __name__ == "__main__":
    unittest.main()
