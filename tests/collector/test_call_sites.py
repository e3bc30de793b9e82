# SPDX-License-Identifier: Apache-2.0
"""call_sites.json: which module made a call, and from which lines."""
import os
import sys
import tempfile
import unittest

import torch

from collected import debugger, read

HERE = os.path.abspath(__file__)


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.down_proj = torch.nn.Linear(3, 3)

    def forward(self, x):
        return self.down_proj(x).exp()


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList([Block(), Block()])

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x.sum()


def sites(work, **config):
    with debugger(config) as made:
        made.start()
        work()
        made.stop()
        made.step()
        return read(made, name="call_sites.json")


def modules(found):
    return {name[:-len(".forward")]: site.get("module") for name, site in found.items()}


class CallSites(unittest.TestCase):
    def test_modules_have_the_paths_of_the_model(self):
        net, x = Net(), torch.ones(2, 3)
        self.assertEqual(modules(sites(lambda: net(x).backward())), {
            "Functional.linear.0": "layers.0.down_proj", "Tensor.exp.0": "layers.0", "Functional.linear.1": "layers.1.down_proj",
            "Tensor.exp.1": "layers.1", "Tensor.sum.0": "Net"})

    def test_wrappers_of_a_model_are_not_in_its_paths(self):
        net = torch.nn.DataParallel(Net())
        self.assertEqual(modules(sites(lambda: net(torch.ones(2, 3))))["Functional.linear.1"], "layers.1.down_proj")

    def test_a_module_that_no_other_one_holds_has_the_path_of_its_caller(self):
        class Loose(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = [torch.nn.Linear(3, 3)]

            def forward(self, x):
                return self.inner[0](x)

        net, x = torch.nn.Sequential(Loose()), torch.ones(2, 3)
        self.assertEqual(modules(sites(lambda: net(x))), {"Functional.linear.0": "0"})

    def test_the_line_is_the_innermost_one_outside_of_torch(self):
        net, x = Net(), torch.ones(2, 3)
        found = sites(lambda: (net(x), torch.exp(x)))
        line = Block.forward.__code__.co_firstlineno + 1
        self.assertEqual(found["Functional.linear.0.forward"]["line"], f"{HERE}:{line}")
        self.assertNotIn("user_line", found["Functional.linear.0.forward"], "it is the user's own")
        self.assertNotIn("module", found["Torch.exp.0.forward"])

    def test_lines_of_installed_packages_are_not_the_users(self):
        with tempfile.TemporaryDirectory() as directory:
            package = os.path.join(directory, "site-packages")
            os.mkdir(package)
            path = os.path.join(package, "library_of_sites.py")
            with open(path, "w", encoding="utf-8") as file:
                file.write("def run(x):\n    return x.exp()\n")
            sys.path.insert(0, package)
            try:
                import library_of_sites
                site = sites(lambda: library_of_sites.run(torch.ones(2)))["Tensor.exp.0.forward"]
            finally:
                sys.path.remove(package)
        self.assertEqual(site["line"], path + ":2")
        self.assertTrue(site["user_line"].startswith(HERE + ":"), site)

    def test_it_is_left_out_with_the_other_files_of_places(self):
        with debugger({"extra_info": False}) as made:
            made.start()
            torch.ones(2).exp()
            made.stop()
            made.step()
            with self.assertRaises(FileNotFoundError):
                read(made, name="call_sites.json")


if __name__ == "__main__":
    unittest.main()
