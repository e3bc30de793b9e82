# SPDX-License-Identifier: Apache-2.0
"""The key "slice": of a large tensor only a part is described and saved."""
import os
import unittest

import torch
from collected import debugger, read, record

from msprobe.common.config import ConfigError

DATA = torch.arange(24.0).reshape(4, 6)


def transposed():
    torch.exp(DATA.t())  # 6 x 4, not contiguous


def described(cuts, summary_mode="statistics"):
    data = record(transposed, {"statistics": {"slice": cuts, "summary_mode": summary_mode}})
    return data["Torch.exp.0.forward"]["input_args"][0]


class Slices(unittest.TestCase):
    def test_the_part_is_described(self):
        part = described([{"dim": 0, "size": 6, "begin": 1, "end": 3}])
        wanted = DATA.t()[1:3]
        self.assertEqual(part["shape"], [2, 4])
        self.assertEqual((part["Max"], part["Min"], part["Mean"]), (wanted.max().item(), wanted.min().item(), wanted.mean().item()))

    def test_rules_follow_one_another_and_the_end_may_lie_beyond(self):
        part = described([{"dim": 0, "begin": 0, "end": 2}, {"dim": 1, "begin": 3, "end": 100}])
        self.assertEqual((part["shape"], part["Max"], part["Min"]), ([2, 1], 19.0, 18.0))

    def test_other_sizes_and_dimensions_stay_whole(self):
        whole = described([])
        self.assertEqual(described([{"dim": 0, "size": 5, "begin": 1, "end": 3}]), whole)
        self.assertEqual(described([{"dim": 2, "begin": 1, "end": 3}]), whole)
        self.assertEqual(described([{"dim": 0, "begin": 6, "end": 9}]), whole)

    def test_checksums_are_of_the_part(self):
        cut = described([{"dim": 0, "begin": 0, "end": 2}], "md5")["md5"]
        alone = record(lambda: torch.exp(DATA.t()[:2].contiguous()), {"statistics": {"summary_mode": "md5"}})
        self.assertEqual(cut, alone["Torch.exp.0.forward"]["input_args"][0]["md5"])

    def test_the_part_is_saved(self):
        with debugger({"task": "tensor", "tensor": {"slice": [{"dim": 0, "size": 6, "begin": 4, "end": 6}]}}) as made:
            made.start()
            transposed()
            made.stop()
            made.step()
            dump = read(made)
            name = dump["data"]["Torch.exp.0.forward"]["input_args"][0]["data_name"]
            self.assertTrue(torch.equal(torch.load(os.path.join(dump["dump_data_dir"], name)), DATA.t()[4:]))

    def test_what_is_no_slice_is_refused(self):
        for cuts, message in (({}, "expected a list"), ([{"dim": 0}], "expected a list"), ([{"dim": 0, "begin": 2, "end": 2}], "begin below the end"),
                              ([{"dim": -1, "begin": 0, "end": 2}], "dim: found -1"), ([{"dim": 0, "begin": 0, "end": True}], "end: found True")):
            with self.subTest(cuts), self.assertRaisesRegex(ConfigError, r"statistics\.slice.*" + message):
                described(cuts)


if __name__ == "__main__":
    unittest.main()
