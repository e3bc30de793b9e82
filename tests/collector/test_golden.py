# SPDX-License-Identifier: Apache-2.0
"""Our dump of a training against the public collector's dump of the same training (PyTorch 2.13, one thread)."""
import glob
import json
import math
import os
import tempfile
import unittest

import torch

from forked import run_script

DATA = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "data")
# Calls that the public collector's list lacks; ours has them.
ADDED = ("Tensor.view.", "Tensor.contiguous.", "Tensor.__getitem__.", "Torch.ones.", "Torch.zeros.", "Torch.zeros_like.")
SAME_OPTIMIZER = torch.__version__.startswith("2.13")
FIRST_OF_OPTIMIZER = "Tensor.__iadd__.0.forward"
STATISTICS = ("Max", "Min", "Mean", "Norm")
# Relative to the root mean square of the tensor's elements: what the kernels of other CPUs make of the training. (The golden norms are
# sums in float32, and off by up to 2.2e-6; the statistics themselves are held against a plain loop in src/record/collect.)
TOLERANCE = 1e-3


def collect(model, task, directory):
    run_script(os.path.join(DATA, "collector", "train.py"), model, task, directory)
    (path,) = glob.glob(os.path.join(directory, "step0", "*", "dump.json"))
    with open(path, encoding="utf-8") as file:
        return json.load(file), os.path.dirname(path)


def without_statistics(value):
    """Also without strides, which the public tool does not record."""
    if isinstance(value, list):
        return [without_statistics(item) for item in value]
    if isinstance(value, dict):
        return {key: without_statistics(item) for key, item in value.items() if key not in STATISTICS and key != "stride"}
    return value


def tensors(value):
    if isinstance(value, dict) and value.get("type") == "torch.Tensor":
        yield value
    elif isinstance(value, (list, dict)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from tensors(item)


class Golden(unittest.TestCase):
    def compare(self, golden, ours):
        ours = {name: entry for name, entry in ours.items() if not name.startswith(ADDED)}
        if not SAME_OPTIMIZER:  # the optimizers of other versions call other functions
            names = list(golden)
            golden = {name: golden[name] for name in names[:names.index(FIRST_OF_OPTIMIZER)]}
            ours = {name: entry for name, entry in list(ours.items())[:len(golden)]}
        self.assertEqual(list(ours), list(golden))
        for name, entry in golden.items():
            self.assertEqual(without_statistics(ours[name]), without_statistics(entry), name)
            for theirs, our in zip(tensors(entry), tensors(ours[name])):
                self.compare_statistics(name, theirs, our)

    def compare_statistics(self, name, theirs, ours):
        scale = (theirs["Norm"] or 0) / math.sqrt(max(1, math.prod(theirs["shape"])))
        for key in STATISTICS:
            self.assertIs(type(ours[key]), type(theirs[key]), (name, key))
            if isinstance(theirs[key], (int, type(None))):
                self.assertEqual(ours[key], theirs[key], (name, key))
            else:
                self.assertLessEqual(abs(ours[key] - theirs[key]), TOLERANCE * max(abs(theirs[key]), scale), (name, key))

    def golden(self, name):
        with open(os.path.join(DATA, "dumps", name, "dump.json"), encoding="utf-8") as file:
            return json.load(file)

    def test_gpt(self):
        golden = self.golden("gpt_fp32_statistics")
        with tempfile.TemporaryDirectory() as directory:
            ours, _path = collect("gpt", "statistics", directory)
        added = ("framework_version", "python_version")
        self.assertEqual({key: ours[key] for key in ours if key not in ("data", *added)}, {key: golden[key] for key in golden if key != "data"})
        self.compare(golden["data"], ours["data"])

    def test_convnet(self):
        golden = self.golden("convnet_statistics")
        with tempfile.TemporaryDirectory() as directory:
            self.compare(golden["data"], collect("convnet", "statistics", directory)[0]["data"])

    @unittest.skipUnless(SAME_OPTIMIZER, "recorded with PyTorch 2.13")
    def test_tensor_files(self):
        folder = os.path.join(DATA, "dumps", "convnet_tensor", "dump_tensor_data")
        with tempfile.TemporaryDirectory() as directory:
            _dump, path = collect("convnet", "tensor", directory)
            for name in os.listdir(folder):
                theirs, ours = (torch.load(os.path.join(place, name)) for place in (folder, os.path.join(path, "dump_tensor_data")))
                self.assertEqual((ours.dtype, ours.shape), (theirs.dtype, theirs.shape), name)
                scale = theirs.double().square().mean().sqrt().item()
                self.assertTrue(torch.allclose(ours, theirs, rtol=TOLERANCE, atol=TOLERANCE * scale), name)


if __name__ == "__main__":
    unittest.main()
